import RelayBase

/// What one subscriber wants of one stream slot.
struct StreamInterest {
    var isWanted = false
    /// A frame that others refer to was dropped: nothing but a key frame is of use.
    var awaitsKey = false
    /// The configuration was dropped: it goes out again before the next frame.
    var owesConfiguration = false
    /// Entries of the stream before this sequence are not the subscriber's: it came later, had them in its prelude, or is not to have them again.
    var from: UInt64 = 0
    /// Where ``from`` stood when the interest began.
    var since: UInt64 = 0
    /// A frame of this temporal layer was dropped: it and what is above are of no use until the next base frame. ``UInt8/max``: none was.
    var brokenFrom = UInt8.max
    /// After so many nanoseconds a queued frame is of no use to the subscriber, though its class's deadline may be longer.
    var delayMax = UInt64.max
    /// Frames that came before this instant count as having come then, for deadlines: a key frame before them was on its way until then, or still is
    /// (``MonotonicInstant/distantFuture``).
    var countsFrom = MonotonicInstant.zero

    var isTroubled: Bool { awaitsKey || owesConfiguration || owesDiscontinuity || brokenFrom != .max }
    /// The stream's count of appended frames of ``layer`` when the subscriber got it.
    var appendedAtStart: UInt64 = 0
    /// The layers whose entries are the subscriber's, from ``changedAt`` on.
    var layer = LayerChoice.none
    /// The layers before that.
    var layerBefore = LayerChoice.none
    var changedAt: UInt64 = 0
    /// The change was to a key frame, so what comes before it is still of use; else frames above the new bound are not.
    var changeBeginsWithKey = false
    /// The layers that the subscriber is to have from their next key frame on.
    var target = LayerChoice.none
    /// A configuration that is owed goes before no entry before this one: those are of another layer.
    var owesFrom: UInt64 = 0
    var wishes = LayerWishes()
    /// Layers were given since the subscriber wants the stream.
    var hasBegun = false
    /// Not everything of the stream is the subscriber's.
    var isFiltered = false
    /// The stream is paused for the subscriber: see ``RoomFanout/hold(_:_:now:)``.
    var isPaused = false
    /// Whether it is given depends on who speaks: see ``RoomFanout/giveRanked(_:first:of:now:)``.
    var isRanked = false
    /// For now it is not given therefore.
    var isLeftOut = false
    /// Nothing of the stream is given to the subscriber, for its own sake or because everything is held.
    var isHeld = false
    var heldSince = MonotonicInstant.zero
    /// What ``target`` was, and is again when the stream is released.
    var heldTarget = LayerChoice.none
    /// What is kept ready of the stream while it is held: see ``RoomFanout/prime(_:_:now:)``.
    var primed = LayerChoice.none
    /// The stream goes on with frames of this media time and later ones; `nil`: with what comes.
    var startsAt: UInt32?
    /// The stream was released: its next frame says that it does not follow the last.
    var owesDiscontinuity = false
    /// The subscriber has moved to another slot of the stream, and gets what was queued of this one: ``RoomFanout/move(_:from:to:now:)``.
    var isLeft = false
    /// What the subscriber was given of it, where somebody asks.
    var played = PlayedMedia()

    /// Whether an entry of the stream is the subscriber's, and of use to it.
    func holds(_ sequence: UInt64, _ traits: FrameTraits) -> Holding {
        sequence >= from ? chosen(sequence, traits) : .foreign
    }

    /// The same, wherever the subscriber has begun.
    func chosen(_ sequence: UInt64, _ traits: FrameTraits) -> Holding {
        guard isWanted else { return .foreign }
        if sequence >= changedAt { return layer.contains(traits) ? .due : .foreign }
        guard layerBefore.contains(traits) else { return .foreign }
        return changeBeginsWithKey || layer.contains(traits) ? .due : .outdated
    }

    enum Holding {
        case foreign
        case due
        /// It was the subscriber's when it came; the layers have been bounded since.
        case outdated
    }
}

