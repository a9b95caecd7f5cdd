import RelayBase

/// One stream in one loop's fan-out of its room: who sends it, and its spatial layers, one at least.
package struct StreamState: ~Copyable {
    package let id: UInt32
    package let publisher: ParticipantID
    package let lane: Lane
    /// Its frames are the relay's own work: a published stream through a buffer, or a room's mix. It is found by no stream identifier, since a published stream
    /// may have the same.
    package let isDerived: Bool
    /// Set when the stream ended; the slot is free again once the log has let go of everything before this sequence.
    var endedAt: UInt64?
    var layers: LayerTable
    /// Layers that the publisher announced.
    let declaredLayers: Int
    package internal(set) var subscribers = 0
    /// Subscribers that have other layers than they are to have, and change at a key frame.
    var changesPending = 0
    /// What those of its subscribers can play that hear it now.
    var hearers = AudioVotes()
    /// Layers that somebody needs a key frame of.
    var keyFramesWanted = 0
    /// What may be chosen of the stream, lowest first: ``RoomFanout/surveyLayers(_:now:)``.
    package internal(set) var ladder: [LayerOption] = []

    init(id: UInt32, publisher: ParticipantID, lane: Lane, layers: Int, isDerived: Bool) {
        self.id = id
        self.isDerived = isDerived
        self.publisher = publisher
        self.lane = lane
        self.layers = LayerTable(count: lane == .video ? layers : 1)
        declaredLayers = lane == .video ? layers : 0
    }

    /// Whether there is something to choose.
    package var isLayered: Bool { layers.count > 1 || layers[0].temporalLayers > 1 }

    var groupBytes: Int {
        var sum = 0
        for spatial in 0..<layers.count { sum += layers[spatial].group.byteCount }
        return sum
    }

    /// Keeps what a late joiner needs: the configuration, and of video everything from the last key frame on.
    ///
    /// - Parameters:
    ///   - next: the frame's place in the log, if it comes there.
    ///   - start: when it came to the relay.
    mutating func cache(
        _ frame: UnsafeRawBufferPointer, traits: FrameTraits, next: UInt64, since start: MonotonicInstant, limits: Limits, budget: ByteBudget,
        now: MonotonicInstant
    ) {
        let spatial = traits.spatial
        if traits.contains(.configuration) {
            // Frames of the old configuration are of no use with the new one; said again unchanged, it leaves them good.
            if unsafe !layers[spatial].isSameConfiguration(frame) {
                for layer in 0..<layers.count where layer == spatial || configured(layer) == spatial { layers[layer].group.forget(budget) }
                layers[spatial].configuredFrom = next
                layers[spatial].configuredAfter = layers[spatial].position.isKnown ? layers[spatial].position.sequence : nil
            }
            layers[spatial].configuration.removeAll()
            unsafe MessageFraming.append(frame, to: &layers[spatial].configuration)
            return
        }
        guard lane == .video else { return }
        // The bound is the stream's: a layer may have what the others leave.
        let others = layers.count == 1 ? 0 : groupBytes - layers[spatial].group.byteCount
        unsafe layers[spatial].group.add(
            frame, isKey: traits.contains(.key), since: start, now: now, bytesMax: limits.gopCacheBytesMax - others,
            millisecondsMax: limits.gopCacheMillisecondsMax, budget: budget)
    }

    /// The layer whose configuration holds for a layer: its own, or that of layer 0 when it has none.
    func configured(_ spatial: Int) -> Int {
        layers[spatial].configuration.isEmpty ? 0 : spatial
    }

    mutating func forgetGroups(_ budget: ByteBudget) {
        for spatial in 0..<layers.count { layers[spatial].group.forget(budget) }
    }

    /// Frames appended that a choice of layers has.
    func appended(_ choice: LayerChoice) -> UInt64 {
        choice.isNone || choice.spatial >= layers.count ? 0 : layers[choice.spatial].appended[choice.temporal]
    }

    /// What subscribers here get or are to get.
    var wanted: LayerSet {
        var set = LayerSet()
        for spatial in 0..<layers.count { set[spatial] = layers[spatial].wanted }
        return set
    }
}
