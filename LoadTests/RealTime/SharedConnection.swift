import Glibc
import HTTPTransport
import LinkNetwork
import MediaProtocol
import Reactor
import RelayBase
import RelayClient
import Signalling
import TLSTransport
import WebSocketProtocol

/// One HTTP/2 connection with several sessions on it (RFC 8441), each a WebSocket of its own: what a browser does with several pages of one relay.
final class SharedConnection {
    private static let patienceMilliseconds: UInt64 = 20_000
    private static let produceBytes = 16 << 10

    let descriptor: FileDescriptor
    private(set) var sessions: [SharedSession] = []
    private let secure: SecureConnection
    private let http: HTTP2Session
    private var output = ByteQueue()
    private var mayOpen = false
    private var opened = 0

    /// Connects from within a namespace and opens `count` sessions, each up to its welcome.
    init(_ door: Door, from namespace: NetworkNamespace, sessions count: Int, wishes: ClientRequest.SessionWishes) throws {
        let context = try door.credentials.context(http: .http2)
        let options = ClientOptions(address: door.address, host: door.host, http: .http2)
        let scratch = TransportScratch(readiness: .levelTriggered)
        let machine = try TLSMachine(connecting: context, to: options.name, session: nil, output: scratch.output)
        descriptor = try namespace.enter { try Socket.connect(to: options.address, calls: .linux).descriptor }
        try? Socket.setNoDelay(descriptor, true, calls: .linux)
        secure = SecureConnection(descriptor: descriptor.number, machine: machine, scratch: scratch)
        http = HTTP2Session(role: .client, now: MonotonicClock.now())
        try wait(Int16(POLLOUT))
        while try secure.handshake() == .inProgress { try wait(Int16(POLLIN)) }
        try turn { mayOpen }
        for _ in 0..<count {
            let stream = try http.request(
                fields: [
                    (":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "https"), (":path", options.path),
                    (":authority", options.authority), ("sec-websocket-version", WebSocketHandshake.version),
                    ("sec-websocket-protocol", options.subprotocol),
                ], endOfStream: false)
            sessions.append(SharedSession(stream))
        }
        try turn { opened == count }
        for session in sessions { _ = send(session, .hello(.init(versions: [1], client: nil, wishes: wishes))) }
        try turn { sessions.allSatisfy(\.isWelcome) }
    }

    deinit {
        secure.discard()
        SystemCalls.linux.close(descriptor)
    }

    // MARK: Asking

    /// - Returns: the request's number.
    func send(_ session: SharedSession, _ request: ClientRequest) -> UInt64 {
        let id = session.takeID()
        let text = request.encoded(id: id)
        var frame = ByteQueue()
        // The key hides nothing here, and nothing is to be hidden.
        unsafe WebSocketFrameEncoder.append(.text, text.span.bytes, maskingKey: WebSocketMaskingKey(0x1234_5678), to: &frame)
        _ = unsafe http.write(session.stream, frame.readable)
        return id
    }

    /// Asks and waits; nothing else goes on meanwhile.
    func request(_ session: SharedSession, _ request: ClientRequest) throws {
        let id = send(session, request)
        try turn { session.answers[id] != nil }
    }

    // MARK: Turning

    /// Takes what is there, without waiting.
    func glance() throws {
        try flush()
        while true {
            let now = MonotonicClock.now()
            switch try unsafe secure.receive() {
            case .bytes(let bytes):
                try unsafe http.receive(UnsafeRawBufferPointer(bytes), now: now)
                while let event = http.nextEvent() { try handle(event, now) }
            case .wouldBlock:
                try flush()
                return
            case .end: throw ScenarioFault("the relay ended an HTTP/2 connection")
            }
        }
    }

    private func flush() throws {
        guard try secure.flush() else { return }
        while http.produce(into: &output, upTo: Self.produceBytes, now: MonotonicClock.now()) || !output.isEmpty {
            guard !output.isEmpty else { break }
            try unsafe secure.send(output.readable)
            output.removeAll()
        }
    }

    private func turn(until condition: () -> Bool) throws {
        let deadline = MonotonicClock.now().advanced(byMilliseconds: Self.patienceMilliseconds)
        while true {
            try glance()
            if condition() { return }
            guard MonotonicClock.now() < deadline else { throw ScenarioFault("the relay does not answer over HTTP/2") }
            var ready = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
            _ = unsafe poll(&ready, 1, 100)
        }
    }

    private func wait(_ events: Int16) throws(ScenarioFault) {
        var ready = pollfd(fd: descriptor.number, events: events, revents: 0)
        guard unsafe poll(&ready, 1, Int32(Self.patienceMilliseconds)) == 1 else { throw ScenarioFault("no connection to the relay") }
    }

    private func handle(_ event: HTTP2Event, _ now: MonotonicInstant) throws {
        switch event {
        case .settingsReceived(let extendedConnect):
            guard extendedConnect else { throw ScenarioFault("the relay opens no WebSockets over HTTP/2") }
            mayOpen = true
        case .response(_, let status, _, _):
            guard status == 200 else { throw ScenarioFault("a WebSocket over HTTP/2 was refused: \(status)") }
            opened += 1
        case .dataAvailable(let stream):
            guard let session = sessions.first(where: { $0.stream == stream }) else { return }
            let bytes = unsafe http.inboundInPlace(stream)
            try unsafe session.take(bytes, now)
            http.consume(stream, bytes.count)
        case .streamClosed, .goAwayReceived: throw ScenarioFault("the relay ended a stream")
        case .request, .headerListTooLarge, .endOfStream, .writable, .pingAcknowledged: break
        }
    }
}

/// One session of a ``SharedConnection``.
final class SharedSession {
    let stream: HTTP2StreamID
    private(set) var receptions: [Reception] = []
    private(set) var isWelcome = false
    private(set) var answers: [UInt64: RelayMessage.Answer] = [:]
    private var inbound = WebSocketInbound(WebSocketInboundConfiguration(role: .client, limits: Limits()))
    private var parts = PartAssembler()
    private let limits = Limits()
    private var nextID: UInt64 = 1

