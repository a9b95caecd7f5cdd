import Glibc
import Reactor
import RelayClient
import TLSTransport

/// One GET over HTTP/1.1 on a connection of its own, for the relay's endpoints.
enum HTTPGet {
    struct Failed: Error {
        let reason: String
    }

    /// - Returns: the whole response, head and body.
    static func text(_ path: String, from address: SocketAddress) throws -> String {
        let context = try TestState.shared.credentials().context(http: .http1)
        let scratch = TransportScratch(readiness: .levelTriggered)
        let machine = try TLSMachine(connecting: context, to: .dns("localhost"), output: scratch.output)
        let (descriptor, _) = try Socket.connect(to: address, calls: .linux)
        defer { SystemCalls.linux.close(descriptor) }
        try wait(descriptor, POLLOUT)
        try Socket.connectResult(of: descriptor, calls: .linux)
        let secure = SecureConnection(descriptor: descriptor.number, machine: machine, scratch: scratch)
        while try secure.handshake() == .inProgress { try wait(descriptor, POLLIN) }
        let request = Array("GET \(path) HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".utf8)
        try unsafe request.withUnsafeBytes { try unsafe secure.send($0) }
        var response: [UInt8] = []
        while true {
            switch try unsafe secure.receive() {
            case .bytes(let bytes): response += unsafe Array(bytes)
            case .wouldBlock: try wait(descriptor, POLLIN)
            case .end: return String(decoding: response, as: UTF8.self)
            }
        }
    }

    private static func wait(_ descriptor: FileDescriptor, _ events: Int32) throws {
        var ready = pollfd(fd: descriptor.number, events: Int16(events), revents: 0)
        guard unsafe poll(&ready, 1, 60_000) == 1 else { throw Failed(reason: "no answer in a minute") }
    }
}
