/// A gain on its way, linear and exact to the sample: sample k of n has `start + (end − start) · k / n`, and sample n has `end`.
///
/// The arithmetic is that of the audio sessions' ramps. Samples are counted on the mixer's clock, so that a ramp goes on while nobody is heard.
struct MixRamp: Sendable, Hashable {
    private let start: Float
    private let end: Float
    private let sampleCount: UInt64
    private let begin: UInt64

    init(_ gain: Float) {
        start = gain
        end = gain
        sampleCount = 0
        begin = 0
    }

    /// - Parameters:
    ///   - end: 0…1; what is beyond is brought within, and what is no number is 0.
    ///   - clock: of the sample that has the first gain.
    init(from start: Float, to end: Float, milliseconds: Double, sampleRate: Int, clock: UInt64) {
        self.start = start
        self.end = end.isNaN ? 0 : end.clamped(to: 0...1)
        sampleCount = UInt64(exactly: (milliseconds * Double(sampleRate) / 1_000).rounded()) ?? 0
        begin = clock
    }

    func gain(at clock: UInt64) -> Float {
        let position = clock &- begin
        // Each from the beginning, in double precision: steps that are added up drift.
        guard position < sampleCount else { return end }
        return Float(Double(start) + (Double(end) - Double(start)) * Double(position) / Double(sampleCount))
    }

    func isOver(at clock: UInt64) -> Bool { clock &- begin >= sampleCount }

    /// It changes nothing, and will not.
    func isUnity(at clock: UInt64) -> Bool { end == 1 && isOver(at: clock) }
}
