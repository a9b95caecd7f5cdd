import MediaProtocol
import RelayBase
import Signalling

/// The first frame of a stream since its media began to flow again, or one that says that it does not go on from the one before.
struct MediaStart: Encodable, Equatable {
    var stream: UInt32
    var kind: String
    var key: Bool
    var discontinuity: Bool
    /// Its configuration came before it, since media began to flow.
    var configured: Bool
    /// From its capture to its arrival, where the publisher says when it was captured and the clocks agree.
    var ageMilliseconds: Double?
    /// Since the stream's frame before it; absent: there was none.
    var silenceMilliseconds: Double?
}

/// What comes of media, held against what should: nothing while the session is interrupted, inactive, paused or cut off. Pure.
struct MediaWatch {
    enum Finding: Equatable {
        case nothing
        case start(MediaStart)
        /// Media that should not have come; whether it is the first since media stopped.
        case unexpected(isFirst: Bool)
    }

    private enum Phase {
        case flowing
        /// Something that lets media flow is under way: its first frames may be faster than the word of it.
        case opening
        case held
    }

    private struct Stream {
        let id: UInt32
        let kind: StreamKind
        /// Held by itself, whatever the session does.
        var isStopped = false
        var isFresh = true
        var isConfigured = false
        var lastFrame: MonotonicInstant?
    }

    /// Of media.
    private(set) var frames: UInt64 = 0
    /// Of decoders; they are frames on the wire, but nothing is heard or seen of them.
    private(set) var configurations: UInt64 = 0
    /// Of both: what is held gets neither.
    private(set) var unexpectedFrames: UInt64 = 0
    /// Since media last began to flow.
    private(set) var starts: [MediaStart] = []
    private var streams: [Stream] = []
    private var phase = Phase.flowing
    private var hasToldUnexpected = false
    private var lastFrame: MonotonicInstant?

    /// Streams that are remembered: a room has fewer.
    private static let streamsMax = 4_096
    private static let startsMax = 4_096

    // MARK: Streams

    mutating func add(_ id: UInt32, _ kind: StreamKind) {
        guard !streams.contains(where: { $0.id == id }), streams.count < Self.streamsMax else { return }
        streams.append(Stream(id: id, kind: kind))
    }

    mutating func remove(_ id: UInt32) {
        streams.removeAll { $0.id == id }
    }

    /// Streams whose first frame has not come since media began to flow.
    var awaited: Int { streams.count { $0.isFresh && !$0.isStopped } }

    func newest(_ kind: StreamKind) -> UInt32? { streams.last { $0.kind == kind }?.id }

    func isStopped(_ id: UInt32) -> Bool { streams.contains { $0.id == id && $0.isStopped } }

    /// One stream alone goes on, or does not.
    mutating func setStopped(_ id: UInt32, _ isStopped: Bool) {
        guard let place = streams.firstIndex(where: { $0.id == id }), streams[place].isStopped != isStopped else { return }
        streams[place].isStopped = isStopped
        if !isStopped { freshen(place) }
    }

    private mutating func freshen(_ place: Int) {
        streams[place].isFresh = true
        streams[place].isConfigured = false
    }

    // MARK: Phases

    /// Nothing is to come from now on.
    ///
    /// - Returns: nanoseconds since the last frame; `nil` when nothing flowed anyway, or nothing has ever come.
    mutating func hold(now: MonotonicInstant) -> UInt64? {
        guard phase != .held else { return nil }
        // What was about to begin, and did not, has not stopped.
        let hasFlowed = phase == .flowing || !starts.isEmpty
        phase = .held
        hasToldUnexpected = false
        return hasFlowed ? lastFrame.map { now.nanoseconds(since: $0) } : nil
    }

    /// What was asked for may bring media.
    mutating func open() {
        guard phase == .held else { return }
        phase = .opening
        begin()
    }

    mutating func flow() {
        if phase == .held { begin() }
        phase = .flowing
    }

    private mutating func begin() {
        starts.removeAll()
        for place in streams.indices { freshen(place) }
    }

    // MARK: Frames

    mutating func take(_ header: MediaHeader, age ageMilliseconds: Double?, now: MonotonicInstant) -> Finding {
        if header.kind == .configuration { configurations &+= 1 } else { frames &+= 1 }
        guard let place = streams.firstIndex(where: { $0.id == header.stream.rawValue }) else { return .nothing }
        if phase == .held || streams[place].isStopped {
            unexpectedFrames &+= 1
            defer { hasToldUnexpected = true }
            return .unexpected(isFirst: !hasToldUnexpected)
        }
        if header.kind == .configuration {
            streams[place].isConfigured = true
            return .nothing
        }
        let silence = streams[place].lastFrame.map { Double(now.nanoseconds(since: $0)) / 1e6 }
        streams[place].lastFrame = now
        lastFrame = now
        // In the middle of what flows, a discontinuity is a new beginning as well.
        guard streams[place].isFresh || header.flags.contains(.discontinuity) else { return .nothing }
        streams[place].isFresh = false
        let start = MediaStart(
            stream: streams[place].id, kind: streams[place].kind.rawValue, key: header.flags.contains(.key),
            discontinuity: header.flags.contains(.discontinuity), configured: streams[place].isConfigured, ageMilliseconds: ageMilliseconds,
            silenceMilliseconds: silence)
        if starts.count < Self.startsMax { starts.append(start) }
        return .start(start)
    }
}

extension NTPTime {
    /// Milliseconds from this instant to a Unix time; `nil` when they are a day apart: then the clocks do not agree.
    func milliseconds(untilUnixMilliseconds unixMilliseconds: UInt64) -> Double? {
        let other = NTPTime(unixSeconds: unixMilliseconds / 1_000, nanoseconds: UInt32(unixMilliseconds % 1_000) * 1_000_000)
        let difference = Double(Int64(bitPattern: other.rawValue &- rawValue)) / 4_294_967_296 * 1_000
        return abs(difference) < 86_400_000 ? difference : nil
    }
}
