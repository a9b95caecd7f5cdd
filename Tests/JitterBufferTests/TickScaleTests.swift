import Testing

@testable import JitterBuffer

@Suite("Ticks, samples and microseconds")
struct TickScaleTests {
    @Test("a clock that jumps makes a long span, and no trap", arguments: [Int64.min, -1_700_000_000_000_000, 1_700_000_000_000_000, .max])
    func jump(microseconds: Int64) {
        let scale = TickScale(timescale: 48_000, sampleRate: 48_000)
        #expect(scale.samples(microseconds: microseconds).magnitude == 3_600 * 48_000)
    }

    @Test("spans of playout are exact", arguments: [(10_000, 480), (-2_500, -120), (3_600_000_000, 172_800_000)] as [(Int64, Int)])
    func exact(microseconds: Int64, samples: Int) {
        #expect(TickScale(timescale: 90_000, sampleRate: 48_000).samples(microseconds: microseconds) == samples)
    }
}
