import JitterBuffer
import RelayBase
import Testing

@Suite("How long packets should wait")
struct DelayTargetTests {
    /// Takes a trace's delays as they are.
    static func learn(_ target: inout DelayTarget, seconds: Int, from start: Int64 = 0, delay: (Int64) -> Int64) {
        var (arrived, delays) = (start, [Int64]())
        for place in 0..<Int64(seconds) * 50 {
            let now = start + place * 20_000
            let arrival = max(arrived, now + delay(now))
            delays = delays.suffix(3) + [delay(now)]
            target.observe(delay: delay(now), recent: delays.min() ?? 0, gap: arrival - arrived, duration: 20_000, arrival: arrival)
            arrived = arrival
        }
    }

    static func configuration(_ profile: JitterProfile) -> JitterConfiguration {
        var configuration = JitterConfiguration()
        configuration.profile = profile
        return configuration
    }

    @Test("all but the profile's part stay within", arguments: JitterProfile.allCases)
    func quantile(profile: JitterProfile) {
        var random = SeededGenerator(seed: 9)
        var target = DelayTarget(Self.configuration(profile))
        Self.learn(&target, seconds: 60) { _ in Int64(random.unit() * 50_000) }
        let expected = 50.0 * (1 - target.policy.latePart)
        #expect(abs(Double(target.microseconds) / 1000 - expected) <= 3)
    }

    @Test("what was is forgotten: after delays of 50 ms the target is low again", arguments: [JitterProfile.lowLatency, .balanced])
    func forgetting(profile: JitterProfile) {
        var target = DelayTarget(Self.configuration(profile))
        Self.learn(&target, seconds: 20) { now in now / 20_000 % 2 * 50_000 }
        #expect(target.microseconds >= 50_000)
        Self.learn(&target, seconds: 60, from: 20_000_000) { _ in 2_000 }
        #expect(target.microseconds <= 6_000)
    }

    /// A stall's packets come at once: the first waited longest.
    static func stalled(_ now: Int64, every: Int64, height: Int64) -> Int64 { max(height - now % every, 0) }

    @Test("one stall, however long, leaves the target where it was", arguments: [300_000, 2_000_000, 3_500_000] as [Int64])
    func once(height: Int64) {
        var target = DelayTarget(Self.configuration(.balanced))
        Self.learn(&target, seconds: 10) { _ in 3_000 }
        let before = target.microseconds
        Self.learn(&target, seconds: 20, from: 10_000_000) { now in max(3_000, height - (now - 10_000_000)) }
        #expect(target.microseconds <= before + 5_000)
    }

    @Test("stalls that repeat are waited out; where they end, the target is back within half a minute", arguments: [100_000, 300_000] as [Int64])
    func repeated(height: Int64) {
        var target = DelayTarget(Self.configuration(.balanced))
        Self.learn(&target, seconds: 30) { now in Self.stalled(now, every: 2_000_000, height: height) }
        #expect(abs(target.microseconds - height) <= 20_000)
        Self.learn(&target, seconds: 40, from: 30_000_000) { _ in 3_000 }
        #expect(target.microseconds <= 10_000)
    }

    @Test("stalls too rare to wait for are not waited for")
    func rare() {
        var target = DelayTarget(Self.configuration(.balanced))
        Self.learn(&target, seconds: 120) { now in Self.stalled(now + 1, every: 20_000_000, height: 300_000) }
        #expect(target.microseconds <= 10_000)
    }

    @Test("minimum, maximum and pinned delay hold, whatever comes", arguments: [(40, 60), (0, 30), (100, 100)])
    func bounds(least: Int, most: Int) {
        var configuration = JitterConfiguration()
        configuration.delayMillisecondsMin = least
        configuration.delayMillisecondsMax = most
        var target = DelayTarget(configuration)
        Self.learn(&target, seconds: 20) { _ in 1_000 }
        #expect(target.microseconds >= Int64(least) * 1000)
        Self.learn(&target, seconds: 20, from: 20_000_000) { now in now / 20_000 % 2 * 50_000 + now / 40_000 % 2 * 30_000 }
        #expect(target.microseconds <= Int64(most) * 1000)
        configuration.pinnedDelayMilliseconds = 77
        target.configure(configuration)
        #expect(target.microseconds == 77_000 && target.microseconds(recent: 5_000_000) == 77_000)
    }

