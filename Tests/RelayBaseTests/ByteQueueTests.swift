import RelayBase
import Testing

/// `#expect` needs what it looks at to be copyable, or behind a reference.
private final class Queue {
    private var queue = ByteQueue()

    var bytes: [UInt8] { Self.bytes(of: queue) }
    var count: Int { queue.count }
    var isEmpty: Bool { queue.isEmpty }
    var capacity: Int { queue.capacity }

    /// A span lives no longer than the borrow of the queue that it is of.
    private static func bytes(of queue: borrowing ByteQueue) -> [UInt8] {
        let span = queue.span
        var bytes: [UInt8] = []
        for offset in 0..<span.byteCount { bytes.append(unsafe span.unsafeLoad(fromByteOffset: offset, as: UInt8.self)) }
        return bytes
    }

    func append(_ bytes: [UInt8]) { queue.append(bytes) }
    func appendSpan(_ bytes: [UInt8]) { queue.append(unsafe bytes.span.bytes) }
    func consume(_ count: Int) { queue.consume(count) }
    func removeAll() { queue.removeAll() }
    func releaseIfEmpty() { queue.releaseIfEmpty() }

    /// Writes `bytes` into reserved room that may be larger than they are; answers the room that was lent.
    func write(_ bytes: [UInt8], reserving count: Int) -> Int {
        let room = unsafe queue.reserve(count)
        unsafe room.copyBytes(from: bytes)
        queue.commit(bytes.count)
        return room.count
    }

    func invertInPlace() {
        let bytes = unsafe queue.readableInPlace
        for index in bytes.indices { unsafe bytes[index] = ~bytes[index] }
    }
}

@Suite("ByteQueue")
struct ByteQueueTests {
    @Test("an empty queue holds no memory, and gives it back when it is empty again")
    func release() {
        let queue = Queue()
        #expect(queue.isEmpty && queue.capacity == 0 && queue.bytes.isEmpty)
        queue.append([])
        #expect(queue.capacity == 0)
        queue.append([1, 2, 3])
        queue.releaseIfEmpty()
        #expect(queue.bytes == [1, 2, 3], "a queue that holds bytes keeps its memory")
        queue.consume(3)
        #expect(queue.capacity > 0)
        queue.releaseIfEmpty()
        #expect(queue.capacity == 0)
        queue.append([4])
        #expect(queue.bytes == [4])
        queue.removeAll()
        #expect(queue.isEmpty && queue.bytes.isEmpty)
    }

    @Test("room that was reserved and not committed is not in the queue", arguments: [0, 1, 63, 64, 65, 1_000])
    func reserve(count: Int) {
        let queue = Queue()
        queue.append([1, 2])
        #expect(queue.write([], reserving: count) >= count)
        #expect(queue.bytes == [1, 2])
    }

    @Test("bytes are changed in place, and only those that are queued")
    func inPlace() {
        let queue = Queue()
        queue.append([9, 0x0F, 0xF0])
        queue.consume(1)
        queue.invertInPlace()
        #expect(queue.bytes == [0xF0, 0x0F])
    }

    @Test("a queue in steady use does not grow", arguments: [1, 63, 160, 1_200, 5_000])
    func steadyUse(size: Int) {
        let queue = Queue()
        let piece = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
        // One piece always stays behind, so that the queue is never empty and has to slide.
        queue.append(piece)
        var settled = 0
        for round in 0..<500 {
            queue.append(piece)
            queue.consume(size)
            if round == 10 { settled = queue.capacity }
        }
        #expect(queue.capacity == settled)
        #expect(settled <= max(256, 4 * size))
        #expect(queue.bytes == piece)
    }

    @Test("any run of appending, writing into reserved room and consuming agrees with an array", arguments: [UInt64(1), 2, 3, 4])
    func agreesWithArray(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let queue = Queue()
        var model: [UInt8] = []
        for _ in 0..<1_500 {
            let piece = (0..<Int.random(in: 0...200, using: &generator)).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
            switch Int.random(in: 0..<8, using: &generator) {
            case 0: queue.append(piece)
            case 1: queue.appendSpan(piece)
            case 2:
                let reserved = piece.count + Int.random(in: 0...300, using: &generator)
                #expect(queue.write(piece, reserving: reserved) >= reserved)
            case 3:
                queue.releaseIfEmpty()
                continue
            default:
                let gone = Int.random(in: 0...min(model.count, 150), using: &generator)
                queue.consume(gone)
                model.removeFirst(gone)
                #expect(queue.count == model.count)
                continue
            }
            model += piece
            #expect(queue.bytes == model)
            #expect(queue.isEmpty == model.isEmpty)
            #expect(queue.capacity >= model.count)
        }
        queue.consume(model.count)
        queue.releaseIfEmpty()
        #expect(queue.capacity == 0)
    }
}
