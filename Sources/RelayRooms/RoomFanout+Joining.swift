import MediaProtocol
package import RelayBase

/// What somebody is given who comes to a stream: the configuration, what is cached since the last key frame, then the live edge.
extension RoomFanout {
    /// Gives a subscriber layers of a stream of which it has none: those of the choice, or until their next key frame a lower spatial layer that can be shown at once.
    ///
    /// - Returns: whether something of what a decoder needs to start is cached; if not, a key frame is wanted.
    @discardableResult
    mutating func begin(_ subscriber: Int, _ slot: StreamSlot, _ choice: LayerChoice, now: MonotonicInstant) -> Bool {
        let lane = streams[slot.index].lane
        subscribers[subscriber].interests[slot.index].from = self[lane].next
        subscribers[subscriber].interests[slot.index].since = self[lane].next
        subscribers[subscriber].interests[slot.index].changedAt = 0
        subscribers[subscriber][lane].plainFrom = self[lane].next
        let start = startingLayer(slot, choice, now: now)
        setLayer(subscriber, slot, start)
        guard !start.isNone else { return false }
        if start != choice { needKeyFrame(slot, choice.spatial) }
        let configured = streams[slot.index].configured(start.spatial)
        let configurationBytes = streams[slot.index].layers[configured].configuration.count
        let group = isFresh(slot, start.spatial, now: now) ? measure(slot, start) : (byteCount: 0, frames: 0)
        // A client that subscribes again and again without reading is given no second copy.
        let hasRoom =
            subscribers[subscriber][lane].prelude.count + group.byteCount <= limits.gopCacheBytesMax
            && budget.take(configurationBytes + group.byteCount)
        if configurationBytes > 0 {
            if hasRoom {
                unsafe givePrelude(subscriber, lane, streams[slot.index].layers[configured].configuration.readable, frames: 1)
            } else {
                subscribers[subscriber].interests[slot.index].owesFrom = 0
                subscribers[subscriber].setTrouble(slot, lane: lane, owesConfiguration: true)
            }
        }
        guard lane == .video else { return true }
        guard hasRoom, group.frames > 0 else {
            subscribers[subscriber].setTrouble(slot, lane: lane, awaitsKey: true)
            needKeyFrame(slot, start.spatial)
            return false
        }
        let place = subscribers[subscriber][lane].prelude.count
        giveGroup(subscriber, slot, start, frames: group.frames)
        if subscribers[subscriber].interests[slot.index].owesDiscontinuity { markDiscontinuity(subscriber, slot, preludeAt: place) }
        subscribers[subscriber].setTrouble(slot, lane: lane, awaitsKey: false)
        subscribers[subscriber][lane].preludeHoldsGroup = true
        subscribers[subscriber].interests[slot.index].countsFrom = .distantFuture
        return true
    }

    private func startingLayer(_ slot: StreamSlot, _ choice: LayerChoice, now: MonotonicInstant) -> LayerChoice {
        guard streams[slot.index].lane == .video, !choice.isNone, !isFresh(slot, choice.spatial, now: now) else { return choice }
        for spatial in stride(from: choice.spatial - 1, through: 0, by: -1) where isFresh(slot, spatial, now: now) {
            return LayerChoice(spatial: spatial, temporal: choice.temporal)
        }
        return choice
    }

    func isFresh(_ slot: StreamSlot, _ spatial: Int, now: MonotonicInstant) -> Bool {
        // A layer that is not being sent has a group of the past only.
        spatial < streams[slot.index].layers.count
            && (streams[slot.index].layers.count == 1 || !streams[slot.index].layers[spatial].meter.isSilent(now))
            && streams[slot.index].layers[spatial].group.isFresh(now, millisecondsMax: limits.gopCacheMillisecondsMax)
    }

    /// How much of a layer's group a choice has.
    private func measure(_ slot: StreamSlot, _ choice: LayerChoice) -> (byteCount: Int, frames: UInt64) {
        let layers = choice.spatial
        guard choice.temporal < streams[slot.index].layers[layers].meter.temporalSeen else {
            return (streams[slot.index].layers[layers].group.byteCount, streams[slot.index].layers[layers].group.frames)
        }
        var byteCount = 0
        var frames: UInt64 = 0
        unsafe MessageFraming.forEachFrame(streams[slot.index].layers[layers].group.readable) { frame in
            guard unsafe RoomFanout.isWithin(choice, frame) else { return }
            byteCount += MessageFraming.headerByteCount(payload: frame.count) + frame.count
            frames += 1
        }
        return (byteCount, frames)
    }

