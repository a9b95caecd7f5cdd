import RelayBase

// A subscriber whose connection was lost and whose client may come back: its cursors stay where they are, and what grows old there is dropped as for anybody
// who lags. No publisher is asked for key frames on its behalf meanwhile.
extension RoomFanout {
    /// Nothing is pulled for the subscriber from now on. What was begun on the lost connection begins anew on the next.
    package mutating func park(_ subscriber: Int) {
        dropLeft(subscriber)
        subscribers[subscriber].isParked = true
        dropBegun(subscriber)
    }

    /// The subscriber has a connection again.
    ///
    /// - Parameter asksForKeyFrames: for the streams that have come to await one: when the subscriber goes on where it was, without a look at what its
    ///   client has (``rewind(_:_:after:now:)``).
    package mutating func unpark(_ subscriber: Int, asksForKeyFrames: Bool) {
        subscribers[subscriber].isParked = false
        askForChanges(subscriber)
        if asksForKeyFrames { askForKeyFrames(subscriber) }
    }

    /// Asks for what the subscriber's streams have come to await.
    mutating func askForKeyFrames(_ subscriber: Int) {
        subscribers[subscriber].asksWhenPulled = false
        for slot in subscribers[subscriber].interests.indices
        where subscribers[subscriber].interests[slot].isWanted && subscribers[subscriber].interests[slot].awaitsKey {
            let layer = subscribers[subscriber].interests[slot].layer
            if !layer.isNone { needKeyFrame(StreamSlot(slot), layer.spatial) }
        }
    }

    /// Layers that were to come with the next key frame still are; nobody has asked for that meanwhile.
    private mutating func askForChanges(_ subscriber: Int) {
        for slot in subscribers[subscriber].interests.indices where isSubscribed(subscriber, StreamSlot(slot)) {
            let interest = subscribers[subscriber].interests[slot]
            if interest.target != interest.layer, !interest.target.isNone { needKeyFrame(StreamSlot(slot), interest.target.spatial) }
        }
    }

    /// Whether the newest frame of a stream, a key frame that has just been appended, is one that the subscriber waits for.
    package func awaitsNewest(_ subscriber: Int, _ slot: StreamSlot) -> Bool {
        guard streams.isLive(slot.index), streams[slot.index].lane == .video, self[.video].count > 0 else { return false }
        let newest = self[.video].next &- 1
        let entry = self[.video][newest]
        return entry.slot == slot && isDue(subscriber, entry, newest) && subscribers[subscriber].interests[slot.index].awaitsKey
    }

    /// The media time between two frames of a stream without the length of the first, in ticks.
    package func gap(_ subscriber: Int, _ slot: StreamSlot, from mark: ReceivedMark, to next: ReceivedMark) -> StreamGapMeasure {
        StreamGapMeasure(frames: next.sequence &- mark.sequence &- 1, ticks: ticks(subscriber, slot, from: mark, to: next, measured: nil))
    }

    /// The sequence number of the last frame that came of a stream, for each of its spatial layers; `nil` where none has.
    package func lastSequences(of slot: StreamSlot) -> [UInt32?] {
        guard streams.isLive(slot.index) else { return [] }
        return (0..<streams[slot.index].layers.count).map { layer in
            streams[slot.index].layers[layer].position.isKnown ? streams[slot.index].layers[layer].position.sequence : nil
        }
    }
}
