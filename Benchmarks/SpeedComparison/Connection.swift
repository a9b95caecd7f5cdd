import BenchmarkSupport
import Glibc
import HTTPTransport
import Reactor
import RelayBase
import RelayClient
import TLSTransport
import WebSocketProtocol

/// One WebSocket of the generator, to any of the servers. It does the least: what comes is decrypted and its messages are counted.
final class Connection {
    /// What all connections share.
    struct Surroundings {
        let contexts: (http1: TLSContext, http2: TLSContext)
        let scratch = TransportScratch(readiness: .levelTriggered)

        /// - Parameter state: the folder of a relay's development certificates.
        init(state: String) throws {
            let credentials = ClientCredentials(
                authorityFile: state + "/ca.pem",
                keyPair: .init(certificateFile: state + "/clients/alice.pem", keyFile: state + "/clients/alice-key.pem"))
            contexts = (
                try credentials.context(http: .http1, minimumVersion: .tls13), try credentials.context(http: .http2, minimumVersion: .tls13)
            )
        }
    }

    let descriptor: FileDescriptor
    private let secure: SecureConnection
    /// Over HTTP/2: the session, and the stream that is the WebSocket.
    private var http2: (session: HTTP2Session, stream: HTTP2StreamID)?
    private var scanner = MessageScanner()
    private var output = ByteQueue()
    private var requestID: UInt64 = 0
    private static let maskingKey = WebSocketMaskingKey(0x5E60_E1A7)

    /// Connects, shakes hands and opens the WebSocket. Waits where it has to.
    init(to server: ServerProcess, path: String, transport: RoomShape.Transport, _ surroundings: Surroundings) throws {
        let context = transport == .http1 ? surroundings.contexts.http1 : surroundings.contexts.http2
        let scratch = surroundings.scratch
        let machine = try TLSMachine(connecting: context, to: .address("127.0.0.1"), session: nil, output: scratch.output)
        descriptor = try Socket.connect(to: .loopback(port: server.port), calls: .linux).descriptor
        try Socket.setNoDelay(descriptor, true, calls: .linux)
        secure = SecureConnection(descriptor: descriptor.number, machine: machine, scratch: scratch)
        try awaitReadiness(Int16(POLLOUT))
        while try secure.handshake() == .inProgress { try awaitReadiness(Int16(POLLIN)) }
        switch transport {
        case .http1: try upgrade(server, path)
        case .http2: try connect(server, path)
        }
    }

    deinit {
        secure.discard()
        SystemCalls.linux.close(descriptor)
    }

    // MARK: Opening

    private static func subprotocol(_ server: ServerProcess) -> String? { server.kind == .relay ? "segue.v1" : nil }

    private func upgrade(_ server: ServerProcess, _ path: String) throws {
        var head = "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        head += "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAECAwQFBgcICQoLDA0ODw==\r\n"
        if let name = Self.subprotocol(server) { head += "Sec-WebSocket-Protocol: \(name)\r\n" }
        output.append(Array((head + "\r\n").utf8))
        try send()
        var answer: [UInt8] = []
        let end: [UInt8] = [13, 10, 13, 10]
        while true {
            if case .bytes(let bytes) = try unsafe secure.receive() {
                unsafe answer.append(contentsOf: bytes)
            } else {
                try awaitReadiness(Int16(POLLIN))
            }
            guard let found = answer.firstRange(of: end) else { continue }
            guard answer.starts(with: Array("HTTP/1.1 101".utf8)) else {
                throw BenchmarkFault("\(server.kind.rawValue) refused: \(String(decoding: answer.prefix(200), as: UTF8.self))")
            }
            // What came along is the server's first message.
            var tally = Tally()
            let rest = Array(answer[found.upperBound...])
            try unsafe rest.span.bytes.withUnsafeBytes { (bytes) throws(BenchmarkFault) in try unsafe scanner.scan(bytes, &tally) }
            return
        }
    }

