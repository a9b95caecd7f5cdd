import BenchmarkSupport
import Glibc
import Reactor
import RelayBase
import TLSTransport

/// Clients that shake hands with the relay and do nothing else: a number of them at a time, each until it has its ticket, by which it knows that the relay is done.
final class HandshakeClients {
    private static let inFlight = 16

    private struct Client {
        let place: Int
        let descriptor: FileDescriptor
        let secure: SecureConnection
        var isSecured = false
    }

    private let address: SocketAddress
    private let scratch = TransportScratch(readiness: .levelTriggered)
    /// By client: what the relay's last ticket was.
    private(set) var sessions: [TLSSession?] = []

    init(port: UInt16) {
        address = .loopback(port: port)
    }

    /// - Parameters:
    ///   - contexts: one handshake with each, in order.
    ///   - resumes: by the tickets that the same clients got last.
    ///   - deadline: no further handshake is begun then.
    /// - Returns: handshakes made.
    @discardableResult
    func run(_ contexts: [TLSContext], resumes: Bool, until deadline: MonotonicInstant = .distantFuture) throws -> Int {
        let previous = resumes ? sessions : []
        sessions = Array(repeating: nil, count: contexts.count)
        var waiting: [Client] = []
        defer { for client in waiting { end(client) } }
        var begun = 0
        var done = 0
        let patience = MonotonicClock.now().advanced(byMilliseconds: 300_000)
        while true {
            while waiting.count < HandshakeClients.inFlight, begun < contexts.count, MonotonicClock.now() < deadline {
                waiting.append(try begin(contexts[begun], begun, resumes ? previous[begun] : nil))
                begun += 1
            }
            guard !waiting.isEmpty else { return done }
            var events = waiting.map { pollfd(fd: $0.descriptor.number, events: Int16(POLLIN), revents: 0) }
            _ = unsafe poll(&events, nfds_t(events.count), 1_000)
            guard MonotonicClock.now() < patience else { throw BenchmarkFault("the relay does not shake hands") }
            for index in events.indices.reversed() where events[index].revents != 0 {
                guard try go(&waiting[index]) else { continue }
                let client = waiting.remove(at: index)
                let isResumed = client.secure.negotiated?.isResumed == true
                guard isResumed == resumes else { throw BenchmarkFault(resumes ? "a session was not resumed" : "a session was resumed unasked") }
                end(client)
                done += 1
            }
        }
    }

    private func begin(_ context: TLSContext, _ place: Int, _ session: TLSSession?) throws -> Client {
        let machine = try TLSMachine(connecting: context, to: .address("127.0.0.1"), session: session, output: scratch.output)
        let descriptor = try Socket.connect(to: address, calls: .linux).descriptor
        try? Socket.setNoDelay(descriptor, true, calls: .linux)
        let client = Client(
            place: place, descriptor: descriptor, secure: SecureConnection(descriptor: descriptor.number, machine: machine, scratch: scratch))
        var ready = pollfd(fd: descriptor.number, events: Int16(POLLOUT), revents: 0)
        guard unsafe poll(&ready, 1, 10_000) == 1 else { throw BenchmarkFault("the relay accepts no connection") }
        _ = try client.secure.handshake()
        return client
    }

    /// Answers whether the client has its ticket.
    private func go(_ client: inout Client) throws -> Bool {
        if !client.isSecured {
            guard try client.secure.handshake() == .complete else { return false }
            client.isSecured = true
        }
        if case .end = try unsafe client.secure.receive() { throw BenchmarkFault("the relay ended a connection") }
        sessions[client.place] = client.secure.session
        return sessions[client.place] != nil
    }

    private func end(_ client: Client) {
        client.secure.discard()
        SystemCalls.linux.close(client.descriptor)
    }
}
