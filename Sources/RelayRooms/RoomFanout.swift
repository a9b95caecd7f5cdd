package import RelayBase

/// The data plane of one room on one loop: lane logs, the streams that feed them and the subscribers that read them.
///
/// Pure: frames come in by ``append(_:slot:traits:now:)``, bytes go out by ``pull(_:into:now:)``, and nothing happens in between.
package struct RoomFanout: ~Copyable {
    package let limits: Limits
    let budget: ByteBudget
    private var logs: LaneTable<LaneLog>
    package internal(set) var streams: UniqueTable<StreamState>
    package internal(set) var subscribers: UniqueTable<Subscriber>
    /// Streams per lane that have a slot.
    var laneStreams = LaneCounts()
    /// Layers of streams that somebody needs a key frame of.
    var keyFramesWanted = 0
    /// What the subscribers that left took with them.
    package internal(set) var departed = FrameAccount()
    /// Subscribers that the rest of a begun frame was lost for.
    var brokenSubscribers = 0
    /// What is lost now is lost by subscribers that take nothing.
    var isReclaiming = false
    /// What was put into the logs so far; wraps.
    package private(set) var appendedBytes: UInt64 = 0
    /// The subscriber that was audited last.
    var auditedNext = 0
    /// Slots beyond this answer `nil`: a table per subscriber is indexed by slot.
    package static let streamsMax = 4_096

    /// - Parameter budget: shared by the rooms of the loop.
    package init(limits: Limits, budget: ByteBudget) {
        self.budget = budget
        self.limits = limits
        logs = LaneTable { lane in
            switch lane {
            case .audio: LaneLog(bytesMax: limits.audioLogBytesMax)
            case .video: LaneLog(bytesMax: limits.videoLogBytesMax)
            case .data: LaneLog(bytesMax: limits.dataLogBytesMax)
            }
        }
        streams = UniqueTable(capacityMax: RoomFanout.streamsMax)
        subscribers = UniqueTable(capacityMax: limits.participantsPerRoomMax)
    }

    struct LaneCounts {
        private var counts: InlineArray<3, Int> = [0, 0, 0]
        subscript(lane: Lane) -> Int {
            get { counts[lane.rawValue] }
            set { counts[lane.rawValue] = newValue }
        }
    }

    subscript(lane: Lane) -> LaneLog {
        unsafeAddress { unsafe UnsafePointer(logs.address(of: lane)) }
        unsafeMutableAddress { unsafe logs.address(of: lane) }
    }

    func deadlineNanoseconds(_ lane: Lane) -> UInt64 {
        let milliseconds =
            switch lane {
            case .audio: limits.audioDeadlineMilliseconds
            case .video: limits.videoDeadlineMilliseconds
            case .data: limits.dataDeadlineMilliseconds
            }
        return milliseconds.multipliedReportingOverflow(by: 1_000_000).partialValue
    }

    // MARK: Streams

    /// Takes a slot for a stream; `nil` when the room has no more.
    ///
    /// - Parameters:
    ///   - layers: the spatial layers that the publisher announced, lowest first.
    ///   - isDerived: see ``StreamState/isDerived``.
    package mutating func addStream(
        id: UInt32, publisher: ParticipantID, lane: Lane, layers: [LayerDeclaration] = [], isDerived: Bool = false
    ) -> StreamSlot? {
        freeEndedStreams()
        if streams.count >= RoomFanout.streamsMax { forceOutEndedStreams() }
        let state = StreamState(
            id: id, publisher: publisher, lane: lane, layers: min(layers.count, LayerChoice.layersMax), isDerived: isDerived)
        guard let handle = streams.insert(state) else { return nil }
        let slot = StreamSlot(Int(handle.index))
        for spatial in 0..<streams[slot.index].layers.count where spatial < layers.count {
            streams[slot.index].layers[spatial].declare(layers[spatial])
        }
        laneStreams[lane] += 1
        return slot
    }

    /// The slot of a published stream that has not ended. A walk over the table: for the control path.
    package func slot(of id: UInt32) -> StreamSlot? {
        for index in 0..<streams.endIndex
        where streams.isLive(index) && streams[index].id == id && streams[index].endedAt == nil && !streams[index].isDerived {
            return StreamSlot(index)
        }
        return nil
    }

    /// The slots of the published streams that have not ended.
    package var openSlots: [StreamSlot] {
        (0..<streams.endIndex).filter { streams.isLive($0) && streams[$0].endedAt == nil && !streams[$0].isDerived }.map(StreamSlot.init)
    }

    package func isOpen(_ slot: StreamSlot) -> Bool {
        streams.isLive(slot.index) && streams[slot.index].endedAt == nil
    }

    /// Ends a stream: what is queued of it is still delivered; its slot is free once the log has let go of it.
    package mutating func endStream(_ slot: StreamSlot) {
        guard streams.isLive(slot.index), streams[slot.index].endedAt == nil else { return }
        cancelKeyFrames(slot)
        streams[slot.index].forgetGroups(budget)
        streams[slot.index].endedAt = self[streams[slot.index].lane].next
        freeEndedStreams()
    }

    /// Frees the slots of ended streams that no queued frame names any more.
    mutating func freeEndedStreams() {
        for index in 0..<streams.endIndex where streams.isLive(index) {
            let lane = streams[index].lane
            guard let endedAt = streams[index].endedAt, self[lane].needed >= endedAt || self[lane].count == 0 else { continue }
            for subscriber in 0..<subscribers.endIndex where subscribers.isLive(subscriber) {
                closeInterest(subscriber, StreamSlot(index))
            }
            free(StreamSlot(index))
        }
    }

    private mutating func free(_ slot: StreamSlot) {
        streams[slot.index].forgetGroups(budget)
        laneStreams[streams[slot.index].lane] -= 1
        streams.remove(streams.handle(at: slot.index))
    }

    /// All slots are taken: whoever still lags behind in a stream that has ended loses the rest of it, so that nobody's publishing waits for a slow reader.
    ///
    /// Entries of a freed slot may stay in the log: they lie before the `from` of every interest to come, and nobody is given them along with what is its own.
    private mutating func forceOutEndedStreams() {
        for index in 0..<streams.endIndex where streams.isLive(index) && streams[index].endedAt != nil {
            let lane = streams[index].lane
            for subscriber in 0..<subscribers.endIndex where subscribers.isLive(subscriber) {
                unsubscribe(subscriber, StreamSlot(index))
                subscribers[subscriber][lane].plainFrom = self[lane].next
            }
            free(StreamSlot(index))
        }
    }

    /// The room goes: what it holds of the budget goes back.
    package mutating func releaseBudget() {
        for index in 0..<streams.endIndex where streams.isLive(index) { streams[index].forgetGroups(budget) }
    }

    // MARK: Frames

    /// What became of a frame that was offered.
    package enum Appended: Sendable, Equatable {
        /// In the lane's log: subscribers have something to pull.
        case queued
        /// Nobody here wants the stream; what late joiners need was cached.
        case nobody
        /// The log's bound leaves no room for a frame of this size.
        case refused
    }

    /// Frames a message once for all subscribers of the room on this loop.
    ///
    /// - Parameters:
    ///   - frame: header and payload, validated.
    ///   - start: of a frame that another loop has cached, when its group came to the relay.
    package mutating func append(
        _ frame: UnsafeRawBufferPointer, slot: StreamSlot, traits: FrameTraits, since start: MonotonicInstant? = nil, now: MonotonicInstant
    ) -> Appended {
        unsafe noteFrame(frame, slot: slot, traits: traits, since: start, now: now)
        guard let bound = streams[slot.index].layers[traits.spatial].chosen.highest, traits.temporal <= bound else { return .nobody }
        let lane = streams[slot.index].lane
        let header = MessageFraming.headerByteCount(payload: frame.count)
        streams[slot.index].layers[traits.spatial].countAppended(temporal: traits.temporal)
        guard makeRoom(in: lane, for: header + frame.count, now: now) else {
            refuse(slot, lane: lane, traits)
            return .refused
        }
        let room = unsafe self[lane].append(byteCount: header + frame.count, slot: slot, traits: traits, arrival: now)
        unsafe MessageFraming.writeMessage(frame, into: room)
        appendedBytes &+= UInt64(header + frame.count)
        return .queued
    }

    /// What a frame changes whoever gets it: layers, caches, needs.
    private mutating func noteFrame(
        _ frame: UnsafeRawBufferPointer, slot: StreamSlot, traits: FrameTraits, since start: MonotonicInstant?, now: MonotonicInstant
    ) {
        let spatial = traits.spatial
        precondition(spatial < LayerChoice.layersMax && traits.temporal < LayerChoice.layersMax, "a frame of a layer that there cannot be")
        if spatial >= streams[slot.index].layers.count { growLayers(slot, upTo: spatial) }
        if !traits.contains(.configuration) {
            unsafe streams[slot.index].layers[spatial].position.note(frame)
            streams[slot.index].layers[spatial].meter.add(temporal: traits.temporal, byteCount: frame.count, now: now)
        }
        let next = self[streams[slot.index].lane].next
        unsafe streams[slot.index].cache(frame, traits: traits, next: next, since: start ?? now, limits: limits, budget: budget, now: now)
        if traits.contains(.key) {
            if traits.contains(.replayed), streams[slot.index].changesPending > 0 {
                if let start { changeReleased(slot, atKeyFrameOf: spatial, since: start, now: now) }
                guard streams[slot.index].changesPending == 0 else { return }
            }
            if traits.contains(.replayed), isGroupAwaited(slot, spatial, now) { return }
            keyFrameCame(slot, spatial, byteCount: frame.count, now: now)
            if streams[slot.index].changesPending > 0 { changeLayers(slot, atKeyFrameOf: spatial) }
        } else if traits.contains(.configuration), spatial == 0, streams[slot.index].layers.count > 1 {
            oweCommonConfiguration(slot)
        }
    }

    /// A frame that finds no room is refused for everybody who is to get it; video then waits for the next key frame.
    private mutating func refuse(_ slot: StreamSlot, lane: Lane, _ traits: FrameTraits) {
        for index in 0..<subscribers.endIndex where subscribers.isLive(index) {
            guard slot.index < subscribers[index].interests.count, subscribers[index].interests[slot.index].isWanted,
                subscribers[index].interests[slot.index].layer.contains(traits)
            else { continue }
            subscribers[index].account.refused &+= 1
            noteLoss(index, lane, slot, traits, at: self[lane].next)
        }
        if lane == .video { streams[slot.index].layers[traits.spatial].group.forget(budget) }
    }
}
