import CLinux
import Glibc
import Reactor
import RelayBase
import Testing

/// A listener behind a reference (the test macros cannot hold what is not copyable) with clients that wait to be accepted.
private final class Scene {
    private var listener: Listener
    let address: SocketAddress
    let descriptor: FileDescriptor
    private(set) var clients: [FileDescriptor] = []
    private var accepted: [FileDescriptor] = []

    init(clients count: Int, acceptsPerTurnMax: Int = 64, calls: SystemCalls = .linux) throws(SystemFault) {
        descriptor = try Socket.listen(on: .loopback(port: 0), backlog: 64, reusePort: false, calls: .linux)
        address = try Socket.localAddress(of: descriptor, calls: .linux)
        listener = try Listener(descriptor, acceptsPerTurnMax: acceptsPerTurnMax, calls: calls)
        for _ in 0..<count { try addClient() }
    }

    deinit {
        for descriptor in clients + accepted { SystemCalls.linux.close(descriptor) }
    }

    /// On loopback a connection is in the listener's queue once the client sees it made.
    func addClient() throws(SystemFault) {
        let client = try Socket.connect(to: address, calls: .linux).descriptor
        clients.append(client)
        guard waitUntilWritable(client) else { throw SystemFault(operation: "connect", errno: ETIMEDOUT) }
        try Socket.connectResult(of: client, calls: .linux)
    }

    func beginTurn() { listener.beginTurn() }

    func next(now: MonotonicInstant = .zero) throws(SystemFault) -> Listener.Outcome {
        let outcome = try listener.next(now: now)
        if case .accepted(let descriptor, _) = outcome { accepted.append(descriptor) }
        return outcome
    }

    /// Outcomes up to the first that ends the turn, each accepted connection as nil.
    func turn(now: MonotonicInstant = .zero) throws(SystemFault) -> [Listener.Outcome?] {
        beginTurn()
        var outcomes: [Listener.Outcome?] = []
        while true {
            let outcome = try next(now: now)
            switch outcome {
            case .accepted: outcomes.append(nil)
            case .refusedOutOfDescriptors: outcomes.append(outcome)
            case .drained, .turnOver, .pause: return outcomes + [outcome]
            }
        }
    }
}

/// Limits the process's descriptor numbers to those below `count`. Only in a process of one's own.
private func setDescriptorLimit(_ count: Int32) {
    var limit = rlimit(rlim_cur: rlim_t(count), rlim_max: 4_096)
    let result = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    precondition(result == 0)
}

@Suite struct ListenerTests {
    @Test("connections are accepted until none waits, non-blocking and closed on exec")
    func accepts() throws {
        let scene = try Scene(clients: 3)
        for _ in 0..<3 {
            guard case .accepted(let connection, let address) = try scene.next() else {
                Issue.record("a connection waits")
                return
            }
            #expect(fcntl(connection.number, F_GETFL) & O_NONBLOCK != 0)
            #expect(fcntl(connection.number, F_GETFD) & FD_CLOEXEC != 0)
            #expect(try scene.clients.contains { try Socket.localAddress(of: $0, calls: .linux) == address })
        }
        #expect(try scene.next() == .drained)
    }

    @Test("a turn accepts its share and leaves the rest to the next")
    func share() throws {
        let scene = try Scene(clients: 5, acceptsPerTurnMax: 2)
        #expect(try scene.turn() == [nil, nil, .turnOver])
        #expect(try scene.turn() == [nil, nil, .turnOver])
        #expect(try scene.turn() == [nil, .drained])
    }

    @Test(
        "a fault of one connection is skipped and the next is accepted",
        arguments: [ECONNABORTED, EINTR, EPERM, EPROTO, ENETDOWN, EHOSTUNREACH, ETIMEDOUT])
    func skipped(code: Int32) throws {
        try withScript([.accept4: [.fail(code), .fail(code)]]) { (calls, script) throws in
            let scene = try Scene(clients: 1, calls: calls)
            #expect(try scene.turn() == [nil, .drained])
            #expect(script.count(.accept4) == 4)
        }
    }

    @Test("faults without end are bounded by the turn's share")
    func skippingIsBounded() throws {
        try withScript([.accept4: Array(repeating: .fail(ECONNABORTED), count: 100)]) { (calls, script) throws in
            let scene = try Scene(clients: 0, acceptsPerTurnMax: 10, calls: calls)
            #expect(try scene.turn() == [.turnOver])
            #expect(script.count(.accept4) == 10)
        }
    }

