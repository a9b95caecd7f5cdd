import RelayBase
import Testing

@Suite("MonotonicInstant, SerialNumber, SeededGenerator")
struct ValueTests {
    @Test(
        "an instant past the end of the clock saturates at the distant future",
        arguments: [
            (start: UInt64.max, milliseconds: UInt64(1), expected: UInt64.max),
            (start: 1, milliseconds: .max, expected: .max),
            (start: 0, milliseconds: .max / 1_000_000 + 1, expected: .max),
            (start: .max - 999_999, milliseconds: 1, expected: .max),
            (start: .max - 1_000_000, milliseconds: 1, expected: .max),
            (start: .max - 1_000_001, milliseconds: 1, expected: .max - 1),
            (start: 5, milliseconds: 0, expected: 5),
            (start: 5, milliseconds: 3, expected: 3_000_005),
        ])
    func advancing(start: UInt64, milliseconds: UInt64, expected: UInt64) {
        #expect(MonotonicInstant(nanoseconds: start).advanced(byMilliseconds: milliseconds).nanoseconds == expected)
    }

    @Test("nanoseconds saturate too, and the distant future stays where it is")
    func advancingByNanoseconds() {
        #expect(MonotonicInstant(nanoseconds: .max - 1).advanced(byNanoseconds: 2) == .distantFuture)
        #expect(MonotonicInstant(nanoseconds: .max - 2).advanced(byNanoseconds: 1).nanoseconds == .max - 1)
        #expect(MonotonicInstant.distantFuture.advanced(byNanoseconds: .max) == .distantFuture)
        #expect(MonotonicInstant.zero.advanced(byNanoseconds: 7).nanoseconds == 7)
    }

    @Test(
        "the time since a later instant is 0, and milliseconds are whole ones",
        arguments: [
            (later: UInt64(0), earlier: UInt64(0), nanoseconds: UInt64(0), milliseconds: UInt64(0)),
            (later: 0, earlier: .max, nanoseconds: 0, milliseconds: 0),
            (later: 1_999_999, earlier: 0, nanoseconds: 1_999_999, milliseconds: 1),
            (later: 3_000_001, earlier: 1_000_002, nanoseconds: 1_999_999, milliseconds: 1),
            (later: .max, earlier: 0, nanoseconds: .max, milliseconds: .max / 1_000_000),
        ])
    func since(later: UInt64, earlier: UInt64, nanoseconds: UInt64, milliseconds: UInt64) {
        let (end, start) = (MonotonicInstant(nanoseconds: later), MonotonicInstant(nanoseconds: earlier))
        #expect(end.nanoseconds(since: start) == nanoseconds)
        #expect(end.milliseconds(since: start) == milliseconds)
        #expect((start < end) == (earlier < later))
    }

    @Test(
        "RFC 1982 §3.2 and §5.2: order of serial numbers of 32 bits",
        arguments: [
            (newer: UInt32(1), older: UInt32(0)),
            (newer: 44, older: 0),
            (newer: 100, older: 44),
            (newer: 200, older: 100),
            (newer: 0, older: 0xFFFF_FFFF),
            (newer: 0x7FFF_FFFF, older: 0),
            (newer: 0x7FFF_FFFE, older: 0xFFFF_FFFF),
            (newer: 5, older: 0xFFFF_FF00),
            (newer: 0xFFFF_FFFF, older: 0x8000_0000),
        ])
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
            #expect(start.distance(from: end) == -Int32(step))
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
