import RelayBase

@testable import AudioEngine

/// Sound that tests make, and what they measure of it.
enum TestSound {
    static func sine(_ hertz: Double, amplitude: Float = 0.5, count: Int, sampleRate: Int = 48_000, channels: Int = 1, from start: Int = 0) -> [Float]
    {
        (0..<count * channels).map { index in
            // By a recurrence-free series: tests need no library for a sine.
            amplitude * Float(sine(2 * .pi * (hertz * Double(start + index / channels) / Double(sampleRate)).truncatingRemainder(dividingBy: 1)))
        }
    }

    /// A sine by its Taylor series after reduction to −π/2…π/2: exact to 1e-12.
    static func sine(_ angle: Double) -> Double {
        var x = angle.truncatingRemainder(dividingBy: 2 * .pi)
        if x > .pi { x -= 2 * .pi }
        if x < -.pi { x += 2 * .pi }
        if x > .pi / 2 { x = .pi - x }
        if x < -.pi / 2 { x = -.pi - x }
        var (term, sum) = (x, x)
        for k in 1...10 {
            term *= -x * x / Double(2 * k * (2 * k + 1))
            sum += term
        }
        return sum
    }

    static func noise(amplitude: Float, count: Int, seed: UInt64) -> [Float] {
        var random = SeededGenerator(seed: seed)
        return (0..<count).map { _ in Float.random(in: -amplitude...amplitude, using: &random) }
    }

    /// Something like a voice: harmonics of a pitch under a syllable's envelope of 4 Hz.
    static func voice(pitch: Double = 120, amplitude: Float = 0.3, count: Int, sampleRate: Int = 48_000, from start: Int = 0) -> [Float] {
        (0..<count).map { index in
            let time = Double(start + index) / Double(sampleRate)
            var sum = 0.0
            for harmonic in 1...12 { sum += sine(2 * .pi * pitch * Double(harmonic) * time + Double(harmonic * harmonic)) / Double(harmonic) }
            let envelope = 0.55 + 0.45 * sine(2 * .pi * 4 * time)
            return amplitude * Float(sum * envelope * 0.5)
        }
    }

    static func meanSquare(_ samples: some Collection<Float>) -> Double {
        samples.isEmpty ? 0 : samples.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(samples.count)
    }

    static func decibels(_ ratio: Double) -> Double { Double(LevelMeter.decibels(meanSquare: Float(max(ratio, 1e-12)))) }

    /// The amplitude of one frequency in the samples (Goertzel with a Hann window).
    static func amplitude(of hertz: Double, in samples: some Collection<Float>, sampleRate: Int = 48_000) -> Double {
        let count = samples.count
        var (real, imaginary, weights) = (0.0, 0.0, 0.0)
        for (index, sample) in samples.enumerated() {
            let window = 0.5 - 0.5 * sine(2 * .pi * Double(index) / Double(count) + .pi / 2)
            let angle = 2 * .pi * (hertz * Double(index) / Double(sampleRate)).truncatingRemainder(dividingBy: 1)
            real += Double(sample) * window * sine(angle + .pi / 2)
            imaginary += Double(sample) * window * sine(angle)
            weights += window
        }
        return 2 * (real * real + imaginary * imaginary).squareRoot() / weights
    }

    /// The loudest step between two samples.
    static func greatestStep(_ samples: some Collection<Float>) -> Float {
        zip(samples, samples.dropFirst()).map { abs($1 - $0) }.max() ?? 0
    }
}

/// Codecs over arrays, for tests.
struct Packets {
    static func encode(_ encoder: inout OpusFrameEncoder, _ samples: [Float]) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 4_000)
        var elements = bytes.mutableSpan
        var room = unsafe elements.mutableBytes
        let count = encoder.encode(samples.span, into: &room)
        return Array(bytes.prefix(count))
    }

    static func encode(_ format: PCMFormat, _ samples: [Float]) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: samples.count * format.bytesPerSample)
        var elements = bytes.mutableSpan
        var room = unsafe elements.mutableBytes
        let count = format.encode(samples.span, into: &room)
        return Array(bytes.prefix(count))
    }
}

extension OpusFrameDecoder {
    mutating func decode(_ packet: [UInt8]) -> [Float] {
        var samples = [Float](repeating: 0, count: sampleRate * 3 / 25 * channels)
        var room = samples.mutableSpan
        let count = decode(packet.raw, into: &room)
        return Array(samples.prefix(count * channels))
    }
}

extension OpusFrameDecoder {
    func redundancy(of packet: [UInt8]) -> Int { redundantSampleCount(of: packet.raw) }

    mutating func recover(from packet: [UInt8], count: Int) -> [Float] {
        var samples = [Float](repeating: 0, count: sampleRate * 3 / 25 * channels)
        var room = samples.mutableSpan
        let made = decodeRedundancy(of: packet.raw, sampleCount: count, into: &room)
        return Array(samples.prefix(made * channels))
    }

    mutating func conceal(count: Int) -> [Float] {
        var samples = [Float](repeating: 0, count: sampleRate * 3 / 25 * channels)
        var room = samples.mutableSpan
        let made = conceal(sampleCount: count, into: &room)
        return Array(samples.prefix(made * channels))
    }
}

extension StreamDecoder {
    mutating func decode(_ packet: [UInt8]) -> [Float] {
        var samples = [Float](repeating: 0, count: sampleRate * 3 / 25 * channels)
        var room = samples.mutableSpan
        let count = decode(packet.raw, into: &room)
        return Array(samples.prefix(count * channels))
    }
}

extension [UInt8] {
    var raw: RawSpan {
        @_lifetime(borrow self)
        get { unsafe span.bytes }
    }
}
