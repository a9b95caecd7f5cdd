import RelayBase
import Testing

@Suite("MonotonicInstant, SerialNumber, SeededGenerator")
struct ValueTests {
    @Test(
        "an instant past the end of the clock saturates at the distant future",
        arguments: [
            (.max, 1, .max), (1, .max, .max), (0, 18_446_744_073_710, .max), (.max - 999_999, 1, .max), (.max - 1_000_000, 1, .max),
            (.max - 1_000_001, 1, .max - 1), (5, 0, 5), (5, 3, 3_000_005),
        ] as [(UInt64, UInt64, UInt64)])
    func advancing(start: UInt64, milliseconds: UInt64, expected: UInt64) {
        #expect(MonotonicInstant(nanoseconds: start).advanced(byMilliseconds: milliseconds).nanoseconds == expected)
    }

    @Test("nanoseconds saturate too, and the distant future stays where it is")
    func advancingByNanoseconds() {
        #expect(MonotonicInstant(nanoseconds: .max - 1).advanced(byNanoseconds: 2) == .distantFuture)
        #expect(MonotonicInstant(nanoseconds: .max - 2).advanced(byNanoseconds: 1).nanoseconds == UInt64.max - 1)
        #expect(MonotonicInstant.distantFuture.advanced(byNanoseconds: .max) == .distantFuture)
        #expect(MonotonicInstant.zero.advanced(byNanoseconds: 7).nanoseconds == 7)
    }

    @Test(
        "the time since a later instant is 0, and milliseconds are whole ones",
        arguments: [
            (0, 0, 0, 0), (0, .max, 0, 0), (1_999_999, 0, 1_999_999, 1), (3_000_001, 1_000_002, 1_999_999, 1), (.max, 0, .max, 18_446_744_073_709),
        ] as [(UInt64, UInt64, UInt64, UInt64)])
    func since(later: UInt64, earlier: UInt64, nanoseconds: UInt64, milliseconds: UInt64) {
        let (end, start) = (MonotonicInstant(nanoseconds: later), MonotonicInstant(nanoseconds: earlier))
        #expect(end.nanoseconds(since: start) == nanoseconds)
        #expect(end.milliseconds(since: start) == milliseconds)
        #expect((start < end) == (earlier < later))
    }

    @Test(
        "RFC 1982 §3.2 and §5.2: order of serial numbers of 32 bits",
        arguments: [
            (1, 0), (44, 0), (100, 44), (200, 100), (0, 0xFFFF_FFFF), (0x7FFF_FFFF, 0), (0x7FFF_FFFE, 0xFFFF_FFFF), (5, 0xFFFF_FF00),
            (0xFFFF_FFFF, 0x8000_0000),
        ] as [(UInt32, UInt32)])
    func serialOrder(newer: UInt32, older: UInt32) {
        #expect(SerialNumber(newer).isNewer(than: SerialNumber(older)))
        #expect(!SerialNumber(older).isNewer(than: SerialNumber(newer)))
    }

    @Test("RFC 1982 §3.2: equal numbers, and those 2³¹ apart, are not newer either way", arguments: [UInt32(0), 1, 0x7FFF_FFFF, 0x8000_0000, .max])
    func serialWithoutOrder(value: UInt32) {
        let (number, opposite) = (SerialNumber(value), SerialNumber(value).advanced(by: 0x8000_0000))
        #expect(!number.isNewer(than: number))
        #expect(!number.isNewer(than: opposite))
        #expect(!opposite.isNewer(than: number))
        #expect(opposite.distance(from: number) == .min)
    }

    @Test("advancing wraps, and the distance gives back the step the short way round")
    func serialDistance() {
        #expect(SerialNumber(.max).advanced(by: 1) == SerialNumber(0))
        #expect(SerialNumber(0).distance(from: SerialNumber(.max)) == 1)
        #expect(SerialNumber(.max).distance(from: SerialNumber(0)) == -1)
        var generator = SeededGenerator(seed: 1982)
        for _ in 0..<1_000 {
            let start = SerialNumber(UInt32.random(in: .min ... .max, using: &generator))
            let step = UInt32.random(in: 1...0x7FFF_FFFF, using: &generator)
            let end = start.advanced(by: step)
            #expect(end.distance(from: start) == Int32(step))
            #expect(start.distance(from: end) == 0 - Int32(step))
            #expect(end.isNewer(than: start))
        }
    }

    @Test("the same seed gives the same run, another seed another one", arguments: [UInt64(0), 1, 42, .max])
    func generator(seed: UInt64) {
        var (one, other, different) = (SeededGenerator(seed: seed), SeededGenerator(seed: seed), SeededGenerator(seed: seed ^ 1))
        let run = (0..<100).map { _ in one.next() }
        #expect(run == (0..<100).map { _ in other.next() })
        #expect(run != (0..<100).map { _ in different.next() })
        #expect(Set(run).count == run.count)
    }

    @Test("the numbers are those of SplitMix64 from seed 0")
    func splitMix() {
        var generator = SeededGenerator(seed: 0)
        #expect([generator.next(), generator.next(), generator.next()] == [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F])
    }
}
