import BenchmarkSupport
import MediaProtocol
import Reactor
import RelayBase
import RelayClient
import Signalling

/// Who speaks and who listens.
struct RoomShape: CustomStringConvertible {
    let description: String
    let publishers: Int
    let listeners: Int
    /// The publishers hear each other too.
    let isConference: Bool

    static let oneToFifty = RoomShape(description: "1x50", publishers: 1, listeners: 50, isConference: false)
    /// Ten in a conversation: everybody speaks, everybody hears the nine others.
    static let conversation = RoomShape(description: "10x10", publishers: 10, listeners: 0, isConference: true)
    static let tenToTen = RoomShape(description: "10+10", publishers: 10, listeners: 10, isConference: false)
    static let all = [oneToFifty, conversation, tenToTen]

    /// Deliveries when every publisher sends one frame.
    var deliveries: Int { publishers * (listeners + (isConference ? publishers - 1 : 0)) }
}

/// What came of a measured window.
struct RoomResult {
    var deliveries = 0
    var rounds = 0
    var wallSeconds = 0.0
    /// Of the benchmark's own thread.
    var generatorSeconds = 0.0
}

/// A room in use: every publisher sends W frames at once, and the next W when all of them have reached everybody.
final class BenchmarkRoom {
    /// A 20 ms Opus frame at 57.6 kbit/s and the 16-byte header: 160 bytes of message.
    static let messageBytes = 160

    let shape: RoomShape
    let sessions: BenchmarkSessions
    private(set) var publishers: [(session: ClientSession, stream: StreamID)] = []
    private var listeners: [ClientSession] = []
    var sequence: UInt32 = 0
    private let payload: [UInt8]

    init(_ shape: RoomShape, _ sessions: BenchmarkSessions, messageBytes: Int = BenchmarkRoom.messageBytes) throws {
        payload = [UInt8](repeating: 0x5A, count: messageBytes - MediaHeader.byteCount)
        self.shape = shape
        self.sessions = sessions
        listeners = try sessions.open(shape.listeners)
        let talkers = try sessions.open(shape.publishers)
        for session in listeners + talkers {
            _ = try sessions.request(session, .join(.init(room: "room-\(shape.publishers)-\(shape.listeners)-\(messageBytes)", displayName: nil)))
        }
        for session in talkers {
            let answer = try sessions.request(session, .publish(.init(kind: .audio, codec: "opus", description: nil, source: nil)))
            guard let stream = answer.stream else { throw BenchmarkFault("publish was answered without a stream") }
            publishers.append((session, StreamID(stream)))
        }
        for session in listeners + (shape.isConference ? talkers : []) {
            _ = try sessions.request(session, .subscribe(.init(streams: nil, all: true, delivery: .live)))
        }
        let before = sessions.framesReceived
        for (session, stream) in publishers { send(.configuration, session, stream) }
        try sessions.wait("configurations") { sessions.framesReceived - before >= shape.deliveries }
    }

    /// Brings logs, queues and pools to the size that they keep.
    func warmUp() throws {
        for outstanding in [1, 64, 16, 4, 1] { _ = try run(outstanding: outstanding, seconds: 0.2) }
    }

    /// Rounds for so long.
    func run(outstanding: Int, seconds: Double) throws -> RoomResult {
        try rounds(outstanding: outstanding, seconds: seconds, deliveries: 0)
    }

    /// Rounds until there were so many deliveries, and for so long.
    func rounds(outstanding: Int, seconds: Double, deliveries: Int) throws -> RoomResult {
        var result = RoomResult()
        let start = MonotonicClock.now()
        let end = start.advanced(byNanoseconds: UInt64(seconds * 1e9))
        let cpu = CPUUsage.ofThread().totalNanoseconds
        let perRound = shape.deliveries * outstanding
        repeat {
            for _ in 0..<outstanding {
                sequence &+= 1
                for (session, stream) in publishers { send(.audio, session, stream) }
            }
            let target = sessions.framesReceived + perRound
            try sessions.wait("a round of frames") { sessions.framesReceived >= target }
            result.deliveries += perRound
            result.rounds += 1
        } while MonotonicClock.now() < end || result.deliveries < deliveries
        result.wallSeconds = Double(MonotonicClock.now().nanoseconds(since: start)) / 1e9
        result.generatorSeconds = Double(CPUUsage.ofThread().totalNanoseconds - cpu) / 1e9
        return result
    }

    func send(_ kind: MediaKind, _ session: ClientSession, _ stream: StreamID) {
        let header = MediaHeader(kind: kind, stream: stream, sequence: sequence, timestamp: sequence &* 960)
        let payload = payload
        unsafe session.sendFrame(header, payload: payload.span.bytes)
    }
}
