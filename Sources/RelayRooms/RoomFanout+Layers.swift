import MediaProtocol
package import RelayBase

/// Which layers of a stream a subscriber gets, and how that changes without an undecodable frame or an unaccounted one.
extension RoomFanout {
    /// Says which layers a subscriber is to have of a video stream.
    ///
    /// Fewer temporal layers and none at all take effect at once; more of them, and another spatial layer, at that layer's next key frame, which is asked for.
    package mutating func setLayerTarget(_ subscriber: Int, _ slot: StreamSlot, _ choice: LayerChoice, now: MonotonicInstant) {
        guard isSubscribed(subscriber, slot), streams[slot.index].lane == .video, streams[slot.index].endedAt == nil else { return }
        guard !subscribers[subscriber].interests[slot.index].isHeld else {
            subscribers[subscriber].interests[slot.index].heldTarget = choice
            if !subscribers[subscriber].interests[slot.index].primed.isNone { setPrimed(subscriber, slot, choice) }
            return
        }
        let layer = subscribers[subscriber].interests[slot.index].layer
        guard choice != subscribers[subscriber].interests[slot.index].target || choice != layer else { return }
        if !choice.isNone { growLayers(slot, upTo: choice.spatial) }
        setTarget(subscriber, slot, choice)
        if choice == layer { return }
        if choice.isWithin(layer) {
            changeLayer(subscriber, slot, to: choice, beginsWithKey: false)
            if choice.isNone { subscribers[subscriber].setTrouble(slot, lane: .video, awaitsKey: false, owesConfiguration: false, brokenFrom: .max) }
        } else if layer.isNone, !subscribers[subscriber].interests[slot.index].hasBegun {
            begin(subscriber, slot, choice, now: now)
        } else {
            // After a pause too: from the cache, frames that came before would come again.
            needKeyFrame(slot, choice.spatial)
        }
    }

    /// The layers that a subscriber has, and those that it is to have.
    package func layers(_ subscriber: Int, _ slot: StreamSlot) -> (current: LayerChoice, target: LayerChoice) {
        guard isSubscribed(subscriber, slot) else { return (.none, .none) }
        return (subscribers[subscriber].interests[slot.index].layer, subscribers[subscriber].interests[slot.index].target)
    }

    /// What subscribers on this loop get of a stream, or are to get.
    package func wantedLayers(_ slot: StreamSlot) -> LayerSet {
        streams.isLive(slot.index) ? streams[slot.index].wanted : LayerSet()
    }

    package func isSubscribed(_ subscriber: Int, _ slot: StreamSlot) -> Bool {
        subscribers.isLive(subscriber) && slot.index < subscribers[subscriber].interests.count
            && subscribers[subscriber].interests[slot.index].isWanted
    }

    // MARK: Changes

    mutating func growLayers(_ slot: StreamSlot, upTo spatial: Int) {
        guard spatial >= streams[slot.index].layers.count else { return }
        streams[slot.index].layers.grow(upTo: spatial)
        for index in 0..<subscribers.endIndex where isSubscribed(index, slot) { refreshFilter(index, slot) }
    }

    /// A key frame of a layer is about to enter the log: whoever waits to change to that layer gets it from here on.
    mutating func changeLayers(_ slot: StreamSlot, atKeyFrameOf spatial: Int) {
        for index in 0..<subscribers.endIndex where isSubscribed(index, slot) {
            let interest = subscribers[index].interests[slot.index]
            guard interest.target != interest.layer, interest.target.spatial == spatial else { continue }
            changeLayer(index, slot, to: interest.target, beginsWithKey: true)
        }
    }

    /// A key frame of a layer comes from what another loop has cached: whoever was released, and has not seen the group, begins with it. Others go on where
    /// they are, not in the past.
    mutating func changeReleased(_ slot: StreamSlot, atKeyFrameOf spatial: Int, since start: MonotonicInstant, now: MonotonicInstant) {
        guard now.nanoseconds(since: start) <= deadlineNanoseconds(.video) else { return }
        for index in 0..<subscribers.endIndex where isSubscribed(index, slot) {
            let interest = subscribers[index].interests[slot.index]
            guard interest.owesDiscontinuity, interest.layer.isNone, interest.target.spatial == spatial, !interest.target.isNone,
                start > interest.heldSince
            else { continue }
            changeLayer(index, slot, to: interest.target, beginsWithKey: true)
        }
    }

