import RelayBase
import Synchronization
import TLSTransport
import Testing

/// A clock that tests set.
final class SettableClock: Sendable {
    private let now: Atomic<Int64>

    init(_ seconds: Int64) {
        now = Atomic(seconds)
    }

    func set(_ seconds: Int64) {
        now.store(seconds, ordering: .relaxed)
    }

    var clock: WallClock { WallClock { self.now.load(ordering: .relaxed) } }
}

@Suite struct ResumptionTests {
    private static let hour: Int64 = 3_600
    private static let start: Int64 = 1_800_000_000

    /// Connects once and gives the session to resume from.
    private func firstSession(_ client: TLSContext, _ server: TLSContext) throws -> TLSSession {
        let wire = try Wire(client, server)
        wire.run()
        #expect(wire.isComplete, "\(String(describing: wire.server.fault))")
        #expect(wire.server.machine.negotiated?.isResumed == false)
        return try #require(wire.client.machine.session)
    }

    private func resumed(_ client: TLSContext, _ server: TLSContext, _ session: TLSSession) throws -> Wire {
        let wire = try Wire(client, server, session: session)
        wire.run()
        return wire
    }

    @Test("a session is resumed, the peer keeps its identity, and a fresh ticket follows", arguments: TLSVersion.allCases)
    func resumes(version: TLSVersion) throws {
        let server = try Contexts.server(tickets: TicketKeys())
        let client = try Contexts.client("client") { $0.maximumVersion = version }
        var session = try firstSession(client, server)
        for _ in 0..<3 {
            let wire = try resumed(client, server, session)
            #expect(wire.isComplete)
            #expect(wire.server.machine.negotiated?.isResumed == true)
            #expect(wire.client.machine.negotiated?.isResumed == true)
            #expect(wire.server.machine.peerIdentity?.name == "urn:segue:alice")
            #expect(wire.server.machine.isStillTrusted(under: server))
            session = try #require(wire.client.machine.session)
        }
    }

    @Test("any context of the process with the same trust version opens the ticket")
    func sharedKeys() throws {
        let tickets = TicketKeys()
        let client = try Contexts.client("client")
        let session = try firstSession(client, Contexts.server(tickets: tickets))
        let other = try Contexts.server(tickets: tickets) { $0.applicationProtocols = ["h2"] }
        #expect(try resumed(client, other, session).server.machine.negotiated?.isResumed == true)
    }

    @Test("without ticket keys no session is offered", arguments: TLSVersion.allCases)
    func noTickets(version: TLSVersion) throws {
        let wire = try Wire(Contexts.client("client") { $0.maximumVersion = version }, Contexts.server())
        wire.run()
        #expect(wire.isComplete)
        #expect(wire.client.machine.session == nil)
    }

    @Test("a ticket is refused after any change of trust, and the full handshake decides", arguments: TLSVersion.allCases)
    func trustChange(version: TLSVersion) throws {
        let tickets = TicketKeys()
        let client = try Contexts.client("revoked") { $0.maximumVersion = version }
        let before = try Contexts.server(tickets: tickets) { $0.revocationListFiles = [Contexts.pki.path("root-empty.crl")] }
        let session = try firstSession(client, before)
        let revoked = try Contexts.server(tickets: tickets) { $0.revocationListFiles = [Contexts.pki.path("root.crl")] }
        let refused = try resumed(client, revoked, session)
        #expect(refused.server.fault == .revoked)
        #expect(refused.client.fault == .alertReceived(44))
        let widened = try Contexts.server(tickets: tickets) {
            $0.revocationListFiles = [Contexts.pki.path("root-empty.crl")]
            $0.authorityFiles.append(Contexts.pki.path("foreign.pem"))
        }
        let full = try resumed(client, widened, session)
        #expect(full.isComplete)
        #expect(full.server.machine.negotiated?.isResumed == false)
    }

