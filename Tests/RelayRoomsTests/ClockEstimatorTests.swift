import RelayBase
import Testing

@testable import RelayRooms

/// A client's clock and the path to it, made up.
private struct SyntheticClock {
    var generator: SeededGenerator
    /// The client's clock: its offset against the relay's at the start, and how much faster it runs.
    var offset = 0.0
    var driftPPM = 0.0
    /// One way, in milliseconds: what it takes at least, and the mean of what comes on top (exponential, which has a long tail).
    var up = 10.0
    var down = 10.0
    var jitter = 0.0

    /// The relay's clock.
    var now = 1_760_000_000_000.0
    private let start = 1_760_000_000_000.0

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
    }

    /// When the relay answered last, by its clock.
    private var answeredAt = 1_760_000_000_000.0

    func clientClock(at relay: Double) -> Double { relay + offset + (relay - start) * driftPPM / 1e6 }

    private mutating func delay(_ least: Double) -> Double {
        guard jitter > 0 else { return least }
        // −ln of a uniform number, by its series' stand-in: a sum of bits, each half as likely, is geometric; halves within make it fine.
        var tail = 0.0
        while Bool.random(using: &generator), tail < 20 { tail += 1 }
        return least + jitter * 0.7 * (tail + Double.random(in: 0..<1, using: &generator))
    }

    /// One exchange, completed.
    mutating func exchange(_ estimator: inout ClockEstimator) -> ClockEstimator.Outcome {
        let sent = now
        let answered = sent + delay(up)
        let received = answered + delay(down)
        estimator.answered(clientTime: clientClock(at: sent), serverTime: answered)
        now = received
        answeredAt = answered
        return estimator.completed(clientTime: clientClock(at: sent), serverTime: answered, received: clientClock(at: received))
    }

    mutating func run(_ estimator: inout ClockEstimator, seconds: Double, every milliseconds: Double) {
        let end = now + seconds * 1_000
        while now < end {
            let next = now + milliseconds
            _ = exchange(&estimator)
            now = max(now, next)
        }
    }

    /// The truth at the newest exchange.
    var offsetNow: Double { clientClock(at: answeredAt) - answeredAt }
}

@Suite("A client's clock by time exchanges")
struct ClockEstimatorTests {
    @Test(
        "on a path without jitter the offset is exact to 0.1 ms and the drift to 1 ppm, after half a minute already",
        arguments: [-200.0, -50, -1, 0, 0.5, 50, 200], [-1.76e12, -3_600_000, 0, 12.25])
    func withoutJitter(drift: Double, offset: Double) throws {
        var clock = SyntheticClock(seed: 1)
        clock.driftPPM = drift
        clock.offset = offset
        var estimator = ClockEstimator()
        clock.run(&estimator, seconds: 30, every: 1_000)
        let estimate = try #require(estimator.estimate)
        #expect(abs(estimate.offsetMilliseconds - clock.offsetNow) < 0.1)
        #expect(abs(try #require(estimate.driftPPM) - drift) < 1)
        #expect(abs(estimate.roundTripMillisecondsMin - 20) < 0.1)
        #expect(abs(estimate.uncertaintyMilliseconds - 10) < 0.1)
    }

    @Test(
        "with 5 ms of jitter a way, ten minutes of exchanges give the drift to 5 ppm and the offset to 3 ms",
        arguments: [-200.0, -20, 0, 20, 200], UInt64(1)...6)
    func jitter(drift: Double, seed: UInt64) throws {
        var clock = SyntheticClock(seed: seed)
        clock.driftPPM = drift
        clock.offset = 500
        clock.jitter = 5
        var estimator = ClockEstimator()
        clock.run(&estimator, seconds: 600, every: 2_000)
        let estimate = try #require(estimator.estimate)
        #expect(abs(try #require(estimate.driftPPM) - drift) < 5)
        #expect(abs(estimate.offsetMilliseconds - clock.offsetNow) < 3)
        #expect(estimator.steps == 0)
    }

