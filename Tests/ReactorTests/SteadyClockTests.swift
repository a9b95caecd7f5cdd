import RelayBase
import Testing

@testable import Reactor

@Suite("A clock of the day that never steps")
struct SteadyClockTests {
    @Test("it goes on from the day's time by the monotonic clock, to a microsecond")
    func goesOn() {
        let origin = MonotonicInstant(nanoseconds: 5_000_000_000)
        let clock = SteadyClock(origin: origin, wallMilliseconds: 1_760_000_000_000)
        #expect(clock.milliseconds(at: origin) == 1_760_000_000_000)
        #expect(abs(clock.milliseconds(at: origin.advanced(byNanoseconds: 1_234_567)) - 1_760_000_000_001.234567) < 0.001)
        #expect(clock.milliseconds(at: .zero) == 1_760_000_000_000)
        // A year.
        #expect(clock.milliseconds(at: origin.advanced(byMilliseconds: 31_536_000_000)) == 1_791_536_000_000)
    }

    @Test("it begins with the day's time")
    func begins() {
        let before = Double(WallClock.now())
        let clock = SteadyClock.started()
        #expect(clock.milliseconds(at: MonotonicClock.now()) >= before)
        #expect(clock.milliseconds(at: MonotonicClock.now()) < before + 60_000)
    }
}
