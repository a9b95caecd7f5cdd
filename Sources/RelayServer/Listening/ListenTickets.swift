import Reactor
import RelayBase
import RelayRooms
import TLSTransport

/// What a ticket stands for: who asked for it, and for which room.
struct ListenTicket: Sendable {
    let room: RoomName
    let principal: Principal
    let token: VerifiedToken?
    let forwarded: ForwardedPeer?
    let expires: MonotonicInstant
}

/// Tickets to listen by: each good once and for a minute. For players that can be given an address and nothing else.
final class ListenTickets: Sendable {
    static let milliseconds: UInt64 = 60_000
    private static let ticketsMax = 4_096
    private static let ticketBytes = 32

    private let tickets = Locked<[SHA256Digest: ListenTicket]>([:])

    /// 256 bits from the system's generator, in hexadecimal.
    ///
    /// - Returns: `nil` when there are as many as may be.
    func issue(_ ticket: ListenTicket, now: MonotonicInstant) -> String? {
        let secret = DrawnSecret(byteCount: ListenTickets.ticketBytes)
        let isTaken = tickets.withLock { tickets in
            if tickets.count >= ListenTickets.ticketsMax { tickets = tickets.filter { $0.value.expires > now } }
            guard tickets.count < ListenTickets.ticketsMax else { return false }
            tickets[secret.digest] = ticket
            return true
        }
        return isTaken ? secret.text : nil
    }

    /// What a ticket stands for, once.
    func take(_ text: String, now: MonotonicInstant) -> ListenTicket? {
        let found = tickets.withLock { $0.removeValue(forKey: DrawnSecret.digest(of: text)) }
        return found.flatMap { $0.expires > now ? $0 : nil }
    }
}
