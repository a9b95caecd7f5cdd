import JitterBuffer
import RelayBase
import Testing

@Suite("Packets that wait")
struct PacketStoreTests {
    static func packet(_ sequence: UInt32, ticks: Int64, duration: Int64 = 960) -> StoredPacket {
        StoredPacket(sequence: sequence, ticks: ticks, durationTicks: duration, arrival: 0)
    }

    static func order(_ store: borrowing PacketStore) -> [UInt32] { (0..<store.count).map { store[$0].sequence } }

    @Test("come out in the order of play, however they came", arguments: [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 1, 3]])
    func ordering(places: [Int]) {
        var store = PacketStore(packetsMax: 10, bytesMax: 4096, durationTicksMax: 1_000_000)
        for place in places {
            let bytes = [UInt8(place), UInt8(place)]
            #expect(store.insert(Self.packet(UInt32(place), ticks: Int64(place) * 960), payload: unsafe bytes.span.bytes) == .stored(flushed: 0))
        }
        #expect(Self.order(store) == [0, 1, 2, 3, 4])
        for place in 0..<5 { #expect(unsafe store.payload(place).unsafeLoad(as: UInt8.self) == UInt8(place)) }
        #expect(store.byteCount == 10 && store.durationTicks == 4800)
    }

    @Test("the same sequence number and place is a duplicate; another place is another packet of its frame")
    func duplicates() {
        var store = PacketStore(packetsMax: 10, bytesMax: 4096, durationTicksMax: 1_000_000)
        #expect(store.insert(Self.packet(7, ticks: 0), payload: RawSpan()) == .stored(flushed: 0))
        #expect(store.insert(Self.packet(7, ticks: 0), payload: RawSpan()) == .duplicate)
        #expect(store.insert(Self.packet(7, ticks: 960), payload: RawSpan()) == .stored(flushed: 0))
        #expect(store.count == 2)
    }

    struct Bound: Sendable { var name: String, packets: Int, bytes: Int, ticks: Int64, held: Int }

    @Test(
        "beyond a bound the oldest go and the new one stays",
        arguments: [
            Bound(name: "packets", packets: 4, bytes: 1 << 20, ticks: 1 << 40, held: 4),
            Bound(name: "bytes", packets: 100, bytes: 1050, ticks: 1 << 40, held: 10),
            Bound(name: "duration", packets: 100, bytes: 1 << 20, ticks: 960 * 6, held: 6),
        ])
    func bounds(_ bound: Bound) {
        var store = PacketStore(packetsMax: bound.packets, bytesMax: bound.bytes, durationTicksMax: bound.ticks)
        let bytes = [UInt8](repeating: 1, count: 100)
        for place in 0..<50 {
            let outcome = store.insert(Self.packet(UInt32(place), ticks: Int64(place) * 960), payload: unsafe bytes.span.bytes)
            #expect(outcome == .stored(flushed: place < bound.held ? 0 : 1))
        }
        #expect(Self.order(store) == (UInt32(50 - bound.held)..<50).map { $0 })
    }

    @Test("a packet that is longer than all that may be held is refused and costs nobody his place")
    func tooLarge() {
        var store = PacketStore(packetsMax: 10, bytesMax: 2048, durationTicksMax: 1 << 40)
        let small = [UInt8](repeating: 1, count: 100)
        let large = [UInt8](repeating: 2, count: 2049)
        #expect(store.insert(Self.packet(0, ticks: 0), payload: unsafe small.span.bytes) == .stored(flushed: 0))
        #expect(store.insert(Self.packet(1, ticks: 960), payload: unsafe large.span.bytes) == .tooLarge)
        #expect(Self.order(store) == [0])
    }

    @Test("bytes stay whose they are through thousands of packets of every size, in and out of order", arguments: 1...5 as ClosedRange<UInt64>)
    func bytesStay(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var store = PacketStore(packetsMax: 40, bytesMax: 8192, durationTicksMax: 1 << 40)
        var model: [(ticks: Int64, bytes: [UInt8])] = []
        for step in 0..<5_000 as Range<Int64> {
            let ticks = step * 960 - Int64(random.next() % 4) * 960 * 3
            let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: step), count: Int(random.next() % 700))
            let sequence = UInt32(truncatingIfNeeded: ticks / 960)
            if case .stored(let flushed) = store.insert(Self.packet(sequence, ticks: ticks), payload: unsafe bytes.span.bytes) {
                let place = model.firstIndex { $0.ticks > ticks } ?? model.count
                model.insert((ticks, bytes), at: place)
                // The one that came is never among those that go.
                for _ in 0..<flushed { model.remove(at: model[0].ticks == ticks ? 1 : 0) }
            }
            while random.next() % 3 == 0, store.count > 0 {
                store.removeFirst()
                model.removeFirst()
            }
            #expect(store.count == model.count)
            #expect(store.byteCount == model.reduce(0) { $0 + $1.bytes.count })
            for place in 0..<store.count {
                let span = store.payload(place)
                #expect(span.byteCount == model[place].bytes.count)
                if let first = model[place].bytes.first, span.byteCount > 0 {
                    #expect(unsafe span.unsafeLoad(as: UInt8.self) == first)
                    #expect(unsafe span.unsafeLoad(fromByteOffset: span.byteCount - 1, as: UInt8.self) == first)
                }
            }
        }
    }
}