    init(_ stream: HTTP2StreamID) {
        self.stream = stream
    }

    func takeID() -> UInt64 {
        nextID += 1
        return nextID - 1
    }

    /// Decodes what came, in place.
    func take(_ bytes: UnsafeMutableRawBufferPointer, _ now: MonotonicInstant) throws {
        var offset = 0
        while offset < bytes.count {
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[offset...])
            let step = try unsafe inbound.next(rest, now: now)
            offset += step.consumed
            switch step.event {
            case .message(.binary, _, let location):
                try receive(unsafe RawSpan(_unsafeBytes: inbound.payload(location, in: rest)), now)
            case .message(.text, _, let location): try read(unsafe Array(inbound.payload(location, in: rest)))
            case .close: throw ScenarioFault("the relay closed a session over HTTP/2")
            case .needMoreBytes, .ping, .pong, .finished: break
            }
        }
    }

    /// A frame, or a part of one: it has come when its last byte has.
    private func receive(_ message: RawSpan, _ now: MonotonicInstant) throws {
        if try MediaHeader(parsing: message).kind == .part {
            guard let frame = try parts.take(message, limits: limits) else { return }
            if let reception = unsafe Reception(frame.span.bytes, received: now) { receptions.append(reception) }
        } else if let reception = Reception(message, received: now) {
            receptions.append(reception)
        }
    }

    private func read(_ text: [UInt8]) throws {
        switch try RelayMessage.decode(text) {
        case .welcome: isWelcome = true
        case .ok(let id, let answer): answers[id] = answer
        case .error(_, let refusal): throw ScenarioFault("refused: \(refusal.message)")
        default: break
        }
    }
}