    private mutating func giveGroup(_ subscriber: Int, _ slot: StreamSlot, _ choice: LayerChoice, frames: UInt64) {
        let layers = choice.spatial
        if frames == streams[slot.index].layers[layers].group.frames {
            unsafe givePrelude(subscriber, .video, streams[slot.index].layers[layers].group.readable, frames: frames)
            return
        }
        var kept = ByteQueue()
        unsafe MessageFraming.forEachFrame(streams[slot.index].layers[layers].group.readable) { frame in
            if unsafe RoomFanout.isWithin(choice, frame) { unsafe MessageFraming.append(frame, to: &kept) }
        }
        unsafe givePrelude(subscriber, .video, kept.readable, frames: frames)
    }

    private static func isWithin(_ choice: LayerChoice, _ frame: UnsafeRawBufferPointer) -> Bool {
        guard let header = try? unsafe MediaHeader(parsing: frame) else { return false }
        return Int(header.layer.temporal) <= choice.temporal
    }

    private mutating func givePrelude(_ subscriber: Int, _ lane: Lane, _ messages: UnsafeRawBufferPointer, frames: UInt64) {
        unsafe subscribers[subscriber][lane].prelude.append(messages)
        subscribers[subscriber][lane].preludeFrames &+= frames
        subscribers[subscriber].account.entered &+= frames
    }

    // MARK: For other loops

    /// Copies of the frames that somebody is given first of a layer, oldest first: its configuration, then everything from the last key frame on. Copies, because
    /// whoever gets them may come back and change the room.
    ///
    /// - Parameter configured: the configuration is there already.
    package func cachedFrames(_ slot: StreamSlot, _ choice: LayerChoice, configured: Bool = false, now: MonotonicInstant) -> [[UInt8]] {
        guard !choice.isNone, choice.spatial < streams[slot.index].layers.count else { return [] }
        let configuration = configured ? [] : cachedConfiguration(slot, choice.spatial)
        guard isFresh(slot, choice.spatial, now: now) else { return configuration }
        let group = unsafe MessageFraming.frames(streams[slot.index].layers[choice.spatial].group.readable)
        return configuration + group.filter { frame in unsafe frame.withUnsafeBytes { unsafe RoomFanout.isWithin(choice, $0) } }
    }

    /// When the cached group of a layer began; now, without one.
    package func groupStart(_ slot: StreamSlot, _ spatial: Int, now: MonotonicInstant) -> MonotonicInstant {
        guard spatial < streams[slot.index].layers.count, !streams[slot.index].layers[spatial].group.isEmpty else { return now }
        return streams[slot.index].layers[spatial].group.startedAt
    }

    /// A copy of a layer's own configuration frame, if there is one.
    package func cachedConfiguration(_ slot: StreamSlot, _ spatial: Int) -> [[UInt8]] {
        guard spatial < streams[slot.index].layers.count else { return [] }
        return unsafe MessageFraming.frames(streams[slot.index].layers[spatial].configuration.readable)
    }

    /// Drops what is cached of a stream whose frames no longer come.
    package mutating func forgetCache(_ slot: StreamSlot) {
        streams[slot.index].forgetGroups(budget)
        for spatial in 0..<streams[slot.index].layers.count { streams[slot.index].layers[spatial].configuration.removeAll() }
    }

    /// Drops the cached group of one layer whose frames no longer come.
    package mutating func forgetPictures(_ slot: StreamSlot, spatial: Int) {
        guard streams.isLive(slot.index), spatial < streams[slot.index].layers.count else { return }
        streams[slot.index].layers[spatial].group.forget(budget)
    }

    /// Drops the cached groups of pictures: nobody who comes now is to see them.
    package mutating func forgetPictures(_ slot: StreamSlot) {
        guard streams.isLive(slot.index) else { return }
        streams[slot.index].forgetGroups(budget)
    }
}
