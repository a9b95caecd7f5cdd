import RelayBase
import Testing

@Suite("Ring")
struct RingTests {
    @Test("a full ring refuses and keeps what it has")
    func full() {
        var ring = Ring<Int>(capacity: 2)
        #expect(ring.isEmpty && !ring.isFull && ring.first == nil)
        #expect(ring.popFirst() == nil)
        #expect(ring.append(1) == true)
        #expect(ring.append(2) == true)
        #expect(ring.append(3) == false)
        #expect(ring.isFull && ring.count == 2 && ring.capacity == 2)
        #expect(ring.first == 1)
        #expect(ring.popFirst() == 1)
        #expect(ring.append(4) == true)
        #expect([ring.popFirst(), ring.popFirst(), ring.popFirst()] == [2, 4, nil])
    }

    @Test("any run of appending and taking agrees with an array", arguments: [1, 2, 7, 64])
    func agreesWithArray(capacity: Int) {
        var generator = SeededGenerator(seed: UInt64(capacity))
        var ring = Ring<Int>(capacity: capacity)
        var model: [Int] = []
        for step in 0..<2_000 {
            if Bool.random(using: &generator) {
                let fits = model.count < capacity
                #expect(ring.append(step) == fits)
                if fits { model.append(step) }
            } else {
                #expect(ring.popFirst() == (model.isEmpty ? nil : model.removeFirst()))
            }
            #expect(ring.first == model.first)
            #expect(ring.count == model.count)
            #expect(ring.isEmpty == model.isEmpty)
            #expect(ring.isFull == (model.count == capacity))
        }
    }

    @Test("what was taken is let go of at once")
    func releases() {
        final class Marker {}
        var ring = Ring<Marker>(capacity: 4)
        weak var watched: Marker?
        do {
            let marker = Marker()
            watched = marker
            #expect(ring.append(marker) == true)
        }
        #expect(watched != nil)
        _ = ring.popFirst()
        #expect(watched == nil)
    }
}