    private func connect(_ server: ServerProcess, _ path: String) throws {
        let session = HTTP2Session(role: .client, now: MonotonicClock.now())
        var stream: HTTP2StreamID?
        var isOpen = false
        while !isOpen {
            try produce(session)
            guard case .bytes(let bytes) = try unsafe secure.receive() else {
                try awaitReadiness(Int16(POLLIN))
                continue
            }
            try unsafe session.receive(UnsafeRawBufferPointer(bytes), now: MonotonicClock.now())
            while let event = session.nextEvent() {
                switch event {
                case .settingsReceived:
                    guard stream == nil else { continue }
                    stream = try session.request(
                        fields: [
                            (":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "https"), (":path", path),
                            (":authority", "127.0.0.1:\(server.port)"), ("sec-websocket-version", "13"),
                            ("sec-websocket-protocol", Self.subprotocol(server) ?? ""),
                        ], endOfStream: false)
                case .response(_, let status, _, _):
                    guard status == 200 else { throw BenchmarkFault("\(server.kind.rawValue) refused a WebSocket over HTTP/2: \(status)") }
                    isOpen = true
                default: continue
                }
            }
        }
        guard let stream else { throw BenchmarkFault("no stream") }
        http2 = (session, stream)
        try produce(session)
    }

    private func awaitReadiness(_ events: Int16) throws(BenchmarkFault) {
        var wait = pollfd(fd: descriptor.number, events: events, revents: 0)
        guard unsafe poll(&wait, 1, 20_000) > 0 else { throw BenchmarkFault("a server does not answer") }
    }

    // MARK: Sending

    /// Queues a binary message; it goes out with ``send()``.
    func queue(_ message: [UInt8]) {
        unsafe WebSocketFrameEncoder.append(.binary, message.span.bytes, maskingKey: Self.maskingKey, to: &output)
    }

    /// Sends what is queued: one record as far as it fits, and one call.
    func send() throws {
        guard let (session, stream) = http2 else {
            try unsafe secure.send(output.readable)
            output.removeAll()
            return
        }
        guard unsafe session.write(stream, output.readable) == .queued else { throw BenchmarkFault("a stream takes no more") }
        output.removeAll()
        try produce(session)
    }

    /// Sends a request of the relay's protocol.
    func send(_ encoded: (UInt64) -> [UInt8]) throws {
        requestID += 1
        unsafe WebSocketFrameEncoder.append(.text, encoded(requestID).span.bytes, maskingKey: Self.maskingKey, to: &output)
        try send()
    }

    private func produce(_ session: HTTP2Session) throws {
        var queue = ByteQueue()
        while session.wantsOutput {
            guard session.produce(into: &queue, upTo: 64 << 10, now: MonotonicClock.now()) || !queue.isEmpty else { return }
            try unsafe secure.send(queue.readable)
            queue.removeAll()
        }
    }

    // MARK: Receiving

    /// Reads what is there.
    func receive(_ tally: inout Tally) throws {
        while true {
            switch try unsafe secure.receive() {
            case .bytes(let bytes):
                tally.now = MonotonicClock.now().nanoseconds
                guard let (session, stream) = http2 else {
                    try unsafe scanner.scan(UnsafeRawBufferPointer(bytes), &tally)
                    continue
                }
                try unsafe session.receive(UnsafeRawBufferPointer(bytes), now: MonotonicInstant(nanoseconds: tally.now))
                while session.nextEvent() != nil {}
                let content = unsafe UnsafeRawBufferPointer(session.inboundInPlace(stream))
                try unsafe scanner.scan(content, &tally)
                session.consume(stream, content.count)
                if session.wantsOutput { try produce(session) }
            case .wouldBlock:
                if !scanner.controls.isEmpty { try answerPings() }
                if secure.hasUnsent { _ = try secure.flush() }
                return
            case .end: throw BenchmarkFault("a server ended a connection")
            }
        }
    }

    /// Texts of the relay that came since the last call.
    private(set) var texts: [[UInt8]] = []

    func takeTexts() -> [[UInt8]] {
        defer { texts.removeAll() }
        return texts
    }

    private func answerPings() throws {
        for (opcode, payload) in scanner.takeControls() {
            switch opcode {
            case 1: texts.append(payload)
            case 8: throw BenchmarkFault("a server closed a WebSocket: \(String(decoding: payload.dropFirst(2), as: UTF8.self))")
            case 9:
                unsafe WebSocketFrameEncoder.append(.pong, payload.span.bytes, maskingKey: Self.maskingKey, to: &output)
                try send()
            default: break
            }
        }
    }
}