    @Test("a session whose certificate has expired since is not resumed; the full handshake refuses it", arguments: TLSVersion.allCases)
    func expiredSince(version: TLSVersion) throws {
        // "short-lived" ends on 2035-01-01 = 2,051,222,400. One secret for the whole test, so that only the certificate can be the reason.
        let clock = SettableClock(2_051_222_000)
        let server = try Contexts.server(tickets: TicketKeys(rotationSeconds: 24 * Self.hour), clock: clock.clock)
        let client = try Contexts.client("short-lived") { $0.maximumVersion = version }
        let session = try firstSession(client, server)
        let inTime = try resumed(client, server, session)
        #expect(inTime.server.machine.negotiated?.isResumed == true)
        let next = try #require(inTime.client.machine.session)
        clock.set(2_051_222_401)
        let late = try resumed(client, server, next)
        #expect(late.server.fault == .expired)
        #expect(late.client.fault == .alertReceived(45))
        #expect(inTime.server.machine.peerFault(under: server) == .expired, "and the live session is found out too")
    }

    @Test("a path through an intermediate is validated again on resumption", arguments: TLSVersion.allCases)
    func throughIntermediate(version: TLSVersion) throws {
        let server = try Contexts.server(tickets: TicketKeys())
        let client = try Contexts.client("inter-client", chain: true) { $0.maximumVersion = version }
        var session = try firstSession(client, server)
        for _ in 0..<2 {
            let wire = try resumed(client, server, session)
            #expect(wire.server.machine.negotiated?.isResumed == true)
            #expect(wire.server.machine.isStillTrusted(under: server))
            let after = try Contexts.server { $0.revocationListFiles = ["inter.crl", "root-inter-revoked.crl"].map(Contexts.pki.path) }
            #expect(wire.server.machine.peerFault(under: after) == .revoked)
            session = try #require(wire.client.machine.session)
        }
    }

    @Test("a session without a certificate is not resumed where one is required")
    func anonymousSession() throws {
        let tickets = TicketKeys()
        let client = try Contexts.client(nil)
        let optional = try Contexts.server(tickets: tickets) { $0.clientCertificate = .optional }
        let session = try firstSession(client, optional)
        #expect(try resumed(client, optional, session).server.machine.negotiated?.isResumed == true)
        #expect(try resumed(client, Contexts.server(tickets: tickets), session).server.fault == .noCertificate)
    }

    @Test(
        "ticket keys rotate: sealed in one interval, opened until the end of the next",
        arguments: [(0, true), (59, true), (61, true), (119, true), (121, false), (600, false), (-1, false)])
    func rotation(minutes: Int64, isResumed: Bool) throws {
        let clock = SettableClock(Self.start)
        let server = try Contexts.server(tickets: TicketKeys(rotationSeconds: Self.hour), clock: clock.clock)
        let client = try Contexts.client("client")
        let session = try firstSession(client, server)
        clock.set(Self.start + minutes * 60)
        let wire = try resumed(client, server, session)
        #expect(wire.isComplete)
        #expect(wire.server.machine.negotiated?.isResumed == isResumed)
    }

    @Test("keys rotated by traffic in between keep one previous secret only")
    func rotationUnderTraffic() throws {
        let clock = SettableClock(Self.start)
        let server = try Contexts.server(tickets: TicketKeys(rotationSeconds: Self.hour), clock: clock.clock)
        let client = try Contexts.client("client")
        let first = try firstSession(client, server)
        clock.set(Self.start + Self.hour)
        let second = try firstSession(client, server)
        #expect(try resumed(client, server, first).server.machine.negotiated?.isResumed == true)
        clock.set(Self.start + 2 * Self.hour)
        #expect(try resumed(client, server, first).server.machine.negotiated?.isResumed == false)
        #expect(try resumed(client, server, second).server.machine.negotiated?.isResumed == true)
    }

    @Test("keys of other processes open nothing here")
    func foreignKeys() throws {
        let client = try Contexts.client("client")
        let session = try firstSession(client, Contexts.server(tickets: TicketKeys()))
        let wire = try resumed(client, Contexts.server(tickets: TicketKeys()), session)
        #expect(wire.isComplete)
        #expect(wire.server.machine.negotiated?.isResumed == false)
    }
}
