import JitterBuffer
import RelayBase

/// A payload says how many samples of which value it is, and how many of which it carries of the packet before. Mono.
struct NumberDecoder: ~Copyable, JitterDecoder {
    let sampleRate: Int
    let channels = 1
    /// Makes this where a packet is missing; without it the buffer has to.
    var concealed: Float?

    init(sampleRate: Int = 48_000, concealed: Float? = nil) {
        self.sampleRate = sampleRate
        self.concealed = concealed
    }

    /// Negative counts are damage that only decoding finds.
    static func payload(_ count: Int, _ value: Float, isDamaged: Bool = false, redundant: Int = 0, redundantValue: Float = 0) -> [Float] {
        [Float(count), value, isDamaged ? 1 : 0, Float(redundant), redundantValue]
    }

    private func field(_ place: Int, _ payload: RawSpan) -> Float {
        payload.byteCount >= 20 ? unsafe payload.unsafeLoadUnaligned(fromByteOffset: 4 * place, as: Float.self) : 0
    }

    func sampleCount(of payload: RawSpan) -> Int { Int(field(0, payload)) }
    func redundantSampleCount(of payload: RawSpan) -> Int { Int(field(3, payload)) }

    mutating func decode(_ payload: RawSpan, into samples: inout MutableSpan<Float>) -> Int {
        guard field(2, payload) == 0 else { return 0 }
        let count = sampleCount(of: payload)
        for place in 0..<count { samples[place] = field(1, payload) }
        return count
    }

    mutating func decodeRedundancy(of payload: RawSpan, sampleCount: Int, into samples: inout MutableSpan<Float>) -> Int {
        for place in 0..<sampleCount { samples[place] = field(4, payload) }
        return sampleCount
    }

    mutating func conceal(sampleCount: Int, into samples: inout MutableSpan<Float>) -> Int {
        guard let concealed else { return 0 }
        for place in 0..<sampleCount { samples[place] = concealed }
        return sampleCount
    }

    mutating func reset() {}
}

/// A buffer with a clock of its own: offers packets and pulls by milliseconds.
struct Bench: ~Copyable {
    var buffer: AudioJitterBuffer<NumberDecoder>
    var now: UInt64 = 0
    var outcomes: [PlayoutOutcome] = []
    /// The middle sample of each pull.
    var values: [Float] = []

    init(_ configuration: JitterConfiguration = JitterConfiguration(), concealed: Float? = nil) {
        buffer = AudioJitterBuffer(configuration, decoder: NumberDecoder(sampleRate: configuration.sampleRate, concealed: concealed))
    }

    var instant: MonotonicInstant { MonotonicInstant.zero.advanced(byMilliseconds: now) }

    /// A packet of 20 ms whose value is its sequence number over 1,000.
    @discardableResult
    mutating func offer(
        _ sequence: UInt32, timestamp: UInt32? = nil, count: Int = 960, value: Float? = nil, isDamaged: Bool = false, redundant: Int = 0,
        isDiscontinuity: Bool = false, isSilence: Bool = false
    ) -> InsertOutcome {
        let payload = NumberDecoder.payload(
            count, value ?? Float(sequence % 1000) / 1000, isDamaged: isDamaged, redundant: redundant,
            redundantValue: Float((sequence &- 1) % 1000) / 1000)
        return buffer.insert(
            JitterPacket(
                sequence: sequence, timestamp: timestamp ?? sequence &* 960, isDiscontinuity: isDiscontinuity, isSilence: isSilence),
            payload: unsafe payload.span.bytes, now: instant)
    }

    mutating func pull() {
        var out = [Float](repeating: 0, count: buffer.configuration.sampleRate / 100)
        let instant = instant
        var span = out.mutableSpan
        let outcome = buffer.pull(into: &span, now: instant)
        outcomes.append(outcome)
        values.append(out[out.count / 2])
        now += 10
    }

    mutating func pull(_ times: Int) { for _ in 0..<times { pull() } }

    /// Packets on time, pulls on time.
    mutating func play(_ sequences: Range<UInt32>, leavingOut: Set<UInt32> = [], redundant: Int = 0) {
        for sequence in sequences {
            if !leavingOut.contains(sequence) { offer(sequence, redundant: redundant) }
            pull(2)
        }
    }

    /// What was played, each packet once.
    var played: [Int] {
        var found: [Int] = []
        for (value, outcome) in zip(values, outcomes) where outcome.isAudible && outcome.decision != .conceal {
            let number = Int((value * 1000).rounded())
            if found.last != number { found.append(number) }
        }
        return found
    }
}