    @Test("nonsense in a configuration is brought within bounds", arguments: [(Int.min, Int.max), (Int.max, Int.min), (-1, -1)])
    func hostileBounds(least: Int, most: Int) {
        var configuration = JitterConfiguration()
        configuration.delayMillisecondsMin = least
        configuration.delayMillisecondsMax = most
        let target = DelayTarget(configuration)
        #expect((0...10_000_000).contains(target.microseconds))
        configuration.pinnedDelayMilliseconds = least
        #expect((0...10_000_000).contains(DelayTarget(configuration).microseconds))
    }

    @Test("while all that comes is later than the target, waiting for less is in vain")
    func edge() {
        var target = DelayTarget(JitterConfiguration())
        Self.learn(&target, seconds: 20) { _ in 1_000 }
        #expect(target.microseconds(recent: 200_000) >= 200_000)
        #expect(target.microseconds(recent: 3_000) == target.microseconds)
    }

    @Test("where the measure rises, what was learnt falls with it")
    func referenceRose() {
        var target = DelayTarget(JitterConfiguration())
        Self.learn(&target, seconds: 20) { now in 42_000 + now / 20_000 % 2 * 2_000 }
        target.referenceRose(by: 40_000)
        Self.learn(&target, seconds: 1, from: 20_000_000) { _ in 3_000 }
        #expect(target.microseconds <= 8_000)
    }
}

@Suite("What is done about the delay")
struct PlayoutControlTests {
    @Test(
        "small differences are left, larger ones stretched, large ones fast",
        arguments: [
            (-30_000, PlayoutControl.Advice.expand(30_000)), (-1_000, .keep), (0, .keep), (5_000, .keep), (15_000, .accelerate(15_000)),
            (45_000, .fastAccelerate(10_000)),
        ] as [(Int64, PlayoutControl.Advice)])
    func advice(excess: Int64, expected: PlayoutControl.Advice) {
        let control = PlayoutControl()
        #expect(control.advise(excess: excess, target: 40_000, lead: 0, isQuiet: false, now: 1_000_000) == expected)
    }

    @Test("after a stretch there is rest, unless much is to be done")
    func rest() {
        var control = PlayoutControl()
        control.stretched(now: 1_000_000)
        #expect(control.advise(excess: 15_000, target: 40_000, lead: 0, isQuiet: false, now: 1_010_000) == .keep)
        #expect(control.advise(excess: 45_000, target: 40_000, lead: 0, isQuiet: false, now: 1_010_000) == .fastAccelerate(10_000))
        #expect(control.advise(excess: 15_000, target: 40_000, lead: 0, isQuiet: false, now: 1_050_000) == .accelerate(15_000))
    }

    @Test(
        "in silence packets are brought to begin with pulls",
        arguments: [
            (0, 0, PlayoutControl.Advice.keep), (0, 6_000, .fastAccelerate(6_000)), (4_000, 6_000, .fastAccelerate(6_000)),
            (25_000, 6_000, .fastAccelerate(26_000)),
            (-4_000, 6_000, .expand(4_000)), (-4_000, 0, .expand(10_000)), (9_500, 0, .fastAccelerate(10_000)),
        ] as [(Int64, Int64, PlayoutControl.Advice)])
    func quiet(excess: Int64, lead: Int64, expected: PlayoutControl.Advice) {
        let control = PlayoutControl()
        #expect(control.advise(excess: excess, target: 40_000, lead: lead, isQuiet: true, now: 1_000_000) == expected)
    }

    @Test("what may be left of an excess falls to nothing in the time that is guaranteed", arguments: [50_000, 400_000, 3_000_000] as [Int64])
    func shrink(excess: Int64) {
        var control = PlayoutControl()
        let start: Int64 = 5_000_000
        var left = excess
        var now = start
        // Nothing is stretched; only what is beyond goes.
        while now <= start + PlayoutControl.shrinkMilliseconds * 1000 {
            left -= control.beyond(excess: left, excessMax: 500_000, now: now)
            if now == start { #expect(left == min(excess, 500_000)) }
            now += 10_000
        }
        #expect(left <= PlayoutControl.toleranceMicroseconds)
    }
}
