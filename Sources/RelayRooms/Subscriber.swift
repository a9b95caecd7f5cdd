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
    /// Not everything of the stream is the subscriber's, or not as long as the lane keeps it.
    var isFiltered = false

    /// Whether an entry of the stream is the subscriber's, and of use to it.
    func holds(_ sequence: UInt64, _ traits: FrameTraits) -> Holding {
        guard isWanted, sequence >= from else { return .foreign }
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
    var wantedStreams = 0
    /// Streams of the lane that await a key frame or owe a configuration.
    var troubledStreams = 0
    /// Streams of the lane whose interest is filtered.
    var filteredStreams = 0
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
    /// By slot index.
    var interests: [StreamInterest] = []
    /// The lane of the message that was begun and is not finished, and how much of it is gone.
    var begunLane: Lane?
    var begunBytes = 0
    /// The rest of a begun message whose log entry was let go.
    var residue = ByteQueue()
    /// Whether ``residue`` ends a frame that is still to be accounted as delivered.
    var residueEndsFrame = false
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
