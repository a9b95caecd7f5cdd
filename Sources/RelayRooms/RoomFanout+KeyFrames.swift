package import RelayBase

/// A layer of a stream whose publisher is to be asked for a key frame.
package struct KeyFrameRequest: Hashable, Sendable {
    package let slot: StreamSlot
    package let spatial: Int
}

extension RoomFanout {
    /// A subscriber here needs a key frame of a layer.
    mutating func needKeyFrame(_ slot: StreamSlot, _ spatial: Int, atOnce: Bool = false) {
        guard streams[slot.index].endedAt == nil, spatial < streams[slot.index].layers.count else { return }
        if !streams[slot.index].layers[spatial].governor.isWanted { countNeeds(slot, 1) }
        streams[slot.index].layers[spatial].governor.want(atOnce: atOnce)
    }

    mutating func keyFrameCame(_ slot: StreamSlot, _ spatial: Int, byteCount: Int, now: MonotonicInstant) {
        if streams[slot.index].layers[spatial].governor.isWanted { countNeeds(slot, -1) }
        streams[slot.index].layers[spatial].governor.keyFrameCame(byteCount: byteCount, now: now)
        streams[slot.index].layers[spatial].outsideNeed = .none
    }

    mutating func cancelKeyFrames(_ slot: StreamSlot) {
        for spatial in 0..<streams[slot.index].layers.count { cancelKeyFrame(slot, spatial) }
    }

    private mutating func cancelKeyFrame(_ slot: StreamSlot, _ spatial: Int) {
        if streams[slot.index].layers[spatial].governor.isWanted { countNeeds(slot, -1) }
        streams[slot.index].layers[spatial].governor.cancel()
        streams[slot.index].layers[spatial].outsideNeed = .none
    }

    private mutating func countNeeds(_ slot: StreamSlot, _ change: Int) {
        streams[slot.index].keyFramesWanted += change
        keyFramesWanted += change
    }

    /// Asks for a key frame on behalf of somebody who is no subscriber here: another loop, a publisher that was muted, a client that lost what it had.
    ///
    /// - Parameters:
    ///   - spatial: the layer; without it, every layer that somebody gets.
    ///   - atOnce: however shortly ago the last was asked for.
    ///   - isRepeated: whoever needs it says so again as long as it does, so one request answers this.
    package mutating func wantKeyFrame(_ slot: StreamSlot, spatial: Int? = nil, atOnce: Bool = false, isRepeated: Bool = false) {
        guard streams.isLive(slot.index), streams[slot.index].lane == .video else { return }
        let count = streams[slot.index].layers.count
        for layer in 0..<count {
            guard spatial.map({ $0 == layer }) ?? (count == 1 || streams[slot.index].layers[layer].wanted != nil) else { continue }
            if streams[slot.index].layers[layer].outsideNeed != .untilKeyFrame {
                streams[slot.index].layers[layer].outsideNeed = isRepeated ? .once : .untilKeyFrame
            }
            needKeyFrame(slot, layer, atOnce: atOnce)
        }
    }

    /// The next layer whose publisher is to be asked for a key frame now: needs are merged, and ``KeyFrameGovernor`` says when.
    package mutating func nextKeyFrameRequest(now: MonotonicInstant) -> KeyFrameRequest? {
        guard keyFramesWanted > 0 else { return nil }
        let bounds = KeyFrameGovernor.Bounds(
            intervalMillisecondsMin: limits.keyFrameRequestMillisecondsMin, sharePercent: limits.keyFrameBitRateSharePercent)
        for index in 0..<streams.endIndex where streams.isLive(index) && streams[index].keyFramesWanted > 0 {
            for spatial in 0..<streams[index].layers.count {
                let rate = streams[index].layers[spatial].bitsPerSecond(upTo: LayerChoice.layersMax - 1) ?? 0
                guard streams[index].layers[spatial].governor.isDue(now: now, bounds, bitsPerSecond: rate) else { continue }
                let slot = StreamSlot(index)
                // Who needed it may have left, or have another layer by now: looked at once a request, not at each change.
                guard
                    streams[index].layers[spatial].outsideNeed != .none || hasNeed(slot, spatial) || isGroupAwaited(slot, spatial, now)
                else {
                    cancelKeyFrame(slot, spatial)
                    continue
                }
                streams[index].layers[spatial].governor.requested(now: now)
                if streams[index].layers[spatial].outsideNeed == .once { streams[index].layers[spatial].outsideNeed = .none }
                return KeyFrameRequest(slot: slot, spatial: spatial)
            }
        }
        return nil
    }

    private func hasNeed(_ slot: StreamSlot, _ spatial: Int) -> Bool {
        for index in 0..<subscribers.endIndex where subscribers.isLive(index) && slot.index < subscribers[index].interests.count {
            let interest = subscribers[index].interests[slot.index]
            guard interest.isWanted, !subscribers[index].isParked else { continue }
            if interest.awaitsKey, interest.layer.spatial == spatial { return true }
            if interest.target != interest.layer, interest.target.spatial == spatial { return true }
        }
        return false
    }
}
