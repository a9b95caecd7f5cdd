import CertificateAuthority
import Glibc
import Reactor
import RelayBase
import RelayRooms
import Signalling
import Synchronization
import TLSTransport
import Testing

@testable import RelayClient
@testable import RelayServer

/// Two loops of a relay, of which the first alone takes connections, and the second can be kept from running or ended before it.
private final class TwoLoops {
    let shared: Shared
    let address: SocketAddress
    private let log: Log
    private var threads: [LoopThread?] = [nil, nil]

    /// - Parameter prepare: what is done to the first loop before it runs.
    init(connectionsMax: Int = 100, runsSecond: Bool, prepare: @escaping @Sendable (EventLoop) -> Void = { _ in }) throws {
        let state = TestState.shared.state
        var configuration = ServerConfiguration()
        configuration.loops = 2
        configuration.policy = .development
        let paths = state.serverECDSA.livePaths
        configuration.tls.keyPairs = [.init(certificateFile: paths.certificate, keyFile: try #require(paths.key))]
        configuration.tls.authorityFiles = [state.trustStorePath]
        configuration.tls.revocationListFiles = [state.revocationListPath]
        configuration.limits.connectionsMax = connectionsMax
        configuration.limits.silenceMillisecondsMax = 600_000
        configuration.limits.helloMillisecondsMax = 600_000
        configuration.limits.resumeMilliseconds = 600_000
        log = try Log(format: .json)
        let pairing = try PairingState.open(folder: nil, node: "test", log: log)
        shared = try Shared(configuration: configuration, pairing: pairing, authority: nil, log: log, audit: Audit(log: log))
        let context = try TLSContext(server: configuration.tls, tickets: nil)
        let listener = try Socket.listen(on: .loopback(port: 0), backlog: 16, reusePort: false, calls: .linux)
        address = try Socket.localAddress(of: listener, calls: .linux)
        for index in 0...1 where index == 0 || runsSecond {
            threads[index] = try LoopThread(name: "loop-\(index)") { [shared] in
                do {
                    let listeners = index == 0 ? [LoopListener(try Listener(listener, calls: .linux), isPlaintext: false)] : []
                    let loop = try EventLoop(index: index, shared: shared, context: context, listeners: listeners)
                    if index == 0 { prepare(loop) }
                    loop.run()
                } catch {
                    preconditionFailure("no loop: \(error)")
                }
            }
        }
    }

    func end(_ loop: Int) {
        guard let thread = threads[loop] else { return }
        _ = shared.mailboxes[loop].post(.stop)
        thread.join()
        threads[loop] = nil
    }

    deinit {
        end(0)
        end(1)
        log.stop()
    }

    /// The first loop's counts, of a quarter of a second ago at most.
    var counters: LoopCounters { shared.board.snapshot()[0] }

    var roomOfSecond: String {
        get throws {
            try #require((0..<100).map { "room-\($0)" }.first { name in RoomName(name, bytesMax: 64).map { shared.home(of: $0) } == 1 })
        }
    }
}

/// Turns the loop for so long, whatever comes.
private func pass(_ clients: Clients, milliseconds: UInt64) throws {
    let deadline = MonotonicClock.now().advanced(byMilliseconds: milliseconds)
    while MonotonicClock.now() < deadline {
        try clients.loop.poll(until: deadline)
        while clients.loop.nextEvent() != nil {}
    }
}

@Suite("Protocol §3.18: resumptions that nobody answers", .serialized)
struct UnansweredTests {
    @Test("a connection that is lost on the way to its session's loop gives back its place and its claim")
    func lostOnTheWay() throws {
        // The second loop never runs, and its mailbox and what the first keeps for it are full.
        let relay = try TwoLoops(connectionsMax: 1, runsSecond: false) { loop in
            while loop.post(.stop, to: 1) {}
        }
        let clients = try Clients(address: relay.address)
        let first = try clients.open()
        try clients.ready(first)
        let identity = try #require(clients[first].welcome?.identity)
        first.close()
        try clients.wait("the end") { first.hasEnded }
        // A session that lives on the other loop, as far as anybody knows.
        let owner = ResumeOwner(name: identity.name, fingerprint: identity.fingerprint)
        let ticket = relay.shared.resumeTickets.issue(.init(address: MemberAddress(loop: 1, token: 7), owner: owner))
        for _ in 0..<3 {
            // Only one connection may be there at a time: another finds place when the one before has given it back.
            var lost: ClientSession?
            while lost == nil {
                let session = try clients.open { $0.resume = ClientRequest.Resumption(token: ticket.token) }
                try clients.wait("the opening") { clients[session].isOpen || session.hasEnded }
                if clients[session].isOpen { lost = session }
            }
            let session = try #require(lost)
            try clients.wait("the loss") { session.hasEnded }
            #expect(clients[session].welcome == nil && clients[session].refusals.isEmpty)
        }
        try clients.wait("what the loop counts") {
            relay.counters.connectionsClosed["mailbox_overflow"] == 3 && relay.counters.webSocketsClosed["mailbox_overflow"] == 3
        }
        #expect(relay.shared.webSockets.load(ordering: .acquiring) == 0)
        #expect(relay.counters.webSockets == 0 && relay.counters.connections == 0)
        guard case .session = relay.shared.resumeTickets.claim(ticket.token, by: owner, onlyOn: nil).claim else {
            Issue.record("the token was not given back")
            return
        }
    }

    @Test("a newcomer that has to wait for its room's home costs its loop no turns, whatever it sends or however it ends", arguments: [false, true])
    func waiting(isReset: Bool) throws {
        let relay = try TwoLoops(runsSecond: true)
        let clients = try Clients(address: relay.address)
        let first = try clients.join(try relay.roomOfSecond)
        let token = try #require(clients[first].welcome?.resumeToken)
        relay.end(1)
        _ = shutdown(first.descriptor.number, Int32(SHUT_RDWR))
        try clients.wait("the loss") { first.hasEnded }
        try clients.wait("the loss at the relay") { relay.counters.parked == 1 }
        let second = try clients.open { $0.resume = ClientRequest.Resumption(token: token) }
        try clients.wait("the opening") { clients[second].isOpen || second.hasEnded }
        // What comes behind the hello is not read before the claim is settled.
        for time in 0..<10 { _ = second.send(.time(.init(clientTime: Double(time)))) }
        try pass(clients, milliseconds: 500)
        let before = relay.counters.iterations
        if isReset {
            try Socket.setResetOnClose(second.descriptor, calls: .linux)
            clients.loop.abandon(second)
        }
        try pass(clients, milliseconds: 1_500)
        let turns = relay.counters.iterations - before
        // Four a second for the counts, and a few for what has come.
        #expect(turns < 60, "\(turns) turns in a second and a half in which nothing happened")
        #expect(clients[second].welcome == nil)
        #expect(relay.counters.webSockets == (isReset ? 0 : 1))
    }
}
