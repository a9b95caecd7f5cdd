import LinkNetwork
import MediaProtocol
import Reactor
import RelayBase
import RelayClient
import Signalling
import TLSTransport

/// Why a scenario could not be played.
struct ScenarioFault: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Where sessions come in.
struct Door {
    let address: SocketAddress
    let host: String
    let credentials: ClientCredentials
}

/// Many sessions on the calling thread, in whichever namespaces.
final class Crowd {
    private static let patienceMilliseconds: UInt64 = 20_000

    let loop: ClientLoop
    let payloads = RandomPayloads(seed: 1)
    private(set) var members: [Member] = []
    private var shared: [SharedConnection] = []
    private let door: Door
    private let wishes: ClientRequest.SessionWishes
    private let contexts: [ClientHTTPVersion: TLSContext]

    /// - Parameter wishes: of all its sessions.
    init(_ door: Door, _ wishes: ClientRequest.SessionWishes) throws {
        self.door = door
        self.wishes = wishes
        loop = try ClientLoop()
        contexts = [.http1: try door.credentials.context(http: .http1), .http2: try door.credentials.context(http: .http2)]
    }

    /// Opens a session from within a namespace, up to its welcome.
    func open(from namespace: NetworkNamespace, http: ClientHTTPVersion = .http1) throws -> Member {
        let member = try start(from: namespace, http: http)
        try wait("a welcome") { member.isWelcome }
        return member
    }

    /// Opens a session and does not wait.
    func start(from namespace: NetworkNamespace, http: ClientHTTPVersion = .http1) throws -> Member {
        guard let context = contexts[http] else { throw ScenarioFault("no TLS context") }
        var options = ClientOptions(address: door.address, host: door.host, http: http)
        options.tag = members.count
        options.wishes = wishes
        options.silenceMillisecondsMax = 120_000
        // Each would be a machine of its own: that one thread reads for all must not be what is measured.
        options.ignoresParticipants = true
        let session = try namespace.enter { try loop.open(options, context) }
        let member = Member(session)
        members.append(member)
        return member
    }

    /// Has a connection with several sessions play along.
    func share(_ connection: SharedConnection) throws {
        try loop.watch(connection.descriptor)
        shared.append(connection)
    }

    @discardableResult
    func request(_ member: Member, _ request: ClientRequest) throws -> RelayMessage.Answer {
        let id = member.session.send(request)
        try wait(request.type) { member.answers[id] != nil }
        guard let answer = member.answers[id] else { throw ScenarioFault("no answer to \(request.type)") }
        return answer.answer
    }

    func join(_ member: Member, _ room: String = "stage") throws {
        try request(member, .join(.init(room: room, displayName: nil)))
    }

    func subscribeToAll(_ member: Member) throws {
        try request(member, .subscribe(.init(streams: nil, all: true, delivery: .live)))
    }

    /// Announces a stream and begins to publish it.
    @discardableResult
    func publish(
        _ member: Member, _ kind: StreamKind, framesPerSecond: Double, layers: [SyntheticLayer], keyEvery: Int? = nil
    ) throws -> UInt32 {
        let codec = kind == .audio ? "opus" : "vp8"
        var announced: [StreamLayer]?
        if layers.count > 1 {
            announced = layers.map { StreamLayer(frameRate: framesPerSecond, bitrate: Double($0.frameBytes) * 8 * framesPerSecond) }
        }
        let answer = try request(member, .publish(.init(kind: kind, codec: codec, description: nil, source: nil, layers: announced)))
        guard let stream = answer.stream else { throw ScenarioFault("publish was answered without a stream") }
        let configuration = MediaHeader(kind: .configuration, stream: StreamID(stream), sequence: 0, timestamp: 0)
        let nothing: [UInt8] = []
        unsafe member.session.sendFrame(configuration, payload: nothing.span.bytes)
        member.streams.append(
            SyntheticStream(
                kind: kind == .audio ? .audio : .video, stream: stream, framesPerSecond: framesPerSecond, layers: layers, keyEvery: keyEvery,
                start: MonotonicClock.now()))
        return stream
    }

    // MARK: Time

    /// Lets the play go on until `end`: what is due is published, what comes is taken.
    func play(until end: MonotonicInstant) throws {
        while MonotonicClock.now() < end { try turn(until: end) }
        try verify()
    }

    /// Takes what is there, and waits for nothing.
    func glance() throws {
        try turn(until: .zero)
        try verify()
    }

    func play(seconds: Double) throws {
        try play(until: MonotonicClock.now().advanced(byNanoseconds: UInt64(seconds * 1e9)))
    }

    /// Lets the play go on until `condition` holds; 20 s are too long.
    func wait(_ purpose: String, until condition: () -> Bool) throws {
        let deadline = MonotonicClock.now().advanced(byMilliseconds: Self.patienceMilliseconds)
        while !condition() {
            try turn(until: MonotonicClock.now().advanced(byMilliseconds: 100))
            guard loop.now < deadline else { throw ScenarioFault("waited in vain for \(purpose)") }
            try verify()
        }
    }

    private func turn(until end: MonotonicInstant) throws {
        var wake = end
        let now = MonotonicClock.now()
        for member in members where !member.streams.isEmpty {
            member.publishDue(payloads, now: now)
            wake = min(wake, member.nextDue)
        }
        try loop.poll(until: wake)
        for connection in shared { try connection.glance() }
        while let (session, event) = loop.nextEvent() {
            let member = members[session.tag]
            if case .frame = event {
                guard member.recordsFrames else { continue }
                loop.withFrame { frame in
                    if let reception = Reception(frame, received: MonotonicClock.now()) { member.receptions.append(reception) }
                }
            } else {
                member.take(event, at: MonotonicClock.now())
            }
        }
    }

    /// A session that ended spoils every measure.
    private func verify() throws {
        for (place, member) in members.enumerated() {
            if let end = member.end { throw ScenarioFault("session \(place) ended: \(end)") }
        }
    }
}