    @Test("out of descriptors: the connection is accepted in the reserve's place, closed and told", arguments: [EMFILE, ENFILE])
    func refused(code: Int32) throws {
        try withScript([.accept4: [.fail(code)]]) { (calls, script) throws in
            let scene = try Scene(clients: 2, calls: calls)
            #expect(try scene.turn() == [.refusedOutOfDescriptors, nil, .drained])
            #expect(script.count(.open) == 2 && script.count(.close) == 2, "the reserve is given up and taken back")
            #expect(waitUntilReadable(scene.clients[0]))
            #expect(try SystemCalls.linux.receive(from: scene.clients[0], count: 1) == [], "the client sees an orderly end")
        }
    }

    @Test("a reserve that cannot be taken back pauses the listener for 100 ms instead of spinning")
    func pauses() throws {
        let now = MonotonicInstant.milliseconds(5_000)
        try withScript([.accept4: [.fail(EMFILE), .real, .fail(EMFILE), .fail(EMFILE)], .open: [.real, .fail(EMFILE), .fail(EMFILE)]]) {
            (calls, script) throws in
            let scene = try Scene(clients: 3, calls: calls)
            #expect(try scene.turn(now: now) == [.refusedOutOfDescriptors, .pause(until: .milliseconds(5_100))])
            #expect(script.count(.accept4) == 3, "two for the refusal, one that found no reserve")
            #expect(try scene.turn(now: .milliseconds(5_100)) == [.refusedOutOfDescriptors, nil, .drained], "the reserve is found again")
        }
    }

    @Test("when another thread takes the reserve's place the listener pauses")
    func raced() throws {
        try withScript([.accept4: [.fail(EMFILE), .fail(EMFILE)]]) { (calls, script) throws in
            let scene = try Scene(clients: 1, calls: calls)
            #expect(try scene.turn() == [.pause(until: .milliseconds(100))])
            #expect(script.count(.open) == 2)
            #expect(try scene.turn() == [nil, .drained])
        }
    }

    @Test("without memory the listener pauses", arguments: [ENOBUFS, ENOMEM])
    func noMemory(code: Int32) throws {
        try withScript([.accept4: [.fail(code)]]) { (calls, _) throws in
            let scene = try Scene(clients: 1, calls: calls)
            #expect(try scene.turn() == [.pause(until: .milliseconds(100))])
        }
    }

    @Test("a client that gave up before the refusal leaves an empty queue")
    func gone() throws {
        try withScript([.accept4: [.fail(EMFILE)]]) { (calls, _) throws in
            let scene = try Scene(clients: 0, calls: calls)
            #expect(try scene.turn() == [.drained])
        }
    }

    @Test("a fault of the listener itself is thrown", arguments: [EBADF, EINVAL, ENOTSOCK])
    func broken(code: Int32) throws {
        try withScript([.accept4: [.fail(code)]]) { (calls, _) throws in
            let scene = try Scene(clients: 1, calls: calls)
            #expect(throws: SystemFault(operation: "accept4", errno: code)) { try scene.next() }
        }
    }

    @Test("without a reserve to begin with there is no listener, and its socket is closed")
    func noReserve() {
        withScript([.open: [.fail(EMFILE)]]) { calls, script in
            #expect(throws: SystemFault(operation: "open", errno: EMFILE)) { try Scene(clients: 0, calls: calls) }
            #expect(script.count(.close) == 1)
        }
    }

    @Test("really out of descriptors: every client is refused, none left hanging, and accepted again once there are some")
    func reallyOutOfDescriptors() async {
        await #expect(processExitsWith: .success) {
            let scene = try Scene(clients: 4)
            // A limit of the highest descriptor in use plus one leaves no free number but gaps, which are filled.
            var fillers: [Int32] = []
            let highest = dup(0)
            setDescriptorLimit(highest + 1)
            while case let filler = dup(0), filler >= 0 { fillers.append(filler) }
            precondition(errno == EMFILE)
            let refused = try scene.turn()
            precondition(refused == Array(repeating: .refusedOutOfDescriptors, count: 4) + [.drained], "\(refused)")
            for client in scene.clients {
                precondition(waitUntilReadable(client))
                let end = try SystemCalls.linux.receive(from: client, count: 1)
                precondition(end == [], "an orderly end")
            }
            setDescriptorLimit(4_096)
            try scene.addClient()
            let accepted = try scene.turn()
            precondition(accepted == [nil, .drained], "\(accepted)")
        }
    }
}
