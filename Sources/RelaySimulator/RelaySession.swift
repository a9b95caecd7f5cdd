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
    var remote: [RemoteRoute] = []
    var arrivals = ArrivalMemory()
}

struct RemoteRoute {
    let interest: RemoteInterest
    var awaitsKey = false
    var owesConfiguration = false
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
    /// By stream: frames from here on were appended when the session had subscribed. Older ones come from the cache, whatever their age.
    var liveFrom: [UInt32: UInt32] = [:]

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
    let connection: SimulatedConnection
    var place = Place.outside
    var control = ByteQueue()
    var unfinished = ByteQueue()
    var watch = EgressWatch()
    /// Sealed bytes that the kernel did not take.
    var sealed = 0
    var hasEnded = false
    var lastProgress = MonotonicInstant.zero

    init(token: UInt64, connection: SimulatedConnection) {
        self.token = token
        self.connection = connection
    }

    var membership: SessionMembership? {
        if case .inside(let membership) = place { membership } else { nil }
    }

    /// The kernel took less than it was given: nothing more is sealed until it has room.
    var isBlocked: Bool { sealed > 0 }
}

/// Looks at the bytes of one connection as the relay gives them to the kernel, and finds where messages begin.
struct EgressWatch {
    /// Bytes of the message under way that are still to come, once its header is complete.
    private var remaining = 0
    private var head: [UInt8] = []
    private var headAt = MonotonicInstant.zero
    /// Frames of media that were begun.
    private(set) var framesBegun: UInt64 = 0

    /// Whether the bytes so far end between two messages.
    var isBetweenMessages: Bool { remaining == 0 && head.isEmpty }

    /// Takes bytes and answers the headers of the media messages that begin in them. `nil`: not a WebSocket message.
    mutating func take(_ bytes: UnsafeRawBufferPointer, now: MonotonicInstant) -> [(header: MediaHeader, begunAt: MonotonicInstant)]? {
        var begun: [(header: MediaHeader, begunAt: MonotonicInstant)] = []
        var offset = 0
        while offset < bytes.count {
            if remaining > 0 {
                let count = min(remaining, bytes.count - offset)
                remaining -= count
                offset += count
                continue
            }
            if head.isEmpty { headAt = now }
            unsafe head.append(bytes[offset])
            offset += 1
            guard head[0] == 0x82 || head[0] == 0x81 else { return nil }
            guard head.count >= 2 else { continue }
            let width = head[1] < 126 ? 2 : head[1] == 126 ? 4 : 10
            let isMedia = head[0] == 0x82
            guard head.count == width + (isMedia ? MediaHeader.byteCount : 0) else { continue }
            let length = width == 2 ? Int(head[1]) : head[2..<width].reduce(0) { $0 << 8 | Int($1) }
            remaining = length - (isMedia ? MediaHeader.byteCount : 0)
            if isMedia {
                guard remaining >= 0,
                    let header = unsafe head.withUnsafeBytes({ unsafe try? MediaHeader(parsing: UnsafeRawBufferPointer(rebasing: $0[width...])) })
                else { return nil }
                begun.append((header, headAt))
                framesBegun += 1
            }
            head.removeAll(keepingCapacity: true)
        }
        return begun
    }
}
