import JitterBuffer
import RelayBase
import Testing

@Suite("What is played of what comes")
struct PlaybackTests {
    static func configuration(_ profile: JitterProfile) -> JitterConfiguration {
        var configuration = JitterConfiguration()
        configuration.profile = profile
        return configuration
    }

    @Test("a steady stream plays whole", arguments: JitterProfile.allCases)
    func steady(profile: JitterProfile) {
        let playback = Playback.play(TracePattern.steady(), Self.configuration(profile), tailMilliseconds: 0)
        #expect(playback.statistics.concealedSamples == 0)
        #expect(playback.statistics.discarded == 0)
        #expect(playback.statistics.late == 0)
        #expect(playback.meanDelay <= (profile == .smooth ? 55 : 20))
    }

    struct Bound: Sendable { var name: String, trace: Trace, concealed: Double, delay: Double }

    /// No worse than this with the balanced profile: figures with some room, so that a change for the worse shows.
    @Test(
        "each pattern stays within its bounds",
        arguments: [
            Bound(name: "Gaussian 5 ms", trace: TracePattern.gaussian(milliseconds: 5), concealed: 0.005, delay: 17),
            Bound(name: "Gaussian 20 ms", trace: TracePattern.gaussian(milliseconds: 20), concealed: 0.006, delay: 43),
            Bound(
                name: "Gaussian 20 ms, out of order", trace: TracePattern.gaussian(milliseconds: 20, isOrdered: false), concealed: 0.006, delay: 44),
            Bound(name: "Gilbert", trace: TracePattern.gilbert(), concealed: 0.03, delay: 20),
            Bound(name: "stalls, rare", trace: TracePattern.stalls(everySeconds: 10, milliseconds: 250...350), concealed: 0.035, delay: 25),
            Bound(name: "stalls, often", trace: TracePattern.stalls(everySeconds: 2, milliseconds: 100...200), concealed: 0.02, delay: 160),
            Bound(
                name: "1 % loss, 100 ms", trace: TracePattern.retransmissions(lossPercent: 1, roundTripMilliseconds: 100), concealed: 0.02, delay: 160
            ),
            Bound(
                name: "3 % loss, 200 ms", trace: TracePattern.retransmissions(lossPercent: 3, roundTripMilliseconds: 200), concealed: 0.04, delay: 240
            ),
        ])
    func patterns(_ bound: Bound) {
        let playback = Playback.play(bound.trace, tailMilliseconds: 0)
        #expect(playback.concealedRatio <= bound.concealed, "\(bound.name)")
        #expect(playback.meanDelay <= bound.delay, "\(bound.name)")
    }

    struct Spike: Sendable { var milliseconds: Double, sound: Playback.Sound, name: String }

    @Test(
        "after a stall the delay is within 20 ms of the target of before within five seconds",
        arguments: [
            Spike(milliseconds: 300, sound: .speechLike, name: "speech"), Spike(milliseconds: 300, sound: .noise, name: "noise"),
            Spike(milliseconds: 2_000, sound: .speechLike, name: "speech"), Spike(milliseconds: 2_000, sound: .tone(440), name: "tone"),
            Spike(milliseconds: 2_000, sound: .noise, name: "noise"), Spike(milliseconds: 2_000, sound: .silence, name: "silence"),
            Spike(milliseconds: 5_000, sound: .speechLike, name: "speech"), Spike(milliseconds: 5_000, sound: .noise, name: "noise"),
        ], JitterProfile.allCases)
    func shrinks(_ spike: Spike, profile: JitterProfile) {
        let length = spike.milliseconds...spike.milliseconds
        let trace = TracePattern.stalls(seconds: 30, everySeconds: 100, milliseconds: length, firstAt: 10)
        let playback = Playback.play(trace, Self.configuration(profile), sound: spike.sound, tailMilliseconds: 0)
        let before = playback.targets[990]
        let back = 1_000 + Int(spike.milliseconds) / 10 + 5
        // The guarantee, and what the issue asks.
        let guaranteed = back + Int(PlayoutControl.shrinkMilliseconds) / 10
        let worst = playback.delays[(guaranteed + 10)...].max() ?? 0
        #expect(worst <= before + 20 + 20, "the packet's own length and the tolerance, at most")
        #expect((playback.delays[(back + 500)...].max() ?? 0) <= before + 20)
        // All that was concealed is the stall; what came after it was not torn up.
        #expect(playback.statistics.concealmentEvents <= 3)
    }

    @Test("clocks that drift apart for ten minutes: no growth of the delay, hardly any concealment", arguments: [-500.0, 500, -1_500, 1_500])
    func drift(ppm: Double) {
        let trace = TracePattern.gaussian(seconds: 600, milliseconds: 4, driftPPM: ppm)
        let playback = Playback.play(trace, tailMilliseconds: 0)
        #expect(playback.concealedRatio < 0.005)
        #expect((playback.delays.suffix(3_000).max() ?? 0) <= 35)
        #expect((playback.delays.dropFirst(500).max() ?? 0) <= 45)
        #expect(playback.statistics.discarded == 0)
        #expect(abs(Double(playback.statistics.driftPartsPerMillion) - ppm) < 30)
    }

