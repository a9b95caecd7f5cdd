package import MediaProtocol
import Signalling

/// A stream that a client publishes: when its frames are due, which of them are key frames, and in which layers they go.
///
/// Pure; times are nanoseconds of the machine's clock.
package struct PublishedStream {
    /// One frame that is to be sent.
    package struct Frame: Equatable {
        package var header: MediaHeader
        /// With the header.
        package var bytes: Int
    }

    package let plan: StreamPlan
    package let stream: StreamID
    package let kind: MediaKind
    package let intervalNanoseconds: UInt64
    private let ticksPerFrame: UInt32
    private let keyIntervalNanoseconds: UInt64?
    /// When the next frame is due.
    package private(set) var nextDue: UInt64
    /// Frames that were due so far.
    package private(set) var number: UInt32 = 0
    /// Since the beginning; silence counts too.
    private var ticks: UInt32 = 0
    private var nextKey: UInt64
    /// Of spatial layers, a bit each.
    private var wanted: UInt8
    private var keysWanted: UInt8
    private var sequences = [UInt32](repeating: 0, count: 8)

    /// - Precondition: the plan has 1 to 8 layers, and a positive rate.
    package init(_ plan: StreamPlan, stream: UInt32, start: UInt64) {
        precondition((1...8).contains(plan.layers.count) && plan.framesPerSecond > 0, "a plan that was read")
        self.plan = plan
        self.stream = StreamID(stream)
        kind =
            switch plan.kind {
            case .audio: .audio
            case .video: .video
            case .data: .data
            }
        intervalNanoseconds = UInt64(1e9 / plan.framesPerSecond)
        ticksPerFrame = UInt32((plan.kind == .video ? 90_000 : 48_000) / plan.framesPerSecond)
        keyIntervalNanoseconds = plan.keySeconds.map { UInt64($0 * 1e9) }
        nextDue = start
        nextKey = start
        wanted = UInt8(truncatingIfNeeded: (1 << plan.layers.count) - 1)
        keysWanted = plan.kind == .video ? wanted : 0
    }

    package var layerCount: Int { plan.layers.count }

    /// Encodes these layers from now on, those that come anew from a key frame on.
    package mutating func activate(_ layers: some Sequence<Int>) {
        var bits: UInt8 = 0
        for layer in layers where (0..<layerCount).contains(layer) { bits |= 1 << layer }
        keysWanted |= bits & ~wanted
        wanted = bits
    }

    /// - Parameter layer: `nil`: of every layer.
    package mutating func requestKey(_ layer: Int?) {
        guard kind == .video else { return }
        if let layer, (0..<layerCount).contains(layer) {
            keysWanted |= 1 << layer
        } else {
            keysWanted = UInt8(truncatingIfNeeded: (1 << layerCount) - 1)
        }
    }

    package func isWanted(_ layer: Int) -> Bool { wanted & (1 << layer) != 0 }

    /// The frame of a layer that is due at ``nextDue``.
    package func frame(_ layer: Int) -> Frame {
        let isKey = keysWanted & (1 << layer) != 0
        let plan = plan.layers[layer]
        let header = MediaHeader(
            kind: kind, flags: isKey ? .key : [], layer: MediaLayer(spatial: UInt8(layer), temporal: 0),
            level: kind == .audio ? AudioLevel(voice: true, minusDecibelsOverload: 20) : .silent, stream: stream, sequence: sequences[layer],
            timestamp: ticks)
        return Frame(header: header, bytes: isKey ? plan.keyBytes : plan.bytes)
    }

    /// The frame was sent. One that could not be is due all the same, and a key frame that was not sent is still wanted.
    package mutating func sent(_ layer: Int) {
        sequences[layer] &+= 1
        keysWanted &= ~(1 << layer)
    }

    /// Goes on to the next frame.
    package mutating func advance() {
        number &+= 1
        step(by: 1)
        if let keyIntervalNanoseconds, nextDue >= nextKey {
            if kind == .video { keysWanted |= wanted }
            nextKey = nextDue + keyIntervalNanoseconds
        }
    }

    /// Is silent: nothing is due before `time`.
    package mutating func skip(to time: UInt64) {
        guard time > nextDue else { return }
        step(by: (time - nextDue + intervalNanoseconds - 1) / intervalNanoseconds)
    }

    private mutating func step(by frames: UInt64) {
        nextDue += frames * intervalNanoseconds
        ticks &+= ticksPerFrame &* UInt32(truncatingIfNeeded: frames)
    }
}