/// A subscriber's place in one lane: a cursor on the log and, before that, what it is owed from before its time.
struct LaneCursor: ~Copyable {
    /// The next entry that the subscriber has not been served.
    var sequence: UInt64
    /// Framed messages to be sent before the log: configuration and group of pictures for a late joiner.
    var prelude = ByteQueue()
    /// How many frames of ``prelude`` are to be accounted.
    var preludeFrames: UInt64 = 0
    /// A group of pictures is in ``prelude``: frames of its stream do not grow old meanwhile.
    var preludeHoldsGroup = false
    /// The frame that goes out in parts: before everything else of the lane.
    var cut: CutFrame?
    /// The rest of it, when it does not lie in the log.
    var cutRest = ByteQueue()
    var wantedStreams = 0
    /// Streams of the lane that await a key frame or owe a configuration.
    var troubledStreams = 0
    /// Streams of the lane that the subscriber does not get whole.
    var filteredStreams = 0
    /// Streams of the lane of which it is counted what the subscriber is given: ``StreamInterest/played``.
    var countedStreams = 0
    /// The latest `from` of the lane's interests: beyond it no entry needs the check.
    var plainFrom: UInt64 = 0
    /// The shortest of the interests' ``StreamInterest/delayMax``.
    var shortestDelay = UInt64.max

    /// Whether something that does not lie in the log is to be sent.
    var holdsOwn: Bool { !prelude.isEmpty || cut != nil }

    init(sequence: UInt64) {
        self.sequence = sequence
    }
}

/// One subscriber of a room on one loop.
package struct Subscriber: ~Copyable {
    package let participant: ParticipantID
    /// The connection that the server knows the subscriber by; opaque here.
    package let token: UInt64
    private var cursors: LaneTable<LaneCursor>
    package internal(set) var wishes = EgressWishes()
    /// By slot index.
    var interests: [StreamInterest] = []
    /// The lane of the message that was begun and is not finished, and how much of it is gone.
    var begunLane: Lane?
    var begunBytes = 0
    /// The rest of a begun message whose log entry was let go.
    var residue = ByteQueue()
    /// Whether ``residue`` ends a frame that is still to be accounted as delivered.
    var residueEndsFrame = false
    /// What its output can play of audio; `nil`: nothing.
    var audioBounds: WantedFormat? = .full
    /// Nothing is given to it: see ``RoomFanout/hold(_:now:)``.
    var isHeld = false
    /// It has no connection now: see ``RoomFanout/park(_:)``.
    var isParked = false
    /// Streams have come to await a key frame while the subscriber took nothing: one is asked for when it takes something again, since no key frame that comes
    /// before would be any use to it.
    var asksWhenPulled = false
    var residueLane = Lane.audio
    /// The stream whose key frame was begun and is not finished.
    var begunKey: StreamSlot?
    /// The rest of a begun frame is lost: its connection must end.
    var isBroken = false
    package internal(set) var account = FrameAccount()

    init(participant: ParticipantID, token: UInt64, audioFrom: UInt64, videoFrom: UInt64, dataFrom: UInt64) {
        self.participant = participant
        self.token = token
        cursors = LaneTable { lane in
            switch lane {
            case .audio: LaneCursor(sequence: audioFrom)
            case .video: LaneCursor(sequence: videoFrom)
            case .data: LaneCursor(sequence: dataFrom)
            }
        }
    }

    /// Whether the last bytes that were pulled end inside a message: then nothing else may be sent before its rest.
    package var isMidMessage: Bool { begunLane != nil || !residue.isEmpty }

    subscript(lane: Lane) -> LaneCursor {
        unsafeAddress { unsafe UnsafePointer(cursors.address(of: lane)) }
        unsafeMutableAddress { unsafe cursors.address(of: lane) }
    }

    /// Notes what became of a stream's decodability, and keeps the lane's count of troubled streams true.
    mutating func setTrouble(
        _ slot: StreamSlot, lane: Lane, awaitsKey: Bool? = nil, owesConfiguration: Bool? = nil, brokenFrom: UInt8? = nil,
        owesDiscontinuity: Bool? = nil
    ) {
        let before = interests[slot.index].isTroubled
        if let awaitsKey { interests[slot.index].awaitsKey = awaitsKey }
        if let owesConfiguration { interests[slot.index].owesConfiguration = owesConfiguration }
        if let brokenFrom { interests[slot.index].brokenFrom = brokenFrom }
        if let owesDiscontinuity { interests[slot.index].owesDiscontinuity = owesDiscontinuity }
        let after = interests[slot.index].isTroubled
        if before != after { self[lane].troubledStreams += after ? 1 : -1 }
    }
}
