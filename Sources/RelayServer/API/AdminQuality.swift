import RelayRooms
import Signalling

/// Where one session's frames went, in all rooms that it was in.
struct AdminFrames: Codable, Sendable, Equatable {
    let entered: UInt64
    let delivered: UInt64
    let expired: UInt64
    let superseded: UInt64
    let unsubscribed: UInt64
    let interrupted: UInt64
    let refused: UInt64
    let pending: UInt64

    init(_ account: FrameAccount) {
        entered = account.entered
        delivered = account.delivered
        expired = account.expired
        superseded = account.superseded
        unsubscribed = account.unsubscribed
        interrupted = account.interrupted
        refused = account.refused
        pending = account.entered &- account.delivered &- account.dropped
    }
}

/// What a session has reported of a stream that it receives.
struct AdminReport: Codable, Sendable, Equatable {
    let stream: UInt32
    let received: UInt64
    let played: UInt64
    let concealed: UInt64
    let late: UInt64
    let concealedShare: Double
    let lateShare: Double
    let bufferMilliseconds: Double?
    let jitterMilliseconds: Double?
    let bitrate: Double?

    init(_ stream: UInt32, _ totals: ReceiverTotals, _ reception: Reception) {
        self.stream = stream
        received = totals.received
        played = totals.played
        concealed = totals.concealed
        late = totals.late
        concealedShare = reception.concealedShare
        lateShare = reception.lateShare
        bufferMilliseconds = reception.bufferMilliseconds
        jitterMilliseconds = reception.jitterMilliseconds
        bitrate = reception.bitsPerSecond
    }
}

/// A room's streams as its home knows them, and the loops of their publishers.
struct AdminStreamPart: Sendable {
    let room: RoomNumber
    let streams: [RelayMessage.StreamInfo]
    let loops: [Int]
    /// By stream.
    var buffers: [UInt32: [AdminBuffer]] = [:]
}

/// A stream as administrators see it: as everybody does, and how its receivers have it.
struct AdminStream: Encodable, Sendable {
    let info: RelayMessage.StreamInfo
    var reception: RelayMessage.StreamQuality?
    /// The relay's own jitter buffers of it; `nil`: there are none.
    var buffers: [AdminBuffer]?

    private enum Key: String, CodingKey {
        case reception
        case buffers
    }

    func encode(to encoder: any Encoder) throws {
        try info.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encodeIfPresent(reception, forKey: .reception)
        try container.encodeIfPresent(buffers, forKey: .buffers)
    }
}

extension AdminSession {
    /// What heartbeats and time exchanges have told; numbers to a thousandth.
    mutating func add(_ liveness: ChannelLiveness) {
        roundTripMilliseconds = liveness.roundTrip.smoothedMilliseconds.map(Self.thousandths)
        roundTripMillisecondsMin = liveness.roundTrip.millisecondsMin.map(Self.thousandths)
        guard let clock = liveness.clock.estimate else { return }
        clockOffsetMilliseconds = Self.thousandths(clock.offsetMilliseconds)
        clockDriftPPM = clock.driftPPM.map(Self.thousandths)
        clockUncertaintyMilliseconds = Self.thousandths(clock.uncertaintyMilliseconds)
    }

    /// What the kernel has told of the connection, once it was asked.
    mutating func add(_ flow: ConnectionFlow) {
        guard flow.baseRoundTripMicroseconds > 0 else { return }
        bitrate = flow.bitsPerSecond
        congested = flow.isCongested
        notSentBytes = flow.notSentBytes
        tcpRoundTripMilliseconds = Double(flow.baseRoundTripMicroseconds) / 1_000
    }

    private static func thousandths(_ value: Double) -> Double { (value * 1_000).rounded() / 1_000 }
}
