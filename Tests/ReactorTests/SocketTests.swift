import CLinux
import Glibc
import Reactor
import RelayBase
import Testing

/// A listener on loopback, a client and the accepted side of their connection.
struct Loopback: ~Copyable {
    let client: OwnedDescriptor
    let server: OwnedDescriptor
    let clientAddressSeen: SocketAddress

    init(host: String = "127.0.0.1") throws {
        let calls = SystemCalls.linux
        let any = try #require(SocketAddress(host: host, port: 0))
        let listening = OwnedDescriptor(try Socket.listen(on: any, backlog: 8, reusePort: false, calls: calls))
        let address = try Socket.localAddress(of: listening.descriptor, calls: calls)
        let client = OwnedDescriptor(try Socket.connect(to: address, calls: calls).descriptor)
        guard waitUntilReadable(listening.descriptor), waitUntilWritable(client.descriptor) else {
            throw SystemFault(operation: "poll", errno: ETIME)
        }
        try Socket.connectResult(of: client.descriptor, calls: calls)
        var listener = try Listener(listening.take(), calls: calls)
        guard case .accepted(let accepted, let seen) = try listener.next(now: .zero) else { throw SystemFault(operation: "accept4", errno: EAGAIN) }
        self.client = client
        server = OwnedDescriptor(accepted)
        clientAddressSeen = seen
    }
}

@Suite struct SocketTests {
    let calls = SystemCalls.linux

    @Test("a connection is made, both ends know each other, and bytes pass", arguments: ["127.0.0.1", "::1"])
    func connects(host: String) throws {
        let connection = try Loopback(host: host)
        let (client, server) = (connection.client.descriptor, connection.server.descriptor)
        #expect(try Socket.localAddress(of: client, calls: calls) == connection.clientAddressSeen)
        #expect(try Socket.peerAddress(of: server, calls: calls) == connection.clientAddressSeen)
        #expect(connection.clientAddressSeen.host == host && connection.clientAddressSeen.isLoopback)
        #expect(try calls.send(to: client, [1, 2, 3]) == .bytes(3))
        #expect(waitUntilReadable(server))
        #expect(try calls.receive(from: server, count: 8) == [1, 2, 3])
    }

    @Test("a dual-stack listener sees an IPv4 client under its IPv4 address")
    func dualStack() throws {
        let any = try #require(SocketAddress("[::]:0"))
        let listening = OwnedDescriptor(try Socket.listen(on: any, backlog: 8, reusePort: false, calls: calls))
        let port = try Socket.localAddress(of: listening.descriptor, calls: calls).port
        let client = OwnedDescriptor(try Socket.connect(to: .loopback(port: port), calls: calls).descriptor)
        #expect(waitUntilReadable(listening.descriptor))
        var listener = try Listener(listening.take(), calls: calls)
        guard case .accepted(let accepted, let address) = try listener.next(now: .zero) else {
            Issue.record("a connection waits")
            return
        }
        #expect(address.isIPv4 && address.isLoopback)
        calls.close(accepted)
        _ = consume client
    }