    @Test(
        "an asymmetric path shifts the offset by half the difference, within the stated uncertainty, and leaves the drift alone",
        arguments: [(1.0, 80.0), (80, 1)])
    func asymmetry(up: Double, down: Double) throws {
        var clock = SyntheticClock(seed: 3)
        clock.driftPPM = 30
        (clock.up, clock.down) = (up, down)
        var estimator = ClockEstimator()
        clock.run(&estimator, seconds: 120, every: 2_000)
        let estimate = try #require(estimator.estimate)
        let error = estimate.offsetMilliseconds - clock.offsetNow
        #expect(abs(error - (down - up) / 2) < 0.1)
        #expect(abs(error) <= estimate.uncertaintyMilliseconds)
        #expect(abs(try #require(estimate.driftPPM) - 30) < 1)
    }

    @Test("three in ten samples that are held up on one way only do not bend the drift by more than 3 ppm")
    func outliers() throws {
        var clock = SyntheticClock(seed: 4)
        clock.driftPPM = -40
        var estimator = ClockEstimator()
        for round in 0..<300 {
            clock.down = round % 10 < 3 ? 400 : 10
            _ = clock.exchange(&estimator)
            clock.now += 1_900
        }
        #expect(abs(try #require(estimator.estimate?.driftPPM) + 40) < 3)
    }

    @Test(
        "a clock that is set is noticed at once, and the new offset holds; nothing of the old is mixed in",
        arguments: [-3_600_000.0, -500, 500, 86_400_000])
    func step(by: Double) throws {
        var clock = SyntheticClock(seed: 5)
        clock.jitter = 2
        var estimator = ClockEstimator()
        clock.run(&estimator, seconds: 60, every: 1_000)
        clock.offset += by
        #expect(clock.exchange(&estimator) == .stepped)
        #expect(estimator.steps == 1)
        #expect(abs(try #require(estimator.estimate).offsetMilliseconds - clock.offsetNow) < 15)
        #expect(estimator.estimate?.driftPPM == nil)
        clock.run(&estimator, seconds: 60, every: 1_000)
        #expect(estimator.steps == 1)
        #expect(abs(try #require(estimator.estimate).offsetMilliseconds - clock.offsetNow) < 5)
    }

    @Test("a drift that changes is followed within the window")
    func newDrift() throws {
        var clock = SyntheticClock(seed: 6)
        clock.driftPPM = 100
        var estimator = ClockEstimator()
        clock.run(&estimator, seconds: 900, every: 5_000)
        // The clock's face must not jump when its rate changes.
        clock.offset += clock.offsetNow - clock.offset
        clock.driftPPM = 0
        clock.run(&estimator, seconds: 700, every: 5_000)
        #expect(abs(try #require(estimator.estimate?.driftPPM)) < 2)
    }

    @Test("memory stays bounded over a day, whatever the pace", arguments: [10.0, 250, 5_000, 60_000])
    func bounded(milliseconds: Double) throws {
        var clock = SyntheticClock(seed: 7)
        (clock.up, clock.down) = (1, 1)
        clock.driftPPM = 25
        var estimator = ClockEstimator()
        clock.run(&estimator, seconds: milliseconds < 1_000 ? 700 : 86_400, every: milliseconds)
        #expect(estimator.sampleCount <= ClockEstimator.bucketsMax)
        #expect(abs(try #require(estimator.estimate?.driftPPM) - 25) < 1)
    }

    @Test("nothing is said of a drift before ten seconds of samples")
    func early() {
        var clock = SyntheticClock(seed: 8)
        var estimator = ClockEstimator()
        #expect(estimator.estimate == nil)
        clock.run(&estimator, seconds: 9, every: 200)
        #expect(estimator.estimate != nil)
        #expect(estimator.estimate?.driftPPM == nil)
    }

    @Test("an exchange counts once, and only one that was answered")
    func once() {
        var estimator = ClockEstimator()
        #expect(estimator.completed(clientTime: 1, serverTime: 2, received: 3) == .unknown)
        estimator.answered(clientTime: 10, serverTime: 1_000)
        #expect(estimator.completed(clientTime: 10, serverTime: 5_000, received: 12) == .unknown, "another serverTime than was answered")
        #expect(estimator.completed(clientTime: 10, serverTime: 1_000, received: 12) == .taken)
        #expect(estimator.completed(clientTime: 10, serverTime: 1_000, received: 12) == .unknown)
        for number in 0..<10 { estimator.answered(clientTime: Double(number), serverTime: 2_000 + Double(number)) }
        #expect(estimator.completed(clientTime: 0, serverTime: 2_000, received: 1) == .unknown, "forgotten: four are remembered")
        #expect(estimator.completed(clientTime: 9, serverTime: 2_009, received: 11) != .unknown)
    }

