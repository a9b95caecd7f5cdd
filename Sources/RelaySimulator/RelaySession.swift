import MediaProtocol
import RelayBase
import RelayRooms

/// A room as one simulated loop has it.
final class SimulatedRoom {
    let number: RoomNumber
    let name: RoomName
    let home: Int
    var handle = Handle(index: 0, generation: 0)
    var fanout: RoomFanout
    var members: [(participant: ParticipantID, session: UInt64)] = []
    var routes: [StreamRoute] = []
    var openGaps: [OpenGap] = []
    var isDirty = false

    init(number: RoomNumber, name: RoomName, home: Int, limits: Limits, budget: ByteBudget) {
        self.number = number
        self.name = name
        self.home = home
        fanout = RoomFanout(limits: limits, budget: budget)
    }
}

struct StreamRoute {
    var entry: StreamEntry
    var isRequested = false
    var requestedLayers = LayerSet()
    var remote: [RemoteRoute] = []
    var demand = StreamDemand()
    /// By spatial layer.
    var arrivals: [ArrivalMemory] = []

    init(entry: StreamEntry) {
        self.entry = entry
    }

    mutating func noteArrival(_ header: MediaHeader, at instant: MonotonicInstant) {
        let spatial = Int(header.layer.spatial)
        while arrivals.count <= spatial { arrivals.append(ArrivalMemory()) }
        arrivals[spatial].note(header.sequence, at: instant)
    }

    func arrival(of header: MediaHeader) -> MonotonicInstant? {
        let spatial = Int(header.layer.spatial)
        return spatial < arrivals.count ? arrivals[spatial].arrival(of: header.sequence) : nil
    }
}

/// When a stream's last frames arrived at a loop: the simulator's own knowledge, by which it judges what the relay begins to send.
struct ArrivalMemory {
    private static let framesMax = 2_048
    private var places: [(sequence: UInt32, at: MonotonicInstant)] = []
    private(set) var newest: UInt32?

    mutating func note(_ sequence: UInt32, at instant: MonotonicInstant) {
        if places.isEmpty { places = Array(repeating: (0, .zero), count: ArrivalMemory.framesMax) }
        places[Int(sequence) % ArrivalMemory.framesMax] = (sequence, instant)
        newest = sequence
    }

    func arrival(of sequence: UInt32) -> MonotonicInstant? {
        guard !places.isEmpty, places[Int(sequence) % ArrivalMemory.framesMax].sequence == sequence else { return nil }
        return places[Int(sequence) % ArrivalMemory.framesMax].at
    }
}

struct PublishedStream {
    let id: UInt32
    let slot: StreamSlot
    var hasEnded = false
}

/// A session's place in a room.
final class SessionMembership {
    let room: SimulatedRoom
    let participant: ParticipantID
    let subscriber: Handle
    var published: [PublishedStream] = []
    var subscribesToAll = false
    var chooser = LayerChooser()
    /// By stream and spatial layer: the last frame that had been appended when the session subscribed. It and older ones come from the cache, whatever their age.
    private var historyUpTo: [UInt64: UInt32] = [:]
    /// By stream: when it was released last.
    var releasedAt: [UInt32: MonotonicInstant] = [:]
    /// By stream: when the last key frame, or what came from the cache, was on its way whole. What follows it counts from then.
    var graceFrom: [UInt32: MonotonicInstant] = [:]
    /// The same for what came from the cache of any stream of video.
    var historyEnd = MonotonicInstant.zero

    /// Frames that the stream's loop has had until now come from the cache.
    func noteHistory(_ stream: UInt32, _ arrivals: [ArrivalMemory]) {
        for spatial in 0..<LayerChoice.layersMax {
            historyUpTo[UInt64(stream) << 4 | UInt64(spatial)] = spatial < arrivals.count ? arrivals[spatial].newest : nil
        }
    }

    func isHistory(_ header: MediaHeader) -> Bool {
        guard let last = historyUpTo[UInt64(header.stream.rawValue) << 4 | UInt64(header.layer.spatial)] else { return false }
        return !SerialNumber(header.sequence).isNewer(than: SerialNumber(last))
    }

    init(room: SimulatedRoom, participant: ParticipantID, subscriber: Handle) {
        self.room = room
        self.participant = participant
        self.subscriber = subscriber
    }
}

/// What the relay holds of one client's connection.
final class RelaySession {
    enum Place {
        case outside
        case joining
        case inside(SessionMembership)
    }

    let token: UInt64
    /// The connection that carries it, or did last.
    var connection: SimulatedConnection
    /// Its connection is lost, and its client may come back until then.
    var isParked = false
    var parkedUntil = MonotonicInstant.zero
    var place = Place.outside
    var control = ByteQueue()
    var unfinished = ByteQueue()
    var watch = EgressWatch()
    /// Sealed bytes that the kernel did not take.
    var unsent = 0
    /// Bytes sealed so far.
    var sealed: UInt64 = 0
    var flow = SimulatedFlow()
    let wishes: EgressWishes
    var hasEnded = false
    var lastProgress = MonotonicInstant.zero
    /// When more was due last than the window let out.
    var heldAt = MonotonicInstant.zero

    init(token: UInt64, connection: SimulatedConnection, wishes: EgressWishes) {
        self.token = token
        self.wishes = wishes
        self.connection = connection
    }

    var membership: SessionMembership? {
        if case .inside(let membership) = place { membership } else { nil }
    }

    /// The kernel took less than it was given: nothing more is sealed until it has room.
    var isBlocked: Bool { unsent > 0 }
}
