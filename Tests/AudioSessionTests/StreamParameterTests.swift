import AudioSession
import Testing

@Suite("Stream parameters")
struct StreamParameterTests {
    private static func render(_ parameters: inout StreamParameters, _ count: Int, channels: Int = 1) -> [Float] {
        var samples = [Float](repeating: 1, count: count)
        var span = samples.mutableSpan
        parameters.render(&span, channels: channels)
        return samples
    }

    @Test("§6 parameters are Float32 in their ranges; the bounds belong to them, and what is no number does not")
    func ranges() throws {
        for volume in [Float(0), 0.25, 1] { #expect(try ParameterChange(volume: volume).volume == volume) }
        for rate in [Float(0.5), 1, 2] { #expect(try ParameterChange(rate: rate).rate == rate) }
        for pan in [Float(-1), 0, 1] { #expect(try ParameterChange(pan: pan).pan == pan) }
        for ramp in [0, 20, 60_000.0] { #expect(try ParameterChange(rampMilliseconds: ramp).rampMilliseconds == ramp) }
        for volume in [Float(-0.01), 1.01, .nan, .infinity] { #expect(throws: ParameterFault.volume) { try ParameterChange(volume: volume) } }
        for rate in [Float(0), 0.49, 2.01, .nan, -1] { #expect(throws: ParameterFault.rate) { try ParameterChange(rate: rate) } }
        for pan in [Float(-1.01), 1.01, .nan] { #expect(throws: ParameterFault.pan) { try ParameterChange(pan: pan) } }
        for ramp in [-1, 60_001, .nan, .infinity] { #expect(throws: ParameterFault.ramp) { try ParameterChange(rampMilliseconds: ramp) } }
    }

    @Test("every fault of a parameter says its range", arguments: ParameterFault.allCases)
    func texts(fault: ParameterFault) {
        #expect(fault.text.contains("to"))
    }

    @Test("§6 a volume ramp is linear and exact to the sample", arguments: [(Float(0), Float(1)), (1, 0), (0.25, 0.75), (0.5, 0.5)])
    func linear(start: Float, end: Float) throws {
        var parameters = StreamParameters()
        parameters.apply(try ParameterChange(volume: start), sampleRate: 48_000)
        parameters.apply(try ParameterChange(volume: end, rampMilliseconds: 1), sampleRate: 48_000)
        let rendered = Self.render(&parameters, 60)
        for sample in 0..<60 {
            let expected = sample < 48 ? Float(Double(start) + (Double(end) - Double(start)) * Double(sample) / 48) : end
            #expect(rendered[sample] == expected, "sample \(sample)")
        }
        #expect(parameters.volume == end)
    }

    @Test("§6 a ramp of a minute ends on its very sample")
    func longRamp() {
        var ramp = GainRamp(from: 0, to: 1, sampleCount: 2_880_000)
        for _ in 0..<2_879_999 { ramp.advance() }
        #expect(ramp.gain < 1 && !ramp.isOver)
        ramp.advance()
        #expect(ramp.gain == 1 && ramp.isOver)
    }

    @Test("§6 how the samples are cut into buffers makes no difference", arguments: [1, 7, 64, 480])
    func chunks(size: Int) throws {
        var whole = StreamParameters()
        whole.apply(try ParameterChange(volume: 0.1, rampMilliseconds: 20, pan: 0.3), sampleRate: 44_100)
        var parts = whole
        let expected = Self.render(&whole, 2 * 1_000, channels: 2)
        var rendered: [Float] = []
        while rendered.count < expected.count {
            rendered += Self.render(&parts, 2 * min(size, (expected.count - rendered.count) / 2), channels: 2)
        }
        #expect(rendered == expected)
        #expect(whole == parts)
    }

    @Test("§6 a ramp that overtakes another begins where the volume is")
    func overtaken() throws {
        var parameters = StreamParameters()
        parameters.apply(try ParameterChange(volume: 0, rampMilliseconds: 10), sampleRate: 1_000)
        #expect(Self.render(&parameters, 5) == [1, 0.9, 0.8, 0.7, 0.6])
        parameters.apply(try ParameterChange(volume: 1, rampMilliseconds: 5), sampleRate: 1_000)
        #expect(Self.render(&parameters, 6) == [0.5, 0.6, 0.7, 0.8, 0.9, 1])
    }

    @Test("§6 a volume without a ramp is there at once, also in the middle of one")
    func atOnce() throws {
        var parameters = StreamParameters()
        parameters.apply(try ParameterChange(volume: 0, rampMilliseconds: 1_000), sampleRate: 48_000)
        _ = Self.render(&parameters, 10)
        parameters.apply(try ParameterChange(volume: 0.25), sampleRate: 48_000)
        #expect(Self.render(&parameters, 3) == [0.25, 0.25, 0.25])
    }

    @Test(
        "§6 pan takes away from the far channel and leaves the middle alone",
        arguments: [(Float(0), Float(1), Float(1)), (-1, 1, 0), (1, 0, 1), (0.5, 0.5, 1), (-0.25, 1, 0.75)])
    func pan(pan: Float, left: Float, right: Float) throws {
        var parameters = StreamParameters()
        parameters.apply(try ParameterChange(pan: pan), sampleRate: 48_000)
        #expect(Self.render(&parameters, 4, channels: 2) == [left, right, left, right])
        #expect(Self.render(&parameters, 3, channels: 1) == [1, 1, 1])
        #expect(Self.render(&parameters, 6, channels: 6) == [1, 1, 1, 1, 1, 1])
        #expect(Self.render(&parameters, 3, channels: 2) == [left, right, 1], "half a frame is left alone")
    }
}
