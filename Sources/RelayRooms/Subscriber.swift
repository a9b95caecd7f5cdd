import RelayBase

/// What one subscriber wants of one stream slot.
struct StreamInterest {
    var isWanted = false
    /// A frame that others refer to was dropped: nothing but a key frame is of use.
    var awaitsKey = false
    /// The configuration was dropped: it goes out again before the next frame.
    var owesConfiguration = false
    /// Entries of the stream before this sequence are not the subscriber's: it came later, or had them in its prelude.
    var from: UInt64 = 0
    /// The stream's count of appended frames when the interest began.
    var appendedAtStart: UInt64 = 0
}

/// A subscriber's place in one lane: a cursor on the log and, before that, what it is owed from before its time.
struct LaneCursor: ~Copyable {
    /// The next entry that the subscriber has not been served.
    var sequence: UInt64
    /// Framed messages to be sent before the log: configuration and group of pictures for a late joiner.
    var prelude = ByteQueue()
    /// How many frames of ``prelude`` are to be accounted.
    var preludeFrames: UInt64 = 0
    var wantedStreams = 0
    /// Streams of the lane that await a key frame or owe a configuration.
    var troubledStreams = 0
    /// The latest `from` of the lane's interests: beyond it no entry needs the check.
    var plainFrom: UInt64 = 0

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
    /// It has no connection now: see ``RoomFanout/park(_:)``.
    var isParked = false
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
    mutating func setTrouble(_ slot: StreamSlot, lane: Lane, awaitsKey: Bool? = nil, owesConfiguration: Bool? = nil) {
        let before = interests[slot.index].awaitsKey || interests[slot.index].owesConfiguration
        if let awaitsKey { interests[slot.index].awaitsKey = awaitsKey }
        if let owesConfiguration { interests[slot.index].owesConfiguration = owesConfiguration }
        let after = interests[slot.index].awaitsKey || interests[slot.index].owesConfiguration
        if before != after { self[lane].troubledStreams += after ? 1 : -1 }
    }
}
