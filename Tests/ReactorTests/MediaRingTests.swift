import Reactor
import RelayBase
import Testing

@Suite struct MediaRingTests {
    /// Writes one record; false when the ring has no room.
    private static func put(_ ring: MediaRing, _ bytes: [UInt8], reserving room: Int? = nil) -> Bool {
        guard let place = unsafe ring.tryReserve(room ?? bytes.count) else { return false }
        unsafe place.copyBytes(from: bytes)
        ring.commit(bytes.count)
        return true
    }

    private static func take(_ ring: MediaRing) -> [UInt8]? {
        guard let record = unsafe ring.peek() else { return nil }
        let bytes = unsafe Array(record)
        ring.release()
        return bytes
    }

    @Test("records come out whole and in order, empty ones too")
    func order() {
        let ring = MediaRing(capacity: 256)
        #expect(Self.take(ring) == nil)
        let records: [[UInt8]] = [[1], [], [2, 3, 4, 5, 6, 7, 8, 9, 10], Array(repeating: 7, count: 64)]
        for record in records { #expect(Self.put(ring, record)) }
        for record in records { #expect(Self.take(ring) == record) }
        #expect(Self.take(ring) == nil)
    }

    @Test("a record may be shorter than its reservation, and a reservation may be dropped")
    func shorter() {
        let ring = MediaRing(capacity: 64)
        _ = unsafe ring.tryReserve(20)
        #expect(Self.put(ring, [1, 2], reserving: 20))
        #expect(Self.put(ring, [3]))
        #expect(Self.take(ring) == [1, 2] && Self.take(ring) == [3])
    }

    @Test("a peeked record stays until it is released")
    func peekTwice() {
        let ring = MediaRing(capacity: 64)
        _ = Self.put(ring, [5])
        #expect(unsafe ring.peek()?.first == 5)
        #expect(Self.take(ring) == [5])
        #expect(unsafe ring.peek() == nil)
    }

    @Test("the capacity is rounded up to a power of two", arguments: [(64, 64), (65, 128), (1_000, 1_024), (4_096, 4_096)])
    func capacity(asked: Int, given: Int) {
        let ring = MediaRing(capacity: asked)
        #expect(ring.capacity == given && ring.recordBytesMax == given / 2 - 8)
    }

    @Test("the longest record always fits into an empty ring, one byte more never", arguments: 0..<64)
    func longest(offset: Int) {
        let ring = MediaRing(capacity: 512)
        for _ in 0..<offset {
            #expect(Self.put(ring, [0]))
            _ = Self.take(ring)
        }
        let longest = [UInt8](repeating: 9, count: ring.recordBytesMax)
        #expect(Self.put(ring, longest))
        #expect(Self.take(ring) == longest)
        #expect(!Self.put(ring, longest + [0]))
    }

    @Test("a full ring refuses and changes nothing; room given back can be used")
    func full() {
        let ring = MediaRing(capacity: 64)
        for number in 0..<4 { #expect(Self.put(ring, [UInt8(number)])) }
        #expect(!Self.put(ring, [4]))
        #expect(Self.take(ring) == [0])
        #expect(Self.put(ring, [4]) && !Self.put(ring, [5]))
        for number in 1...4 { #expect(Self.take(ring) == [UInt8(number)]) }
    }

    @Test("any sequence of puts and takes gives what a queue gives", arguments: 0..<16 as Range<UInt64>)
    func model(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let ring = MediaRing(capacity: 1 << Int.random(in: 6...11, using: &generator))
        var queue: [[UInt8]] = []
        for step in 0..<4_000 {
            if Bool.random(using: &generator) {
                let count = Int.random(in: 0...ring.recordBytesMax / (step.isMultiple(of: 3) ? 1 : 4), using: &generator)
                let record = (0..<count).map { UInt8(truncatingIfNeeded: $0 ^ step) }
                let spare = min(ring.recordBytesMax, count + .random(in: 0...9, using: &generator))
                if Self.put(ring, record, reserving: spare) {
                    queue.append(record)
                } else {
                    #expect(!queue.isEmpty, "an empty ring takes any record")
                }
            } else {
                #expect(Self.take(ring) == (queue.isEmpty ? nil : queue.removeFirst()))
            }
        }
        while !queue.isEmpty { #expect(Self.take(ring) == queue.removeFirst()) }
        #expect(Self.take(ring) == nil)
    }

    @Test("one wake-up per batch: only a consumer that sleeps needs one")
    func waking() {
        let ring = MediaRing(capacity: 256)
        _ = Self.put(ring, [1])
        #expect(ring.producerNeedsWake(), "the consumer starts asleep")
        _ = Self.put(ring, [2])
        #expect(!ring.producerNeedsWake(), "it has been woken already")
        #expect(!ring.consumerMayWait(), "there is something to take")
        _ = Self.take(ring)
        _ = Self.take(ring)
        #expect(ring.consumerMayWait())
        _ = Self.put(ring, [3])
        #expect(ring.producerNeedsWake())
    }

    @Test("between two threads every record arrives whole, in order, and no wake-up is lost", arguments: [64, 1_024, 65_536])
    func stress(capacity: Int) throws {
        let ring = MediaRing(capacity: capacity)
        let (consumerWake, producerWake) = try (EventFD(), EventFD())
        let total = 40_000
        let producer = try LoopThread(name: "producer") {
            var generator = SeededGenerator(seed: 1)
            var number = 0
            while number < total {
                var batch = Int.random(in: 1...8, using: &generator)
                while batch > 0, number < total {
                    let count = Int.random(in: 8...min(ring.recordBytesMax, 200), using: &generator)
                    guard let place = unsafe ring.tryReserve(count) else { break }
                    unsafe place.storeBytes(of: UInt64(number), as: UInt64.self)
                    for index in 8..<count { unsafe place[index] = UInt8(truncatingIfNeeded: number &+ index) }
                    ring.commit()
                    number += 1
                    batch -= 1
                }
                if ring.producerNeedsWake() { consumerWake.signal() }
                // Full: wait for the consumer, which tells when it has emptied the ring.
                if batch > 0, number < total {
                    _ = waitUntilReadable(producerWake.descriptor)
                    producerWake.reset()
                }
            }
        }
        var expected = 0
        var faults = 0
        while expected < total {
            while let record = unsafe ring.peek() {
                let number = unsafe record.load(as: UInt64.self)
                if number != UInt64(expected) { faults += 1 }
                for index in 8..<record.count where unsafe record[index] != UInt8(truncatingIfNeeded: expected &+ index) { faults += 1 }
                ring.release()
                expected += 1
            }
            producerWake.signal()
            if expected < total, ring.consumerMayWait() {
                guard waitUntilReadable(consumerWake.descriptor) else {
                    Issue.record("a wake-up was lost at \(expected)")
                    break
                }
                consumerWake.reset()
            }
        }
        if expected == total { producer.join() }
        #expect(faults == 0 && expected == total)
    }

    @Test("a commit without a reservation is our bug")
    func commitWithoutReservation() async {
        await #expect(processExitsWith: .failure) {
            let ring = MediaRing(capacity: 64)
            _ = unsafe ring.tryReserve(1)
            ring.commit()
            ring.commit()
        }
    }
}
