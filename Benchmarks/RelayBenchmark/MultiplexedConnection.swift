import BenchmarkSupport
import Glibc
import HTTPTransport
import Reactor
import RelayBase
import RelayClient
import Signalling
import TLSTransport
import WebSocketProtocol

/// One HTTP/2 connection with several WebSockets (RFC 8441), which say hello and then are idle. It waits where it has to; that is all it can do.
final class MultiplexedConnection {
    private let descriptor: FileDescriptor
    private let secure: SecureConnection
    private let session: HTTP2Session
    private var output = ByteQueue()
    private var opened = 0
    private var welcomed: Set<HTTP2StreamID> = []
    private var isReady = false
    private let wanted: Int
    private let deadline = MonotonicClock.now().advanced(byMilliseconds: 30_000)

    /// Connects and opens `count` WebSockets, each up to its welcome.
    init(_ options: ClientOptions, _ context: TLSContext, _ scratch: TransportScratch, webSockets count: Int) throws {
        let machine = try TLSMachine(connecting: context, to: options.name, session: nil, output: scratch.output)
        descriptor = try Socket.connect(to: options.address, calls: .linux).descriptor
        secure = SecureConnection(descriptor: descriptor.number, machine: machine, scratch: scratch)
        wanted = count
        session = HTTP2Session(role: .client, now: MonotonicClock.now())
        try awaitReadiness(Int16(POLLOUT))
        while try secure.handshake() == .inProgress { try awaitReadiness(Int16(POLLIN)) }
        try turn { isReady }
        for _ in 0..<count {
            _ = try session.request(
                fields: [
                    (":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "https"), (":path", options.path),
                    (":authority", options.authority), ("sec-websocket-version", WebSocketHandshake.version),
                    ("sec-websocket-protocol", options.subprotocol),
                ], endOfStream: false)
        }
        try turn { welcomed.count == count }
    }

    deinit {
        secure.discard()
        SystemCalls.linux.close(descriptor)
    }

    private func turn(until condition: () -> Bool) throws {
        while !condition() {
            while session.produce(into: &output, upTo: 16 << 10, now: MonotonicClock.now()) || !output.isEmpty {
                guard !output.isEmpty else { break }
                try unsafe secure.send(output.readable)
                output.removeAll()
            }
            switch try unsafe secure.receive() {
            case .bytes(let bytes):
                try unsafe session.receive(UnsafeRawBufferPointer(bytes), now: MonotonicClock.now())
                while let event = session.nextEvent() { try handle(event) }
            case .wouldBlock: try awaitReadiness(Int16(POLLIN))
            case .end: throw BenchmarkFault("the relay ended an HTTP/2 connection")
            }
        }
    }

    private func handle(_ event: HTTP2Event) throws(BenchmarkFault) {
        switch event {
        case .settingsReceived(let extendedConnect):
            guard extendedConnect else { throw BenchmarkFault("the relay opens no WebSockets over HTTP/2") }
            isReady = true
        case .response(let stream, let status, _, _):
            guard status == 200 else { throw BenchmarkFault("a WebSocket over HTTP/2 was refused: \(status)") }
            opened += 1
            let hello = ClientRequest.hello(.init(versions: [1], client: nil)).encoded(id: 1)
            var frame = ByteQueue()
            // The key hides nothing here, and nothing is to be hidden.
            unsafe WebSocketFrameEncoder.append(.text, hello.span.bytes, maskingKey: WebSocketMaskingKey(0x1234_5678), to: &frame)
            _ = unsafe session.write(stream, frame.readable)
        case .dataAvailable(let stream):
            // The first message of a session is its welcome.
            session.consume(stream, session.inboundCount(stream))
            welcomed.insert(stream)
        case .streamClosed, .goAwayReceived: throw BenchmarkFault("the relay ended a stream")
        case .request, .headerListTooLarge, .endOfStream, .writable, .pingAcknowledged: break
        }
    }

    private func awaitReadiness(_ events: Int16) throws(BenchmarkFault) {
        var wait = pollfd(fd: descriptor.number, events: events, revents: 0)
        while unsafe poll(&wait, 1, 500) == 0 {
            guard MonotonicClock.now() < deadline else {
                throw BenchmarkFault("the relay does not answer over HTTP/2; WebSockets opened: \(opened), welcomed: \(welcomed.count) of \(wanted)")
            }
        }
    }
}
