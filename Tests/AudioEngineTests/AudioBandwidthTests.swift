import RelayBase
import Testing

@testable import AudioEngine

@Suite("RFC 6716 §2 audio bandwidths")
struct AudioBandwidthTests {
    @Test("a wider one has a higher sample rate")
    func order() {
        #expect(AudioBandwidth.allCases.sorted() == AudioBandwidth.allCases)
        #expect(AudioBandwidth.allCases.map(\.sampleRate) == AudioBandwidth.allCases.map(\.sampleRate).sorted())
        #expect(Set(AudioBandwidth.allCases.map(\.opus)).count == AudioBandwidth.allCases.count)
    }
}
