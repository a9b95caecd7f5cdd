import Reactor
import RelayBase
import RelayRooms
import Signalling
import TLSTransport

/// How a session can be resumed, and as long as it is parked: until when, and by whose certificate.
struct Resumption {
    /// Of the token that the latest `welcome` gave; `nil` without one.
    var ticket: SHA256Digest?
    /// Of the token that the session was resumed by last. It stays good until the client is known to have the latest: it may never have got that `welcome`.
    var spent: SHA256Digest?
    /// When the latest `welcome` was said.
    var welcomedAt = MonotonicInstant.zero
    /// The ping that went right behind it: its pong, or a later one's, says that the client has read so far.
    var provingPing: UInt64 = .max
    var parkedUntil = MonotonicInstant.distantFuture
    /// The certificate that the session lives by while it has no connection: revoked or expired, it ends as it would have with one.
    var peer: ForwardedPeer?
}

/// A token was shown, and nobody else can claim it until this is settled. The newcomer's channel owns the claim and gives it back with its own end, wherever that
/// is; what is under way to the session's loop and to the room's home are copies that come to nothing then.
struct ResumeClaim: Sendable {
    let digest: SHA256Digest
    let number: ResumeTickets.Table.ClaimNumber
    let session: ResumeTickets.Table.Session
    /// The channel that said hello; another once its connection has moved.
    var newcomer: MemberAddress
    /// Of the `hello`.
    let requestID: UInt64
    /// `nil`: the client does not say what it has.
    let received: [ClientRequest.ReceivedFrame]?
    let wishes: SessionWishes?
    let device: String?
}
