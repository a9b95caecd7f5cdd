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
    /// Streams that somebody needs a key frame of.
    var keyFramesWanted = 0
    /// What the subscribers that left took with them.
    package internal(set) var departed = FrameAccount()
    /// Subscribers that the rest of a begun frame was lost for.
    var brokenSubscribers = 0
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
    package mutating func addStream(id: UInt32, publisher: ParticipantID, lane: Lane) -> StreamSlot? {
        freeEndedStreams()
        if streams.count >= RoomFanout.streamsMax { forceOutEndedStreams() }
        guard let handle = streams.insert(StreamState(id: id, publisher: publisher, lane: lane)) else { return nil }
        laneStreams[lane] += 1
        return StreamSlot(Int(handle.index))
    }

    /// The slot of a stream that has not ended. A walk over the table: for the control path.
    package func slot(of id: UInt32) -> StreamSlot? {
        for index in 0..<streams.endIndex where streams.isLive(index) && streams[index].id == id && streams[index].endedAt == nil {
            return StreamSlot(index)
        }
        return nil
    }

    /// The slots of the streams that have not ended.
    package var openSlots: [StreamSlot] {
        (0..<streams.endIndex).filter { streams.isLive($0) && streams[$0].endedAt == nil }.map(StreamSlot.init)
    }

    package func isOpen(_ slot: StreamSlot) -> Bool {
        streams.isLive(slot.index) && streams[slot.index].endedAt == nil
    }

    /// Copies of the frames that a late joiner is given, oldest first: the configuration, then everything from the last key frame on. Copies, because
    /// whoever gets them may come back and change the room.
    package func cachedFrames(_ slot: StreamSlot) -> [[UInt8]] {
        unsafe cachedConfiguration(slot) + MessageFraming.frames(streams[slot.index].groupOfPictures.readable)
    }

    /// A copy of the configuration frame, if there is one.
    package func cachedConfiguration(_ slot: StreamSlot) -> [[UInt8]] {
        unsafe MessageFraming.frames(streams[slot.index].configuration.readable)
    }

    /// Drops what is cached of a stream whose frames no longer come.
    package mutating func forgetCache(_ slot: StreamSlot) {
        streams[slot.index].forgetGroup(budget)
        streams[slot.index].configuration.removeAll()
    }

    /// Drops the cached group of pictures: nobody who comes now is to see them.
    package mutating func forgetPictures(_ slot: StreamSlot) {
        guard streams.isLive(slot.index) else { return }
        streams[slot.index].forgetGroup(budget)
    }

    /// Ends a stream: what is queued of it is still delivered; its slot is free once the log has let go of it.
    package mutating func endStream(_ slot: StreamSlot) {
        guard streams.isLive(slot.index), streams[slot.index].endedAt == nil else { return }
        setKeyFrameWanted(slot, false)
        streams[slot.index].forgetGroup(budget)
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
        streams[slot.index].forgetGroup(budget)
        laneStreams[streams[slot.index].lane] -= 1
        streams.remove(streams.handle(at: slot.index))
    }

    /// All slots are taken: whoever still lags behind in a stream that has ended loses the rest of it, so that nobody's publishing waits for a slow reader.
    ///
    /// Entries of a freed slot may stay in the log: they lie before the `from` of every interest to come.
    private mutating func forceOutEndedStreams() {
        for index in 0..<streams.endIndex where streams.isLive(index) && streams[index].endedAt != nil {
            for subscriber in 0..<subscribers.endIndex where subscribers.isLive(subscriber) { unsubscribe(subscriber, StreamSlot(index)) }
            free(StreamSlot(index))
        }
    }

    /// The room goes: what it holds of the budget goes back.
    package mutating func releaseBudget() {
        for index in 0..<streams.endIndex where streams.isLive(index) { streams[index].forgetGroup(budget) }
    }

    /// Ends a subscriber's interest in a slot and moves its frames into ``FrameAccount/entered``.
    mutating func closeInterest(_ subscriber: Int, _ slot: StreamSlot) {
        guard slot.index < subscribers[subscriber].interests.count, subscribers[subscriber].interests[slot.index].isWanted else { return }
        let lane = streams[slot.index].lane
        subscribers[subscriber].setTrouble(slot, lane: lane, awaitsKey: false, owesConfiguration: false, brokenFrom: .max)
        subscribers[subscriber].account.entered &+= streams[slot.index].appended &- subscribers[subscriber].interests[slot.index].appendedAtStart
        subscribers[subscriber].interests[slot.index] = StreamInterest()
        subscribers[subscriber][lane].wantedStreams -= 1
        if subscribers[subscriber][lane].shortestDelay != .max { noteDelays(subscriber, lane) }
        streams[slot.index].subscribers -= 1
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
    /// - Parameter frame: header and payload, validated.
    package mutating func append(_ frame: UnsafeRawBufferPointer, slot: StreamSlot, traits: FrameTraits, now: MonotonicInstant) -> Appended {
        if traits.contains(.key) { setKeyFrameWanted(slot, false) }
        if !traits.contains(.configuration) { unsafe streams[slot.index].position.note(frame) }
        let lane = streams[slot.index].lane
        unsafe streams[slot.index].cache(
            frame, traits: traits, next: self[lane].next, groupBytesMax: limits.gopCacheBytesMax, budget: budget)
        guard streams[slot.index].subscribers > 0 else { return .nobody }
        let header = MessageFraming.headerByteCount(payload: frame.count)
        streams[slot.index].appended &+= 1
        guard makeRoom(in: lane, for: header + frame.count, now: now) else {
            refuse(slot, lane: lane, traits)
            return .refused
        }
        let room = unsafe self[lane].append(byteCount: header + frame.count, slot: slot, traits: traits, arrival: now)
        unsafe MessageFraming.writeMessage(frame, into: room)
        return .queued
    }

    /// A frame that finds no room is refused for everybody who wants it; video then waits for the next key frame.
    private mutating func refuse(_ slot: StreamSlot, lane: Lane, _ traits: FrameTraits) {
        for index in 0..<subscribers.endIndex where subscribers.isLive(index) {
            guard slot.index < subscribers[index].interests.count, subscribers[index].interests[slot.index].isWanted else { continue }
            subscribers[index].account.refused &+= 1
            noteLoss(index, lane, slot, traits)
        }
        if lane == .video { streams[slot.index].forgetGroup(budget) }
    }

    // MARK: Key frames

    mutating func setKeyFrameWanted(_ slot: StreamSlot, _ wanted: Bool) {
        guard streams[slot.index].keyFrameWanted != wanted, !wanted || streams[slot.index].endedAt == nil else { return }
        streams[slot.index].keyFrameWanted = wanted
        keyFramesWanted += wanted ? 1 : -1
    }

    /// Asks for a key frame of a stream on behalf of another loop's subscribers.
    ///
    /// - Parameter atOnce: however shortly ago the last was asked for.
    package mutating func wantKeyFrame(_ slot: StreamSlot, atOnce: Bool = false) {
        guard streams.isLive(slot.index) else { return }
        if atOnce { streams[slot.index].lastKeyFrameRequest = nil }
        setKeyFrameWanted(slot, true)
    }

    /// The next stream whose publisher is to be asked for a key frame now: requests are merged, at most one per `keyFrameRequestMillisecondsMin` and stream.
    package mutating func nextKeyFrameRequest(now: MonotonicInstant) -> StreamSlot? {
        guard keyFramesWanted > 0 else { return nil }
        for index in 0..<streams.endIndex where streams.isLive(index) && streams[index].keyFrameWanted {
            if let last = streams[index].lastKeyFrameRequest, now.milliseconds(since: last) < limits.keyFrameRequestMillisecondsMin { continue }
            streams[index].lastKeyFrameRequest = now
            return StreamSlot(index)
        }
        return nil
    }
}
