import RelayBase
import RelayRooms

/// A session's place in a room.
final class Membership {
    let room: LocalRoom
    /// The loop that decides about the room.
    var home: Int { room.home }
    let participant: ParticipantID
    let subscriber: Handle
    /// As it was said with the join.
    let displayName: String?
    var role: Role
    /// What the policy gave; a host may have given another role since.
    var admission: RoomAdmission
    /// Streams of one's own, ended ones included as long as frames of theirs may be under way.
    var published: [PublishedStream] = []
    /// What it has reported of streams that it receives.
    var reports = ReceptionTable()
    /// In a cluster, what it has asked for of the room's streams: another node may have to go on with it.
    var asked: [SubscriptionAsk] = []
    /// Streams to come that it wants.
    var standing = StandingWishes()
    /// The streams of video that it was last told to be given, where that depends on who speaks.
    var forwarded: [UInt32]?
    /// Streams that it gets and has said something about.
    var playbacks: [SubscribedStream] = []
    /// Streams that it gets through a buffer of the relay's.
    var paced: [PacedSubscription] = []
    /// Requests for paced or mixed delivery: each may have the relay make encoders.
    var deliveryChanges: RequestBudget
    /// Its place in the room's mix, if it gets that.
    var mix: MixMembership?
    var chooser = LayerChooser()
    var probe = BandwidthProbe()
    var congestion = CongestionNews()
    /// Kinds whose frames a host has muted.
    private(set) var muted: PublishKinds = []
    private(set) var bitRate: BitRateBudget?
    /// Why nothing of its own goes on: its audio session's doing.
    private(set) var uplinkStop: FrameRefusal?
    /// The latest goes before the next frame that does.
    private let held: HeldConfigurations
    /// Whether a frame must be looked at before it goes on.
    private(set) var isRestricted = false

    static let deliveryChangesPerSecond = 10

    /// - Parameter spent: what the session has left of its bit rate since it was in a room before.
    init(
        room: LocalRoom, participant: ParticipantID, displayName: String?, role: Role, subscriber: Handle, admission: RoomAdmission,
        spent: BitRateBudget?,
        budget: ByteBudget, now: MonotonicInstant
    ) {
        self.room = room
        self.participant = participant
        self.displayName = displayName
        self.role = role
        self.subscriber = subscriber
        self.admission = admission
        held = HeldConfigurations(budget: budget)
        deliveryChanges = RequestBudget(perSecond: Membership.deliveryChangesPerSecond, now: now)
        bitRate = spent
        limitBitRate(admission.settings.bitRateMax, now: now)
    }

    func isOf(_ room: RoomNumber, _ participant: ParticipantID) -> Bool {
        self.room.number == room && self.participant == participant
    }

    func limitBitRate(_ bitsPerSecond: Int?, now: MonotonicInstant) {
        if bitRate?.bitsPerSecond != bitsPerSecond { bitRate = bitsPerSecond.map { BitRateBudget(bitsPerSecond: $0, now: now) } }
        noteRestrictions()
    }

    func setMuted(_ kinds: PublishKinds) {
        muted = kinds
        noteRestrictions()
    }

    /// A stream stays looked at until what it has missed is made good.
    func noteRestrictions() {
        isRestricted = !muted.isEmpty || bitRate != nil || uplinkStop != nil || published.contains { $0.isLookedAt }
    }

    /// Why a stream's frame may not go on, or `nil` when it may.
    func refusal(at place: Int, _ traits: FrameTraits, byteCount: Int, now: MonotonicInstant) -> FrameRefusal? {
        let isConfiguration = traits.contains(.configuration)
        if muted.contains(PublishKinds(published[place].lane)) {
            lose(place, traits, .muted)
            return .muted
        }
        if let stop = published[place].isWithdrawn ? .category : uplinkStop {
            lose(place, traits, stop)
            return stop
        }
        if let gap = published[place].gap, !isConfiguration, !traits.contains(.key), published[place].gapLayers.contains(traits.spatial) {
            return gap
        }
        let heldBytes = published[place].holdsConfiguration && !isConfiguration ? held.byteCount(of: published[place].id) : 0
        if bitRate?.take(byteCount: byteCount + heldBytes, now: now) == false {
            lose(place, traits, .bitRate)
            return .bitRate
        }
        if traits.contains(.key), published[place].gap != nil {
            published[place].gapLayers.remove(traits.spatial)
            if published[place].gapLayers.isEmpty { published[place].gap = nil }
            noteRestrictions()
        }
        return nil
    }

