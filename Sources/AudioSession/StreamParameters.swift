/// A change of a stream's parameters: for the stream at once, or with a frame, from when that frame plays.
package struct ParameterChange: Hashable, Sendable {
    package static let volumes: ClosedRange<Float> = 0...1
    package static let rates: ClosedRange<Float> = 0.5...2
    /// Left to right.
    package static let pans: ClosedRange<Float> = -1...1
    package static let rampsMilliseconds: ClosedRange<Double> = 0...60_000

    /// `nil`, as everywhere here: as it was.
    package let volume: Float?
    /// How long the volume takes to get there; `nil`: it is there at once.
    package let rampMilliseconds: Double?
    package let rate: Float?
    package let pan: Float?

    /// - Throws: the first member that is out of its range, or no number.
    package init(volume: Float? = nil, rampMilliseconds: Double? = nil, rate: Float? = nil, pan: Float? = nil) throws(ParameterFault) {
        if let volume, !ParameterChange.volumes.contains(volume) { throw .volume }
        if let rampMilliseconds, !ParameterChange.rampsMilliseconds.contains(rampMilliseconds) { throw .ramp }
        if let rate, !ParameterChange.rates.contains(rate) { throw .rate }
        if let pan, !ParameterChange.pans.contains(pan) { throw .pan }
        self.volume = volume
        self.rampMilliseconds = rampMilliseconds
        self.rate = rate
        self.pan = pan
    }
}

package enum ParameterFault: Error, Equatable, CaseIterable, Sendable {
    case volume
    case ramp
    case rate
    case pan

    package var text: String {
        switch self {
        case .volume: "A volume is 0 to 1."
        case .ramp: "A ramp takes 0 to 60000 milliseconds."
        case .rate: "A play rate is 0.5 to 2."
        case .pan: "A pan is -1 (left) to 1 (right)."
        }
    }
}

/// A gain on its way, linear and exact to the sample: sample k of n has `start + (end − start) · k / n`, and sample n has `end`.
package struct GainRamp: Hashable, Sendable {
    package let start: Float
    package let end: Float
    package let sampleCount: UInt64
    package private(set) var position: UInt64 = 0

    package init(from start: Float, to end: Float, sampleCount: UInt64) {
        self.start = start
        self.end = end
        self.sampleCount = sampleCount
    }

    /// The gain of the sample that comes next.
    package var gain: Float {
        // Each from the beginning, in double precision: steps that are added up drift.
        guard position < sampleCount else { return end }
        return Float(Double(start) + (Double(end) - Double(start)) * Double(position) / Double(sampleCount))
    }

    package var isOver: Bool { position >= sampleCount }

    package mutating func advance() { position &+= isOver ? 0 : 1 }
}

/// A stream's parameters as they are now.
package struct StreamParameters: Hashable, Sendable {
    /// Where the volume is, or is going.
    package private(set) var volume: Float = 1
    package private(set) var rate: Float = 1
    package private(set) var pan: Float = 0
    private var ramp = GainRamp(from: 1, to: 1, sampleCount: 0)

    package init() {}

    /// The volume of the sample that comes next.
    package var gain: Float { ramp.gain }

    /// Takes a change over. A ramp begins where the volume is now, also in the middle of another.
    ///
    /// - Parameter sampleRate: of the output, in hertz.
    package mutating func apply(_ change: ParameterChange, sampleRate: Double) {
        if let volume = change.volume {
            let samples = ((change.rampMilliseconds ?? 0) * sampleRate / 1_000).rounded()
            ramp = GainRamp(from: ramp.gain, to: volume, sampleCount: UInt64(exactly: samples) ?? 0)
            self.volume = volume
        }
        rate = change.rate ?? rate
        pan = change.pan ?? pan
    }

    /// Multiplies interleaved samples by what they are due. Of two channels, pan takes away from the far one; others have no left and right.
    ///
    /// - Parameter channels: at least 1; samples that are no whole frame at the end are left alone.
    package mutating func render(_ samples: inout MutableSpan<Float>, channels: Int) {
        precondition(channels > 0, "samples of at least one channel")
        let left = channels == 2 ? min(1, 1 - pan) : 1
        let right = channels == 2 ? min(1, 1 + pan) : 1
        for frame in 0..<samples.count / channels {
            let gain = ramp.gain
            ramp.advance()
            for channel in 0..<channels { samples[frame * channels + channel] *= gain * (channel == 0 ? left : right) }
        }
    }
}
