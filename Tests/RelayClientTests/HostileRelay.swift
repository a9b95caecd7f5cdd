import CertificateAuthority
import Glibc
import Reactor
import RelayBase
import TLSTransport
import WebSocketProtocol

/// A relay that answers every opening request with bytes of the test's choice, and nothing else: one connection after the other, on a thread of its own.
final class HostileRelay {
    let address: SocketAddress
    private let thread: LoopThread
    private let stop: EventFD

    /// - Parameter answer: from the request's `Sec-WebSocket-Key` to the bytes of the response, whatever follows it included.
    init(answer: @escaping @Sendable (_ key: String) -> [UInt8]) throws {
        let paths = TestState.shared.state.serverECDSA.livePaths
        var configuration = TLSConfiguration()
        configuration.keyPairs = [.init(certificateFile: paths.certificate, keyFile: paths.key ?? "")]
        configuration.clientCertificate = .none
        configuration.applicationProtocols = ["http/1.1"]
        let context = try TLSContext(server: configuration, tickets: nil)
        let listener = try Socket.listen(on: .loopback(port: 0), backlog: 16, reusePort: false, calls: .linux)
        address = try Socket.localAddress(of: listener, calls: .linux)
        let stop = try EventFD()
        self.stop = stop
        thread = try LoopThread(name: "hostile-relay") {
            defer { SystemCalls.linux.close(listener) }
            while HostileRelay.isReadable(listener, unless: stop) {
                let number = accept(listener.number, nil, nil)
                guard number >= 0 else { continue }
                let descriptor = FileDescriptor(number: number)
                _ = fcntl(number, F_SETFL, O_NONBLOCK)
                try? HostileRelay.serve(descriptor, context, stop, answer)
                SystemCalls.linux.close(descriptor)
            }
        }
    }

    deinit {
        stop.signal()
        thread.join()
    }

    private static func isReadable(_ descriptor: FileDescriptor, unless stop: EventFD) -> Bool {
        var watched = [
            pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0), pollfd(fd: stop.descriptor.number, events: Int16(POLLIN), revents: 0),
        ]
        let count = unsafe poll(&watched, 2, -1)
        return count > 0 && watched[1].revents == 0
    }

    private static func serve(_ descriptor: FileDescriptor, _ context: TLSContext, _ stop: EventFD, _ answer: (String) -> [UInt8]) throws {
        let scratch = TransportScratch(readiness: .levelTriggered)
        let machine = try TLSMachine(accepting: context, output: scratch.output)
        let secure = SecureConnection(descriptor: descriptor.number, machine: machine, scratch: scratch)
        while try secure.handshake() == .inProgress {
            guard isReadable(descriptor, unless: stop) else { return }
        }
        var request = ""
        var isAnswered = false
        while true {
            switch try unsafe secure.receive() {
            case .bytes(let bytes):
                guard !isAnswered else { continue }
                request += unsafe String(decoding: bytes, as: UTF8.self)
                guard request.hasSuffix("\r\n\r\n") else { continue }
                isAnswered = true
                let key = request.split(separator: "\r\n").first { $0.hasPrefix("sec-websocket-key: ") }?.dropFirst(19) ?? ""
                let response = answer(String(key))
                try unsafe response.withUnsafeBytes { try unsafe secure.send($0) }
                while try !secure.flush() { usleep(1_000) }
            case .wouldBlock:
                guard isReadable(descriptor, unless: stop) else { return }
            case .end: return
            }
        }
    }
}