    private func lose(_ place: Int, _ traits: FrameTraits, _ refusal: FrameRefusal) {
        guard published[place].lane == .video, traits.isDisjoint(with: [.configuration, .discardable]) else { return }
        published[place].gap = refusal
        published[place].gapLayers.insert(traits.spatial)
    }

    /// Keeps a configuration that may not go on now.
    ///
    /// - Returns: how many had to be dropped for want of room.
    func hold(_ configuration: [UInt8], _ traits: FrameTraits, at place: Int) -> Int {
        let dropped = held.hold(configuration, of: published[place].id, traits)
        published[place].holdsConfiguration = true
        if dropped > 0 { for place in published.indices { published[place].holdsConfiguration = held.holds(published[place].id) } }
        return dropped
    }

    /// Gives out what is held of a stream, by layer.
    func releaseHeld(at place: Int) -> [HeldConfigurations.Held] {
        defer {
            published[place].holdsConfiguration = false
            noteRestrictions()
        }
        return held.release(published[place].id)
    }

    func end(at place: Int) {
        published[place].hasEnded = true
        published[place].gap = nil
        published[place].gapLayers = SpatialLayers()
        published[place].discontinuous = SpatialLayers()
        published[place].isWithdrawn = false
        _ = releaseHeld(at: place)
    }

    // MARK: The audio session

    /// - Parameter refusal: why nothing goes on, or `nil` when it does again: with key frames, and a first frame of each stream that says so.
    func stopUplink(_ refusal: FrameRefusal?) {
        if let refusal, uplinkStop == nil { breakOff(refusal) }
        uplinkStop = refusal
        noteRestrictions()
    }

    /// What comes next of each stream does not follow what has come.
    func breakOff(_ refusal: FrameRefusal) {
        for place in published.indices where !published[place].hasEnded && room.fanout.isOpen(published[place].slot) {
            let layers = room.fanout.allLayers(published[place].slot)
            for spatial in 0..<LayerChoice.layersMax where layers[spatial] != nil {
                published[place].discontinuous.insert(spatial)
                guard published[place].lane == .video else { continue }
                published[place].gap = published[place].gap ?? refusal
                published[place].gapLayers.insert(spatial)
            }
        }
        noteRestrictions()
    }

    /// Whether a frame is to say that it does not follow the last of its stream.
    func isDiscontinuous(at place: Int, _ traits: FrameTraits) -> Bool {
        published[place].discontinuous.contains(traits.spatial) && !traits.contains(.configuration)
    }

    func noteContinuity(at place: Int, _ traits: FrameTraits) {
        published[place].discontinuous.remove(traits.spatial)
        noteRestrictions()
    }

    /// Nothing of its streams goes on; they are about to end. Answers which they are.
    func withdrawAll() -> [UInt32] {
        for place in published.indices where !published[place].hasEnded { published[place].isWithdrawn = true }
        noteRestrictions()
        return published.filter { $0.isWithdrawn && !$0.hasEnded }.map(\.id)
    }
}

/// Why a frame of a publisher is dropped before it reaches anybody.
enum FrameRefusal {
    case muted
    case bitRate
    /// The audio session is interrupted,
    case interrupted
    /// is not active,
    case inactive
    /// has a category that does not publish,
    case category
    /// or its route has no input.
    case route
}

struct PublishedStream {
    let id: UInt32
    let slot: StreamSlot
    let lane: Lane
    var isConfigured = false
    var hasEnded = false
    /// Video: a frame was dropped for this reason, and nothing but a key frame is of use until one has come.
    var gap: FrameRefusal?
    /// The spatial layers that this holds for.
    var gapLayers = SpatialLayers()
    var holdsConfiguration = false
    /// The spatial layers whose next frame does not follow the last.
    var discontinuous = SpatialLayers()
    /// The audio session's category does not allow it: it is about to end.
    var isWithdrawn = false
    /// After a resumption: frames that the publisher may send once more, not knowing that they have come.
    var repeats: RepeatedFrames?

    init(id: UInt32, slot: StreamSlot, lane: Lane) {
        self.id = id
        self.slot = slot
        self.lane = lane
    }

    /// A frame of it must be looked at before it goes on.
    var isLookedAt: Bool { gap != nil || holdsConfiguration || repeats != nil || isWithdrawn || !discontinuous.isEmpty }
}