    mutating func setTarget(_ subscriber: Int, _ slot: StreamSlot, _ choice: LayerChoice) {
        let before = subscribers[subscriber].interests[slot.index]
        if !before.target.isNone { streams[slot.index].layers[before.target.spatial].targeted.remove(before.target.temporal) }
        if !choice.isNone { streams[slot.index].layers[choice.spatial].targeted.add(choice.temporal) }
        subscribers[subscriber].interests[slot.index].target = choice
        countChange(slot, wasPending: before.target != before.layer, isPending: choice != before.layer)
    }

    private mutating func countChange(_ slot: StreamSlot, wasPending: Bool, isPending: Bool) {
        if wasPending != isPending { streams[slot.index].changesPending += isPending ? 1 : -1 }
    }

    /// Gives a subscriber other layers from the end of the log on.
    private mutating func changeLayer(_ subscriber: Int, _ slot: StreamSlot, to choice: LayerChoice, beginsWithKey: Bool) {
        settle(subscriber, slot)
        let before = subscribers[subscriber].interests[slot.index]
        let owed = before.owesConfiguration
        // What is queued of the old layer waits for a configuration that another layer's would take the place of.
        if beginsWithKey, owed { dropQueued(subscriber, slot) }
        setLayer(subscriber, slot, choice)
        let next = self[.video].next
        subscribers[subscriber].interests[slot.index].layerBefore = before.layer
        subscribers[subscriber].interests[slot.index].changedAt = next
        subscribers[subscriber].interests[slot.index].changeBeginsWithKey = beginsWithKey
        subscribers[subscriber][.video].plainFrom = next
        guard beginsWithKey, before.layer.spatial != choice.spatial else { return }
        let configured = streams[slot.index].configured(choice.spatial)
        guard !streams[slot.index].layers[configured].configuration.isEmpty else { return }
        if owed || before.layer.isNone || !hasConfiguration(of: before.layer.spatial, slot, like: configured) {
            oweConfiguration(subscriber, slot, from: next)
        }
    }

    /// Whether what decodes one layer decodes the configured other.
    private func hasConfiguration(of spatial: Int, _ slot: StreamSlot, like configured: Int) -> Bool {
        let own = streams[slot.index].configured(spatial)
        return own == configured || streams[slot.index].layers[own].hasSameConfiguration(as: streams[slot.index].layers[configured])
    }

    private mutating func oweConfiguration(_ subscriber: Int, _ slot: StreamSlot, from sequence: UInt64) {
        subscribers[subscriber].interests[slot.index].owesFrom = sequence
        subscribers[subscriber].setTrouble(slot, lane: .video, owesConfiguration: true)
    }

    /// A configuration of layer 0 came, which is that of every layer without one of its own.
    mutating func oweCommonConfiguration(_ slot: StreamSlot) {
        for index in 0..<subscribers.endIndex where isSubscribed(index, slot) {
            let layer = subscribers[index].interests[slot.index].layer
            guard !layer.isNone, layer.spatial != 0, streams[slot.index].configured(layer.spatial) == 0 else { continue }
            oweConfiguration(index, slot, from: self[.video].next)
        }
    }

    /// Notes the layers that a subscriber has, with everything that counts them.
    mutating func setLayer(_ subscriber: Int, _ slot: StreamSlot, _ choice: LayerChoice) {
        let before = subscribers[subscriber].interests[slot.index]
        subscribers[subscriber].account.entered &+= entered(before, slot)
        if !before.layer.isNone { streams[slot.index].layers[before.layer.spatial].chosen.remove(before.layer.temporal) }
        if !choice.isNone { streams[slot.index].layers[choice.spatial].chosen.add(choice.temporal) }
        countHearer(subscriber, slot, before: before.layer, after: choice)
        subscribers[subscriber].interests[slot.index].layer = choice
        if !choice.isNone { subscribers[subscriber].interests[slot.index].hasBegun = true }
        subscribers[subscriber].interests[slot.index].appendedAtStart = streams[slot.index].appended(choice)
        countChange(slot, wasPending: before.target != before.layer, isPending: before.target != choice)
        refreshFilter(subscriber, slot)
    }