    @Test("a link that is too slow for two seconds is followed, and leaves no delay behind")
    func ramp() {
        // Each packet 3.5 ms later than the one before, four times; then all that queued up at once.
        let trace = Trace.make(seconds: 60, isOrdered: true) { place, _ in
            let slow = place % 500 - 300
            return 2_000 + (slow > 0 && slow <= 100 ? Int64(slow) * 3_500 : 0)
        }
        let playback = Playback.play(trace, tailMilliseconds: 0)
        #expect(playback.concealedRatio <= 0.03)
        #expect(playback.statistics.interruptions == 0)
        // A second after each, as before.
        for end in stride(from: 900, to: 6_000, by: 1_000) {
            #expect((playback.delays[end..<min(end + 300, playback.delays.count)].max() ?? 0) <= 40)
        }
    }

    @Test("who pulls unevenly has that added to the target: hardly anything is concealed for it")
    func unevenPulls() {
        var bench = Bench()
        for sequence in 0..<1_000 as Range<UInt32> {
            bench.offer(sequence)
            // Pulls at 0, 16, 20, 36 … ms: every second one is 6 ms late.
            bench.pull()
            bench.now += 6
            bench.pull()
            bench.now -= 6
        }
        #expect(Double(bench.buffer.statistics.concealedSamples) / Double(bench.buffer.statistics.samplesPlayed) < 0.005)
    }

    @Test("a lone spike of one packet costs no more than itself")
    func spike() {
        let trace = Trace.make(seconds: 30, isOrdered: false) { place, _ in place % 500 == 400 ? 180_000 : 2_000 }
        let playback = Playback.play(trace, tailMilliseconds: 0)
        #expect(playback.statistics.late == 3)
        #expect(playback.statistics.concealmentEvents <= 3)
        #expect(playback.meanDelay <= 20)
    }

    @Test("a path that becomes longer, and shorter again", arguments: [50, 300] as [Int64])
    func pathChange(milliseconds: Int64) {
        let trace = Trace.make(seconds: 40, isOrdered: true) { _, sent in (10_000_000..<25_000_000).contains(sent) ? milliseconds * 1000 : 1_000 }
        let playback = Playback.play(trace, tailMilliseconds: 0)
        #expect(playback.statistics.concealmentEvents <= 3)
        #expect(Double(playback.statistics.concealedSamples) / 48 <= Double(milliseconds) + 40)
        // Ten seconds after each change as before.
        #expect((playback.delays[2_200..<2_480].max() ?? 0) <= 40)
        #expect((playback.delays[3_700...].max() ?? 0) <= 40)
    }

    @Test("a sender that pauses and goes on where it was costs its pause once")
    func pause() {
        let trace = Trace.make(seconds: 40, isOrdered: true) { _, sent in sent >= 10_000_000 ? 3_000_000 : 1_000 }
        let playback = Playback.play(trace, tailMilliseconds: 0)
        #expect(playback.statistics.discarded <= 3)
        #expect((playback.delays[2_500...].max() ?? 0) <= 40)
        #expect(Double(playback.statistics.concealedSamples) / 48 <= 3_100)
    }

    @Test("what the relay let expire leaves a gap that is concealed once, and the delay is as before")
    func expiry() {
        // Of a stall of a second, the first 800 ms never come.
        let trace = Trace.make(seconds: 30, isOrdered: true) { _, sent in
            (10_000_000..<10_800_000).contains(sent) ? nil : (10_800_000..<11_000_000).contains(sent) ? 11_000_000 - sent : 2_000
        }
        let playback = Playback.play(trace, tailMilliseconds: 0)
        #expect(playback.statistics.concealmentEvents == 1)
        #expect(Double(playback.statistics.concealedSamples) / 48 <= 1_000)
        #expect((playback.delays[1_400...].max() ?? 0) <= 40)
    }

    @Test("other rates and two channels", arguments: [8_000, 16_000, 24_000, 48_000], [1, 2])
    func formats(rate: Int, channels: Int) {
        var configuration = JitterConfiguration()
        configuration.sampleRate = rate
        configuration.channels = channels
        let playback = Playback.play(TracePattern.stalls(seconds: 20, everySeconds: 3, milliseconds: 100...300), configuration, tailMilliseconds: 0)
        #expect(playback.concealedRatio <= 0.06)
        #expect(playback.statistics.late == 0)
        #expect(playback.statistics.samplesPlayed == UInt64(playback.decisions.count * rate / 100))
    }

    @Test("the same trace gives the same decisions and the same samples")
    func deterministic() {
        let trace = TracePattern.stalls(seconds: 20, everySeconds: 2, milliseconds: 50...400)
        let first = Playback.play(trace, isKeepingSamples: true)
        let second = Playback.play(trace, isKeepingSamples: true)
        #expect(first.decisions == second.decisions && first.samples == second.samples && first.statistics == second.statistics)
    }
}
