import AudioSession
import RelayBase
import Testing

@Suite("Stream clocks")
struct StreamClockTests {
    private static func at(_ seconds: Double) -> MonotonicInstant { MonotonicInstant(nanoseconds: UInt64(seconds * 1e9)) }

    @Test("§6 two clocks: played 8 s, seek to 20 s, play 3 s: played 11 s, position 23 s")
    func twoClocks() {
        var played = PlayedTime(sampleRate: 48_000)
        var position = MediaPosition(at: Self.at(100))
        #expect(position.setRate(1, at: Self.at(100)) == true)
        for _ in 0..<400 { played.count(samples: 960) }
        #expect(position.elapsed(at: Self.at(108)) == 8)
        #expect(position.seek(to: 20, at: Self.at(108)) == true)
        for _ in 0..<150 { played.count(samples: 960) }
        #expect(played.seconds == 11)
        #expect(position.elapsed(at: Self.at(111)) == 23)
    }

    @Test("§6 the position is published as elapsed, rate and at, and extrapolated by the reader", arguments: [0.5, 1, 2, -1])
    func extrapolated(rate: Double) {
        var position = MediaPosition(elapsed: 10, at: Self.at(1))
        #expect(position.setRate(rate, at: Self.at(2)) == true)
        #expect(position.elapsed == 10 && position.rate == rate && position.at == Self.at(2))
        #expect(position.elapsed(at: Self.at(6)) == 10 + 4 * rate)
        #expect(position.elapsed(at: Self.at(0)) == 10, "no time before")
    }

    @Test("§6 rate 0 freezes the position")
    func frozen() {
        var position = MediaPosition(at: Self.at(0))
        #expect(position.elapsed(at: Self.at(50)) == 0)
        #expect(position.setRate(1, at: Self.at(50)) == true)
        #expect(position.setRate(0, at: Self.at(53)) == true)
        #expect(position.elapsed(at: Self.at(500)) == 3)
    }

    @Test("§6 the position is refreshed only on change: what readers extrapolate right is not published")
    func onChange() {
        var position = MediaPosition(at: Self.at(0))
        #expect(position.setRate(0, at: Self.at(1)) == false)
        #expect(position.setRate(1, at: Self.at(1)) == true)
        #expect(position.setRate(1, at: Self.at(2)) == false)
        #expect(position.seek(to: 1, at: Self.at(2)) == false)
        #expect(position.observe(1.05, tolerance: 0.1, at: Self.at(2)) == false)
        #expect(position.observe(1.2, tolerance: 0.1, at: Self.at(2)) == true)
        #expect(position.elapsed(at: Self.at(3)) == 2.2)
        for odd in [Double.nan, .infinity] {
            let before = position
            #expect(position.setRate(odd, at: Self.at(4)) == false)
            #expect(position.seek(to: odd, at: Self.at(4)) == false)
            #expect(position.observe(odd, tolerance: 0.1, at: Self.at(4)) == false)
            #expect(position == before)
        }
    }

    @Test("the played time stops at the end of its range")
    func saturates() {
        var played = PlayedTime(sampleRate: 1)
        played.count(samples: .max - 1)
        played.count(samples: 5)
        #expect(played.samples == .max)
    }
}