    /// Frames that came for a subscriber since it got the layers that it has.
    func entered(_ interest: StreamInterest, _ slot: StreamSlot) -> UInt64 {
        interest.isWanted ? streams[slot.index].appended(interest.layer) &- interest.appendedAtStart : 0
    }

    mutating func refreshFilter(_ subscriber: Int, _ slot: StreamSlot) {
        let interest = subscribers[subscriber].interests[slot.index]
        let lane = streams[slot.index].lane
        let hasAll = streams[slot.index].layers.count == 1 && interest.layer == LayerChoice(spatial: 0)
        let isFiltered = interest.isWanted && !hasAll
        guard isFiltered != interest.isFiltered else { return }
        subscribers[subscriber].interests[slot.index].isFiltered = isFiltered
        subscribers[subscriber][lane].filteredStreams += isFiltered ? 1 : -1
    }

    // MARK: What is queued

    /// Makes an earlier change of layers final, while entries from before it are queued: one change can be remembered, not two.
    mutating func settle(_ subscriber: Int, _ slot: StreamSlot) {
        let interest = subscribers[subscriber].interests[slot.index]
        guard subscribers[subscriber][.video].sequence < interest.changedAt else { return }
        finishBegun(subscriber, .video, slot)
        // A key frame follows: without what came before it, everything from it on decodes as well.
        let cursor = subscribers[subscriber][.video].sequence
        dropQueued(subscriber, slot, cursor..<max(interest.changedAt, cursor), onlyOutdated: !interest.changeBeginsWithKey)
        if interest.changeBeginsWithKey { subscribers[subscriber].interests[slot.index].from = max(interest.from, interest.changedAt) }
        subscribers[subscriber].interests[slot.index].changedAt = 0
    }

    /// Drops what is queued of the layer before a change that begins with a key frame.
    mutating func giveUpLayerBefore(_ subscriber: Int, _ slot: StreamSlot, from sequence: UInt64) {
        let interest = subscribers[subscriber].interests[slot.index]
        guard interest.changeBeginsWithKey, sequence < interest.changedAt else { return }
        dropQueued(subscriber, slot, sequence..<interest.changedAt, onlyOutdated: false)
        subscribers[subscriber].interests[slot.index].from = max(interest.from, interest.changedAt)
    }

    /// Drops everything of a stream that is queued for a subscriber.
    mutating func dropQueued(_ subscriber: Int, _ slot: StreamSlot) {
        finishBegun(subscriber, .video, slot)
        dropQueued(subscriber, slot, subscribers[subscriber][.video].sequence..<self[.video].next, onlyOutdated: false)
        subscribers[subscriber].interests[slot.index].from = self[.video].next
    }

    private mutating func dropQueued(_ subscriber: Int, _ slot: StreamSlot, _ range: Range<UInt64>, onlyOutdated: Bool) {
        let interest = subscribers[subscriber].interests[slot.index]
        for sequence in range {
            let entry = self[.video][sequence]
            guard entry.slot == slot else { continue }
            switch interest.holds(sequence, entry.traits) {
            case .foreign: continue
            case .due: if onlyOutdated { continue }
            case .outdated: break
            }
            subscribers[subscriber].account.superseded &+= 1
            guard entry.traits.contains(.configuration), !subscribers[subscriber].interests[slot.index].owesConfiguration else { continue }
            subscribers[subscriber].interests[slot.index].owesFrom = 0
            subscribers[subscriber].setTrouble(slot, lane: .video, owesConfiguration: true)
        }
    }

    /// A stream's frame that was begun at the lane's cursor is the subscriber's own from here on: it is finished.
    mutating func finishBegun(_ subscriber: Int, _ lane: Lane, _ slot: StreamSlot) {
        let isCut = subscribers[subscriber][lane].cut?.isInLog == true
        guard isCut || subscribers[subscriber].begunLane == lane, self[lane][subscribers[subscriber][lane].sequence].slot == slot else { return }
        if isCut { moveCutToRest(subscriber, lane) } else { moveBegunMessageToResidue(subscriber) }
    }
}