    @Test("listeners share a port only with SO_REUSEPORT")
    func reusePort() throws {
        let first = OwnedDescriptor(try Socket.listen(on: .loopback(port: 0), backlog: 8, reusePort: true, calls: calls))
        let address = try Socket.localAddress(of: first.descriptor, calls: calls)
        let second = OwnedDescriptor(try Socket.listen(on: address, backlog: 8, reusePort: true, calls: calls))
        #expect(try Socket.localAddress(of: second.descriptor, calls: calls) == address)
        #expect(throws: SystemFault(operation: "bind", errno: EADDRINUSE)) {
            try Socket.listen(on: address, backlog: 8, reusePort: false, calls: calls)
        }
    }

    @Test("connecting to a port where nobody listens is refused")
    func refused() throws {
        let listening = OwnedDescriptor(try Socket.listen(on: .loopback(port: 0), backlog: 8, reusePort: false, calls: calls))
        let address = try Socket.localAddress(of: listening.descriptor, calls: calls)
        _ = consume listening
        #expect(throws: SystemFault(operation: "connect", errno: ECONNREFUSED)) {
            let client = OwnedDescriptor(try Socket.connect(to: address, calls: calls).descriptor)
            _ = waitUntilWritable(client.descriptor)
            try Socket.connectResult(of: client.descriptor, calls: calls)
        }
    }

    @Test(
        "a connect that fails at once is a fault; an interrupted one goes on", arguments: [(ENETUNREACH, false), (EINTR, true), (EINPROGRESS, true)])
    func scriptedConnect(code: Int32, goesOn: Bool) {
        withScript([.connect: [.fail(code)]]) { calls, script in
            do throws(SystemFault) {
                let (descriptor, state) = try Socket.connect(to: .loopback(port: 1), calls: calls)
                #expect(goesOn && state == .inProgress)
                calls.close(descriptor)
            } catch {
                #expect(!goesOn && error == SystemFault(operation: "connect", errno: code))
            }
            #expect(script.count(.close) == 1)
        }
    }

    @Test("options are set as asked")
    func options() throws {
        let connection = try Loopback()
        let socket = connection.client.descriptor
        try Socket.setNoDelay(socket, true, calls: calls)
        try Socket.setNotSentLowWater(socket, bytes: 16_384, calls: calls)
        try Socket.setUserTimeout(socket, milliseconds: 30_000, calls: calls)
        try Socket.setKeepAlive(socket, true, calls: calls)
        try Socket.setSendBuffer(socket, bytes: 65_536, calls: calls)
        let tcp = Int32(IPPROTO_TCP)
        #expect(try Socket.option(socket, tcp, TCP_NODELAY, calls: calls) == 1)
        #expect(try Socket.option(socket, tcp, TCP_NOTSENT_LOWAT, calls: calls) == 16_384)
        #expect(try Socket.option(socket, tcp, TCP_USER_TIMEOUT, calls: calls) == 30_000)
        #expect(try Socket.option(socket, SOL_SOCKET, SO_KEEPALIVE, calls: calls) == 1)
        #expect(try Socket.option(socket, SOL_SOCKET, SO_SNDBUF, calls: calls) == 131_072)
        #expect(throws: SystemFault(operation: "setsockopt", errno: EBADF)) {
            try Socket.setNoDelay(FileDescriptor(number: -1), true, calls: calls)
        }
    }

    @Test("TCP_INFO counts what the peer has acknowledged and what waits unsent")
    func tcpInfo() throws {
        let connection = try Loopback()
        let (client, server) = (connection.client.descriptor, connection.server.descriptor)
        let before = try TCPInfo.read(client, calls: calls)
        #expect(try calls.send(to: client, [UInt8](repeating: 1, count: 1_000)) == .bytes(1_000))
        #expect(waitUntilReadable(server))
        #expect(try calls.receive(from: server, count: 2_000)?.count == 1_000)
        // The answer carries the acknowledgement.
        #expect(try calls.send(to: server, [1]) == .bytes(1))
        #expect(waitUntilReadable(client))
        let after = try TCPInfo.read(client, calls: calls)
        #expect(after.bytesAcked >= before.bytesAcked + 1_000)
        #expect(after.congestionWindow > 0 && after.segmentBytes > 500 && after.notSentBytes == 0)
        #expect(after.roundTripMicroseconds > 0)
        // A peer that does not read: the queue fills until the kernel takes no more.
        var taken = 0
        while case .bytes(let count) = try calls.send(to: client, [UInt8](repeating: 2, count: 65_536)) { taken += count }
        let blocked = try TCPInfo.read(client, calls: calls)
        #expect(blocked.notSentBytes > 0 && Int(blocked.notSentBytes) <= taken)
    }

    @Test("a reset by the peer is told once, as the socket's pending fault")
    func reset() throws {
        var connection: Loopback? = try Loopback()
        let client = FileDescriptor(number: dup(connection?.client.descriptor.number ?? -1))
        defer { calls.close(client) }
        if let server = connection?.server.descriptor { try Socket.setResetOnClose(server, calls: calls) }
        connection = nil
        #expect(waitUntilReadable(client))
        #expect(try Socket.pendingFault(of: client, calls: calls) == SystemFault(operation: "socket", errno: ECONNRESET))
        #expect(try Socket.pendingFault(of: client, calls: calls) == nil)
    }
}
