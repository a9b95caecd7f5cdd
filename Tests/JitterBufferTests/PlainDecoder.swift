import JitterBuffer

/// A payload is Int16 samples in the machine's order; a trailing odd byte marks that the packet before rides along at half the rate of samples… kept simple:
/// none does. Conceals nothing by itself.
struct PlainDecoder: ~Copyable, JitterDecoder {
    let sampleRate: Int
    let channels: Int
    /// What the decoder was asked to do, in order.
    var resets = 0

    init(sampleRate: Int = 48_000, channels: Int = 1) {
        self.sampleRate = sampleRate
        self.channels = channels
    }

    func sampleCount(of payload: RawSpan) -> Int { payload.byteCount / (2 * channels) }
    func redundantSampleCount(of payload: RawSpan) -> Int { 0 }

    mutating func decode(_ payload: RawSpan, into samples: inout MutableSpan<Float>) -> Int {
        let count = sampleCount(of: payload)
        guard count * channels <= samples.count else { return 0 }
        for place in 0..<count * channels {
            samples[place] = Float(unsafe payload.unsafeLoadUnaligned(fromByteOffset: 2 * place, as: Int16.self)) / 32_768
        }
        return count
    }

    mutating func decodeRedundancy(of payload: RawSpan, sampleCount: Int, into samples: inout MutableSpan<Float>) -> Int { 0 }
    mutating func conceal(sampleCount: Int, into samples: inout MutableSpan<Float>) -> Int { 0 }
    mutating func reset() { resets += 1 }
}
