import MediaProtocol
import Reactor
import RelayBase
import RelayClient

/// One encoding of a synthetic stream.
struct SyntheticLayer {
    var frameBytes: Int
    var keyFrameBytes: Int

    /// Video of a bit rate, with key frames as large as `keyFactor` frames.
    static func video(bitsPerSecond: Double, framesPerSecond: Double, keyFactor: Double = 5) -> SyntheticLayer {
        let bytes = Int(bitsPerSecond / 8 / framesPerSecond)
        return SyntheticLayer(frameBytes: bytes, keyFrameBytes: Int(Double(bytes) * keyFactor))
    }
}

/// Frames with right headers and random payloads, at their times. Key frames come when they are asked for, and every so often where that is wanted.
struct SyntheticStream {
    let kind: MediaKind
    let stream: StreamID
    let intervalNanoseconds: UInt64
    let ticksPerFrame: UInt32
    let layers: [SyntheticLayer]
    /// Frames from one key frame to the next; `nil`: only on request.
    let keyEvery: Int?
    /// The spatial layers that somebody wants.
    private(set) var activeLayers: Set<UInt8>
    private(set) var nextDue: MonotonicInstant
    private(set) var sequence: UInt32 = 0
    private(set) var framesRefused = 0
    private var ticks: UInt32 = 0
    private var frameNumber = 0
    private var keysWanted: Set<UInt8>

    init(
        kind: MediaKind, stream: UInt32, framesPerSecond: Double, layers: [SyntheticLayer], keyEvery: Int? = nil, start: MonotonicInstant
    ) {
        self.kind = kind
        self.stream = StreamID(stream)
        intervalNanoseconds = UInt64(1e9 / framesPerSecond)
        ticksPerFrame = UInt32((kind == .audio ? 48_000 : 90_000) / framesPerSecond)
        self.layers = layers
        self.keyEvery = keyEvery
        let all = Set((0..<layers.count).map { UInt8($0) })
        activeLayers = all
        keysWanted = kind == .video ? all : []
        nextDue = start
    }

    /// Encodes these layers from now on, those that come anew from a key frame on.
    mutating func activate(_ wanted: Set<UInt8>) {
        let known = wanted.filter { Int($0) < layers.count }
        keysWanted.formUnion(known.subtracting(activeLayers))
        activeLayers = known
    }

    /// - Parameter layer: `nil`: of every layer.
    mutating func requestKey(_ layer: UInt8?) {
        if let layer, Int(layer) < layers.count { keysWanted.insert(layer) } else { keysWanted.formUnion((0..<layers.count).map { UInt8($0) }) }
    }

    /// Sends what is due. Frames that the session has no room for are counted and lost, as with a real encoder.
    mutating func work(_ session: ClientSession, _ payloads: RandomPayloads, now: MonotonicInstant) {
        while nextDue <= now {
            nextDue = nextDue.advanced(byNanoseconds: intervalNanoseconds)
            if let keyEvery, frameNumber.isMultiple(of: keyEvery) { keysWanted = activeLayers }
            for layer in 0..<UInt8(layers.count) where activeLayers.contains(layer) { send(layer, session, payloads) }
            frameNumber += 1
            ticks &+= ticksPerFrame
        }
    }

    private mutating func send(_ layer: UInt8, _ session: ClientSession, _ payloads: RandomPayloads) {
        let isKey = kind == .video && keysWanted.contains(layer)
        let plan = layers[Int(layer)]
        let header = MediaHeader(
            kind: kind, flags: isKey ? .key : [], layer: MediaLayer(spatial: layer, temporal: 0),
            level: kind == .audio ? AudioLevel(voice: true, minusDecibelsOverload: 20) : .silent, stream: stream, sequence: sequence,
            timestamp: ticks)
        sequence &+= 1
        let payload = payloads.stamped(isKey ? plan.keyFrameBytes : plan.frameBytes)
        if unsafe session.sendFrame(header, payload: payload.span.bytes) {
            if isKey { keysWanted.remove(layer) }
        } else {
            framesRefused += 1
        }
    }
}

/// Bytes that do not compress, behind the present instant.
final class RandomPayloads {
    private static let bytesMax = 1 << 20
    private let bytes: [UInt8]

    init(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        bytes = (0..<Self.bytesMax / 8).flatMap { _ in
            let word = generator.next()
            return (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) }
        }
    }

    func stamped(_ count: Int) -> [UInt8] {
        var payload = Array(bytes[..<max(count, Reception.stampBytes)])
        let now = MonotonicClock.now().nanoseconds
        for place in 0..<Reception.stampBytes { payload[place] = UInt8(truncatingIfNeeded: now >> UInt64(56 - 8 * place)) }
        return payload
    }
}
