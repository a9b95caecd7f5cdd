import JitterBuffer
import RelayBase
import Testing

@Suite("What is played of what comes")
struct PlaybackTests {
    @Test("a steady stream plays whole", arguments: JitterProfile.allCases)
    func steady(profile: JitterProfile) {
        var configuration = JitterConfiguration()
        configuration.profile = profile
        let playback = Playback.play(TracePattern.steady(), configuration, tailMilliseconds: 0)
        #expect(playback.statistics.concealedSamples == 0)
        #expect(playback.statistics.discarded == 0)
        #expect(playback.statistics.late == 0)
    }
}
