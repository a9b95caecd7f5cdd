import MediaProtocol
import RelayBase

/// One spatial layer of a stream on one loop: what a late joiner is given of it, how much of it comes, and how many want it.
struct LayerState: ~Copyable {
    /// The framed configuration message.
    var configuration = ByteQueue()
    /// The place in the log from which on frames need ``configuration``; those before it need the one before.
    var configuredFrom: UInt64 = 0
    /// The last frame of the configuration before that: whoever has a later one has ``configuration``. `nil`: none came before it.
    var configuredAfter: UInt32?
    var group = GroupCache()
    var governor = KeyFrameGovernor()
    var meter = LayerMeter()
    var position = StreamPosition()
    /// Frames appended since the slot was taken, of temporal layers up to the index: what ``FrameAccount/entered`` is made of.
    private(set) var appended = InlineArray<8, UInt64>(repeating: 0)
    /// Subscribers that get the layer, and that are to get it at its next key frame, by their temporal bound.
    var chosen = LayerVotes()
    var targeted = LayerVotes()
    /// Subscribers that are to begin with it at once when their stream is released.
    var primed = LayerVotes()
    /// What the publisher said in `publish`: bits a second of all temporal layers, and how many there are.
    var declaredBitsPerSecond: Int?
    var declaredTemporalLayers = 1
    var demand = LayerDemand()
    /// Somebody who is no subscriber here needs a key frame.
    var outsideNeed = OutsideNeed.none

    enum OutsideNeed {
        case none
        /// It says so again as long as it holds.
        case once
        case untilKeyFrame
    }

    init() {}

    mutating func declare(_ layer: LayerDeclaration) {
        declaredBitsPerSecond = layer.bitsPerSecond
        declaredTemporalLayers = layer.temporalLayers
    }

    mutating func countAppended(temporal: Int) {
        for bound in temporal..<8 { appended[bound] &+= 1 }
    }

    /// The highest temporal layer that somebody here gets or is to get; `nil`: nobody.
    var wanted: Int? {
        var bound = chosen.highest
        if let targeted = targeted.highest { bound = max(bound ?? 0, targeted) }
        if let primed = primed.highest { bound = max(bound ?? 0, primed) }
        return bound
    }

    /// Temporal layers that there are, as far as is known.
    var temporalLayers: Int { max(declaredTemporalLayers, meter.temporalSeen + 1) }

    /// Bits a second of the temporal layers up to a bound: as measured, else as declared, taken to be spread evenly; `nil`: nothing is known.
    func bitsPerSecond(upTo temporal: Int) -> Int? {
        if let measured = meter.bitsPerSecond(upTo: temporal) { return measured }
        return declaredBitsPerSecond.map { $0 * min(temporal + 1, temporalLayers) / temporalLayers }
    }

    func isSameConfiguration(_ frame: UnsafeRawBufferPointer) -> Bool {
        unsafe LayerState.payload(configuration).elementsEqual(frame.dropFirst(MediaHeader.byteCount)) && !configuration.isEmpty
    }

    /// Whether a decoder that has the other layer's configuration has this one's too.
    func hasSameConfiguration(as other: borrowing LayerState) -> Bool {
        unsafe LayerState.payload(configuration).elementsEqual(LayerState.payload(other.configuration))
    }

    private static func payload(_ message: borrowing ByteQueue) -> Slice<UnsafeRawBufferPointer> {
        guard !message.isEmpty else { return unsafe message.readable.dropFirst(0) }
        let header = unsafe MessageFraming.headerByteCount(ofMessage: message.readable)
        return unsafe message.readable.dropFirst(header + MediaHeader.byteCount)
    }
}

/// How many subscribers have a layer, by temporal bound.
struct LayerVotes {
    private var counts = InlineArray<8, UInt32>(repeating: 0)
    private(set) var highest: Int?

    mutating func add(_ temporal: Int) {
        counts[temporal] += 1
        highest = max(highest ?? 0, temporal)
    }

    mutating func remove(_ temporal: Int) {
        precondition(counts[temporal] > 0, "a subscriber left a layer that it did not have")
        counts[temporal] -= 1
        while let bound = highest, counts[bound] == 0 { highest = bound > 0 ? bound - 1 : nil }
    }
}

/// Whether a publisher that was told that a layer is wanted sends it.
struct LayerDemand {
    /// A publisher that sends nothing of a wanted layer for so long is taken not to have it,
    private static let patienceMilliseconds: UInt64 = 3_000
    /// and for so long nobody is given it in vain.
    private static let absenceMilliseconds: UInt64 = 30_000

    private var wantedSince: MonotonicInstant?
    private var absentUntil: MonotonicInstant?

    /// - Parameter isSilent: nothing of the layer comes, though other layers of the stream do.
    mutating func look(isWanted: Bool, isSilent: Bool, now: MonotonicInstant) {
        guard isSilent else {
            absentUntil = nil
            wantedSince = isWanted ? now : nil
            return
        }
        guard isWanted else {
            wantedSince = nil
            return
        }
        let since = wantedSince ?? now
        wantedSince = since
        if now.milliseconds(since: since) >= LayerDemand.patienceMilliseconds {
            absentUntil = now.advanced(byMilliseconds: LayerDemand.absenceMilliseconds)
        }
    }

    func isAbsent(_ now: MonotonicInstant) -> Bool {
        absentUntil.map { now < $0 } ?? false
    }
}

/// A stream's spatial layers, as many as were declared or seen: worked on in place.
@safe
struct LayerTable: ~Copyable {
    private var elements: UnsafeMutablePointer<LayerState>
    private(set) var count: Int

    init(count: Int) {
        self.count = max(count, 1)
        unsafe elements = .allocate(capacity: self.count)
        for index in 0..<self.count { unsafe (elements + index).initialize(to: LayerState()) }
    }

    deinit {
        unsafe elements.deinitialize(count: count)
        unsafe elements.deallocate()
    }

    subscript(spatial: Int) -> LayerState {
        unsafeAddress {
            precondition(spatial >= 0 && spatial < count, "a layer was read that the stream does not have")
            return unsafe UnsafePointer(elements + spatial)
        }
        unsafeMutableAddress {
            precondition(spatial >= 0 && spatial < count, "a layer was written that the stream does not have")
            return unsafe elements + spatial
        }
    }

    /// Makes room for layers up to `spatial`; they are few, and stay.
    mutating func grow(upTo spatial: Int) {
        guard spatial >= count else { return }
        let grown = UnsafeMutablePointer<LayerState>.allocate(capacity: spatial + 1)
        unsafe grown.moveInitialize(from: elements, count: count)
        for index in count...spatial { unsafe (grown + index).initialize(to: LayerState()) }
        unsafe elements.deallocate()
        unsafe elements = grown
        count = spatial + 1
    }
}