    @Test(
        "clocks that go back, round trips of minutes and numbers without end are refused and change nothing",
        arguments: [
            (10.0, 9.0), (0, 60_001), (0, 1e300), (-1e15, 1e15), (0, .infinity), (0, .nan), (.nan, .nan), (.infinity, .infinity), (-1e308, 1e308),
        ])
    func hostile(clientTime: Double, received: Double) {
        var estimator = ClockEstimator()
        estimator.answered(clientTime: 5, serverTime: 100)
        #expect(estimator.completed(clientTime: 5, serverTime: 100, received: 6) == .taken)
        let before = estimator.estimate
        estimator.answered(clientTime: clientTime, serverTime: 200)
        let outcome = estimator.completed(clientTime: clientTime, serverTime: 200, received: received)
        #expect(outcome == .implausible || outcome == .unknown)
        #expect(estimator.estimate == before)
    }

    @Test("a client that says anything at all gets a finite estimate or none", arguments: UInt64(0)..<50)
    func lies(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var estimator = ClockEstimator()
        var serverTime = 1_760_000_000_000.0
        for _ in 0..<500 {
            let clientTime = Double.random(in: -1e15...1e15, using: &generator)
            serverTime += Double.random(in: 0...5_000, using: &generator)
            estimator.answered(clientTime: clientTime, serverTime: serverTime)
            _ = estimator.completed(
                clientTime: clientTime, serverTime: serverTime, received: clientTime + Double.random(in: -10...70_000, using: &generator))
            guard let estimate = estimator.estimate else { continue }
            #expect(estimate.offsetMilliseconds.isFinite && estimate.roundTripMilliseconds >= 0 && (estimate.driftPPM ?? 0).isFinite)
        }
        #expect(estimator.sampleCount <= ClockEstimator.bucketsMax)
    }
}

@Suite("Round trips by pings")
struct PingTests {
    private func at(_ milliseconds: UInt64) -> MonotonicInstant { MonotonicInstant.zero.advanced(byMilliseconds: 1_000_000 + milliseconds) }

    @Test("RFC 6455 §5.5.3 a pong gives the time since its own ping, and answers those before it")
    func matched() {
        var pings = PingTracker(start: at(0))
        let first = pings.sent(at: at(10))
        let second = pings.sent(at: at(20))
        let third = pings.sent(at: at(30))
        #expect(Set([first, second, third]).count == 3)
        #expect(pings.answered(second, at: at(27)) == 7_000_000)
        #expect(pings.answered(first, at: at(28)) == nil)
        #expect(pings.answered(second, at: at(28)) == nil)
        #expect(pings.answered(third, at: at(30)) == 0)
    }

    @Test("a pong that nobody asked for is no round trip", arguments: [0, 1, UInt64.max])
    func unsolicited(payload: UInt64) {
        var pings = PingTracker(start: at(0))
        #expect(pings.answered(payload, at: at(5)) == nil)
        _ = pings.sent(at: at(7))
        #expect(pings.answered(payload, at: at(9)) == nil)
    }

    @Test("of many pings without an answer the last four are remembered; two in one nanosecond are told apart")
    func bounded() {
        var pings = PingTracker(start: at(0))
        let payloads = (0..<100).map { _ in pings.sent(at: at(3)) }
        #expect(Set(payloads).count == 100)
        #expect(pings.answered(payloads[95], at: at(9)) == nil)
        #expect(pings.answered(payloads[96], at: at(9)) != nil)
    }

    @Test("RFC 6298 §2 the round trip is smoothed by an eighth, and its least is kept")
    func smoothed() {
        var estimate = RoundTripEstimate()
        #expect(estimate.smoothedMilliseconds == nil && estimate.millisecondsMin == nil)
        estimate.add(nanoseconds: 8_000_000)
        #expect(estimate.smoothedNanoseconds == 8_000_000 && estimate.variationNanoseconds == 4_000_000)
        estimate.add(nanoseconds: 16_000_000)
        #expect(estimate.smoothedNanoseconds == 9_000_000 && estimate.variationNanoseconds == 5_000_000)
        #expect(estimate.millisecondsMin == 8)
        for _ in 0..<10_000 { estimate.add(nanoseconds: .max) }
        #expect(estimate.smoothedNanoseconds <= 86_400_000_000_000)
    }
}
