import BenchmarkSupport
import MediaProtocol
import RelayBase
import RelayRooms
import TLSTransport

/// A room on one loop, without sockets: frames go into the lane's log, and each subscriber pulls what it is due.
final class FanoutRoom {
    static let messageBytes = 164

    private var fanout: RoomFanout
    private var slots: [StreamSlot] = []
    private var subscribers: [Int] = []
    private let frames: [Block]
    private let buffer = Block(count: 16 << 10)
    private var now = MonotonicInstant.zero.advanced(byMilliseconds: 1_000)

    /// - Parameter streams: of which each subscriber has the first only, so that with more than one each frame is looked at by itself.
    init(subscribers count: Int, streams: Int = 1) throws {
        let limits = Limits()
        fanout = RoomFanout(limits: limits, budget: ByteBudget(bytesMax: limits.cacheBytesMax))
        frames = (1...UInt32(streams)).map { stream in
            let block = Block(count: FanoutRoom.messageBytes - 4)
            unsafe MediaHeader(kind: .audio, stream: StreamID(stream), sequence: 0, timestamp: 0).write(into: block.bytes)
            return block
        }
        for stream in 1...UInt32(streams) {
            guard let slot = fanout.addStream(id: stream, publisher: ParticipantID(stream), lane: .audio) else { throw BenchmarkFault("no slot") }
            slots.append(slot)
        }
        for number in 0..<count {
            guard let handle = fanout.addSubscriber(ParticipantID(UInt32(1_000 + number)), token: UInt64(number)) else {
                throw BenchmarkFault("no subscriber")
            }
            subscribers.append(Int(handle.index))
            fanout.subscribe(Int(handle.index), slots[0], now: now)
        }
        if streams > 1 {
            // Somebody wants the others, or they would not enter.
            guard let handle = fanout.addSubscriber(ParticipantID(999), token: 999) else { throw BenchmarkFault("no subscriber") }
            subscribers.append(Int(handle.index))
            for slot in slots[1...] { fanout.subscribe(Int(handle.index), slot, now: now) }
        }
    }

    /// One turn of a loop: so many frames of each stream come, and everybody gets them.
    func turn(frames count: Int, _ give: (Int, UnsafeRawBufferPointer) -> Void) {
        now = now.advanced(byMilliseconds: 1)
        for _ in 0..<count {
            for place in slots.indices {
                _ = unsafe fanout.append(
                    UnsafeRawBufferPointer(frames[place].bytes), slot: slots[place], traits: FrameTraits(layer: 0), now: now)
            }
        }
        for place in subscribers.indices {
            let filled = unsafe fanout.pull(subscribers[place], into: buffer.bytes, now: now)
            guard filled > 0 else { continue }
            unsafe give(place, UnsafeRawBufferPointer(rebasing: buffer.bytes[..<filled]))
        }
    }
}

/// Egress: from the log into a subscriber's buffer, and on through TLS.
enum FanoutMicros {
    private static let subscribers = 50

    static func all(_ folder: String) throws -> [Micro] {
        var all = try [1, 16, 64].map { try egress(frames: $0) }
        all.append(try filtered())
        let connections = try SealedConnections(subscribers, folder: folder)
        all += try [1, 16].map { try sealed(frames: $0, connections) }
        return all
    }

    /// What a subscriber gets in a turn, copied. Both places in one block: how they lie to each other (whether their addresses differ by about 4 KiB) changes a
    /// copy's time by more than half.
    private static func copies(_ bytes: Int) -> (Int) -> Void {
        let start = bytes + 64 - bytes % 64
        let block = Block(count: start + bytes)
        return { times in for _ in 0..<times { block.copy(bytes, to: start) } }
    }

    private static func egress(frames: Int) throws -> Micro {
        let room = try FanoutRoom(subscribers: subscribers)
        let perTurn = frames * subscribers
        let copy = copies(frames * FanoutRoom.messageBytes)
        return Micro(
            name: "egress \(subscribers) × \(frames)", unit: "frame delivered", floorName: "memcpy a batch",
            work: { units in for _ in 0..<max(1, units / perTurn) { unsafe room.turn(frames: frames) { _, bytes in use(bytes.count) } } },
            floor: { units in copy(max(1, units / frames)) })
    }

    /// Everybody wants one of two streams, so no two of the frames that are due lie side by side.
    private static func filtered() throws -> Micro {
        let frames = 16
        let room = try FanoutRoom(subscribers: subscribers, streams: 2)
        let perTurn = frames * (subscribers + 1)
        let copy = copies(FanoutRoom.messageBytes)
        return Micro(
            name: "egress \(subscribers) × \(frames), one of two streams", unit: "frame delivered", floorName: "memcpy a frame",
            work: { units in for _ in 0..<max(1, units / perTurn) { unsafe room.turn(frames: frames) { _, bytes in use(bytes.count) } } },
            floor: { units in copy(max(1, units)) })
    }

    /// The whole way but for the kernel's.
    private static func sealed(frames: Int, _ connections: SealedConnections) throws -> Micro {
        let room = try FanoutRoom(subscribers: subscribers)
        let perTurn = frames * subscribers
        let batch = Block(count: frames * FanoutRoom.messageBytes)
        let copy = copies(frames * FanoutRoom.messageBytes)
        let cipher = try BareCipher()
        return Micro(
            name: "fan-out and seal \(subscribers) × \(frames)", unit: "frame delivered", floorName: "memcpy and AES-128-GCM a batch",
            work: { units in
                for _ in 0..<max(1, units / perTurn) {
                    unsafe room.turn(frames: frames) { place, bytes in
                        try? unsafe connections.machines[place].write(bytes)
                        connections.output.reset()
                    }
                }
            },
            floor: { units in
                for _ in 0..<max(1, units / frames) {
                    copy(1)
                    unsafe cipher.seal(UnsafeRawBufferPointer(batch.bytes))
                }
            })
    }
}
