package import RelayBase

/// What there is to choose of a stream, and what it costs.
extension RoomFanout {
    /// A layer whose rate nobody knows is taken to cost so much more than the one below it.
    private static let unknownStep = 3

    /// Measures a stream's layers anew: for the loop of its publisher, which sees all of them.
    ///
    /// - Parameter wanted: what anybody anywhere gets of it: a layer that is wanted and does not come is not offered for a while.
    /// - Returns: whether the ladder has changed.
    @discardableResult
    package mutating func surveyLayers(_ slot: StreamSlot, wanted: LayerSet, now: MonotonicInstant) -> Bool {
        let count = streams[slot.index].layers.count
        var flows = false
        for spatial in 0..<count { flows = flows || !streams[slot.index].layers[spatial].meter.isSilent(now) }
        for spatial in 0..<count {
            let isSilent = flows && streams[slot.index].layers[spatial].meter.isSilent(now)
            streams[slot.index].layers[spatial].demand.look(isWanted: wanted[spatial] != nil, isSilent: isSilent, now: now)
        }
        var ladder: [LayerOption] = []
        for spatial in 0..<count where !streams[slot.index].layers[spatial].demand.isAbsent(now) {
            guard spatial < declaredLayers(slot) || streams[slot.index].layers[spatial].meter.lastArrival != nil else { continue }
            appendRungs(of: spatial, slot, to: &ladder)
        }
        guard ladder != streams[slot.index].ladder else { return false }
        streams[slot.index].ladder = ladder
        return true
    }

    /// Takes over what the publisher's loop has measured.
    package mutating func setLadder(_ slot: StreamSlot, _ ladder: [LayerOption]) {
        streams[slot.index].ladder = ladder
    }

    private func declaredLayers(_ slot: StreamSlot) -> Int { streams[slot.index].declaredLayers }

    private func appendRungs(of spatial: Int, _ slot: StreamSlot, to ladder: inout [LayerOption]) {
        let temporalLayers = min(streams[slot.index].layers[spatial].temporalLayers, LayerChoice.layersMax)
        let below = ladder.last?.bitsPerSecond ?? 0
        // Of the base, frames can be left out one temporal layer at a time; upper layers are had whole.
        for temporal in (ladder.isEmpty ? 0 : temporalLayers - 1)..<temporalLayers {
            let rate = streams[slot.index].layers[spatial].bitsPerSecond(upTo: temporal) ?? below * RoomFanout.unknownStep
            let isWhole = temporal == temporalLayers - 1
            ladder.append(
                LayerOption(
                    spatial: spatial, temporal: isWhole ? LayerChoice.layersMax - 1 : temporal,
                    bitsPerSecond: max(rate, ladder.last?.bitsPerSecond ?? 0)))
        }
    }

    /// The highest temporal layer that there is in a spatial layer, as far as is known.
    package func highestTemporal(_ slot: StreamSlot, _ spatial: Int) -> Int {
        guard spatial < streams[slot.index].layers.count else { return 0 }
        return min(streams[slot.index].layers[spatial].temporalLayers, LayerChoice.layersMax) - 1
    }

    package func hasSpatialLayers(_ slot: StreamSlot) -> Bool { streams[slot.index].layers.count > 1 }

    /// Every layer that the stream has.
    package func allLayers(_ slot: StreamSlot) -> LayerSet {
        var set = LayerSet()
        for spatial in 0..<streams[slot.index].layers.count { set[spatial] = LayerChoice.layersMax - 1 }
        return set
    }

    /// Bits a second that a subscriber is due of audio and data: what goes before its video, or beside it.
    package func reservedBitsPerSecond(_ subscriber: Int) -> Int {
        var sum = 0
        for slot in subscribers[subscriber].interests.indices
        where isSubscribed(subscriber, StreamSlot(slot)) && streams[slot].lane != .video && !subscribers[subscriber].interests[slot].isHeld {
            sum += streams[slot].layers[0].bitsPerSecond(upTo: LayerChoice.layersMax - 1) ?? 0
        }
        return sum
    }

    /// Whether any stream has layers to choose from.
    package var hasLayers: Bool {
        (0..<streams.endIndex).contains { streams.isLive($0) && streams[$0].endedAt == nil && streams[$0].isLayered }
    }

    package var hasVideo: Bool { laneStreams[.video] > 0 }

    /// A subscriber's video streams, with what it wishes of them.
    package func videoStreams(_ subscriber: Int, priority: (StreamSlot) -> Int) -> [LayerChooser.Stream] {
        var list: [LayerChooser.Stream] = []
        for index in subscribers[subscriber].interests.indices where isSubscribed(subscriber, StreamSlot(index)) {
            guard streams[index].lane == .video, streams[index].endedAt == nil, !subscribers[subscriber].interests[index].isHeld else { continue }
            let slot = StreamSlot(index)
            list.append(
                LayerChooser.Stream(
                    slot: slot, priority: priority(slot), wishes: subscribers[subscriber].interests[index].wishes, ladder: streams[index].ladder))
        }
        return list
    }

    /// What a subscriber wishes of a stream, from now on.
    package mutating func setLayerWishes(_ subscriber: Int, _ slot: StreamSlot, _ wishes: LayerWishes) {
        guard isSubscribed(subscriber, slot) else { return }
        subscribers[subscriber].interests[slot.index].wishes = wishes
        setDelayMax(subscriber, slot, milliseconds: wishes.delayMillisecondsMax)
    }

    package func layerWishes(_ subscriber: Int, _ slot: StreamSlot) -> LayerWishes {
        isSubscribed(subscriber, slot) ? subscribers[subscriber].interests[slot.index].wishes : LayerWishes()
    }

    /// Forgets groups that are too old to be given to anybody.
    mutating func forgetOldGroups(_ now: MonotonicInstant) {
        for index in 0..<streams.endIndex where streams.isLive(index) && streams[index].lane == .video {
            for spatial in 0..<streams[index].layers.count
            where !streams[index].layers[spatial].group.isFresh(now, millisecondsMax: limits.gopCacheMillisecondsMax) {
                streams[index].layers[spatial].group.forget(budget)
            }
        }
    }
}
