import HTTPProtocol
import MediaProtocol
import Reactor
import RelayBase
import RelayClient
import Signalling
import TLSTransport
import Testing
import WebSocketProtocol

/// What one session was told.
struct Record {
    var isOpen = false
    var welcome: RelayMessage.Welcome?
    var answers: [UInt64: RelayMessage.Answer] = [:]
    var refusals: [(id: UInt64?, refusal: Refusal)] = []
    var news: [RelayMessage] = []
    var frames: [[UInt8]] = []
    var end: ClientEvent?

    var closeCode: UInt16? { end?.closeCode }

    func refusal(_ id: UInt64) -> Refusal? {
        refusals.first { $0.id == id }?.refusal
    }
}

/// Sessions with everything they were told, on one loop, driven by the test.
final class Clients {
    let loop: ClientLoop
    private let address: SocketAddress
    private(set) var records: [Record] = []

    struct TimedOut: Error, CustomStringConvertible {
        let waitedFor: String
        let ends: [String]
        var description: String { "waited in vain for \(waitedFor); ends: \(ends)" }
    }

    init(_ relay: Relay) throws {
        address = relay.address
        loop = try ClientLoop()
    }

    init(address: SocketAddress) throws {
        self.address = address
        loop = try ClientLoop()
    }

    /// Starts a session; its record is at its tag.
    func open(_ route: Route = Route(), as name: String = "alice", _ adjust: (inout ClientOptions) -> Void = { _ in }) throws -> ClientSession {
        let context = try TestState.shared.credentials(name).context(http: route.http, maximumVersion: route.tls)
        var options = ClientOptions(address: address, host: "localhost", http: route.http)
        options.tag = records.count
        options.openMillisecondsMax = 600_000
        options.silenceMillisecondsMax = 600_000
        options.closeHandshakeMillisecondsMax = 600_000
        adjust(&options)
        records.append(Record())
        return try loop.open(options, context)
    }

    /// Starts a session with other credentials or options than usual.
    func open(_ credentials: ClientCredentials, _ options: ClientOptions) throws -> ClientSession {
        var options = options
        options.tag = records.count
        records.append(Record())
        return try loop.open(options, try credentials.context(http: options.http))
    }

    subscript(session: ClientSession) -> Record { records[session.tag] }

    /// Turns the loop until `condition` holds. The bound is there to end a test that would hang, not to measure.
    func wait(_ purpose: String, until condition: () -> Bool) throws {
        let deadline = MonotonicClock.now().advanced(byMilliseconds: 180_000)
        while !condition() {
            guard MonotonicClock.now() < deadline else {
                throw TimedOut(waitedFor: purpose, ends: records.map { "\($0.end.map { "\($0)" } ?? "open")" })
            }
            try loop.poll(until: MonotonicClock.now().advanced(byMilliseconds: 1_000))
            while let (session, event) = loop.nextEvent() { take(event, session.tag) }
        }
    }

    private func take(_ event: ClientEvent, _ tag: Int) {
        switch event {
        case .opened: records[tag].isOpen = true
        case .welcome(let welcome): records[tag].welcome = welcome
        case .answer(let id, let answer): records[tag].answers[id] = answer
        case .refused(let id, let refusal): records[tag].refusals.append((id, refusal))
        case .news(let news): records[tag].news.append(news)
        case .frame: records[tag].frames.append(loop.frameBytes)
        case .writable: break
        case .closed, .failed: records[tag].end = event
        }
    }

    // MARK: Steps

    func answer(_ session: ClientSession, _ request: ClientRequest) throws -> RelayMessage.Answer {
        let id = session.send(request)
        try wait(request.type) { self[session].answers[id] != nil || self[session].refusal(id) != nil || session.hasEnded }
        return try #require(self[session].answers[id], "\(request.type): \(self[session].refusals) \(String(describing: self[session].end))")
    }

    func refusal(_ session: ClientSession, _ request: ClientRequest) throws -> Refusal {
        let id = session.send(request)
        try wait(request.type) { self[session].answers[id] != nil || self[session].refusal(id) != nil || session.hasEnded }
        return try #require(self[session].refusal(id), "\(request.type): \(self[session].answers) \(String(describing: self[session].end))")
    }

    func ready(_ session: ClientSession) throws {
        try wait("welcome") { self[session].welcome != nil || session.hasEnded }
        try #require(self[session].welcome != nil, "\(String(describing: self[session].end))")
    }

    /// Opens a session and joins `room`.
    func join(_ room: String, _ route: Route = Route(), as name: String = "alice") throws -> ClientSession {
        let session = try open(route, as: name)
        try ready(session)
        _ = try answer(session, .join(.init(room: room, displayName: name)))
        return session
    }

    func publish(_ session: ClientSession, _ kind: StreamKind, _ codec: String) throws -> UInt32 {
        try #require(try answer(session, .publish(.init(kind: kind, codec: codec, description: nil, source: nil))).stream)
    }

    func subscribeAll(_ session: ClientSession) throws {
        _ = try answer(session, .subscribe(.init(streams: nil, all: true, delivery: .live)))
    }

    /// Sends a frame, as soon as there is room for it, and answers its bytes.
    @discardableResult
    func send(_ session: ClientSession, _ header: MediaHeader, _ payload: [UInt8]) throws -> [UInt8] {
        if !session.canSend { try wait("room to send") { session.canSend || session.hasEnded } }
        let isQueued = unsafe session.sendFrame(header, payload: payload.span.bytes)
        #expect(isQueued)
        return Clients.bytes(header, payload)
    }

    static func bytes(_ header: MediaHeader, _ payload: [UInt8]) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: MediaHeader.byteCount)
        unsafe bytes.withUnsafeMutableBytes { unsafe header.write(into: $0) }
        return bytes + payload
    }
}
