/// A client's clock against the relay's.
package struct ClockEstimate: Sendable, Equatable {
    /// How far the client's clock is ahead, at the newest sample.
    package var offsetMilliseconds: Double
    /// How much faster the client's clock runs, in millionths; `nil` until the samples reach over ``ClockEstimator/driftSpanMillisecondsMin``.
    package var driftPPM: Double?
    /// Of the newest sample, by the client's clock, and the least of the window.
    package var roundTripMilliseconds: Double
    package var roundTripMillisecondsMin: Double
    /// What an asymmetric path can make the offset wrong by at most: half the least round trip.
    package var uncertaintyMilliseconds: Double { roundTripMillisecondsMin / 2 }
}

/// Estimates a client's clock from time exchanges that the client has completed: offset, drift and round trip.
///
/// Of each sample the true offset lies within half its round trip of the measured one, whatever the path (RFC 5905 §8). So samples count by their round
/// trip: the window of 10 min is a row of at most 32 buckets, each of which keeps the sample with the least. Buckets begin half a second wide and widen
/// as the window fills. The drift is the median of the slopes between distant buckets (Theil 1950, Sen 1968) of the faster half: up to three in ten may be
/// off by anything. Two samples that no drift up to ``driftPPMMax`` and no path can bring together are a clock that was set: what was known is forgotten.
///
/// Hostile values cannot do harm: an exchange counts once and only when the relay has answered it, on the relay's own time axis; the client chooses what its
/// clock says, and thereby only what is said of it.
package struct ClockEstimator: Sendable {
    package static let windowMilliseconds = 600_000.0
    package static let driftSpanMillisecondsMin = 10_000.0
    package static let driftPPMMax = 1_000.0
    package static let roundTripMillisecondsMax = 60_000.0
    /// Beyond it a Double does not tell eighths of a millisecond apart.
    package static let clockMillisecondsMax = 1e15
    static let bucketsMax = 32
    private static let bucketMillisecondsMin = 500.0
    private static let bucketMillisecondsMax = 20_000.0
    private static let bucketsForDrift = 5
    private static let askedMax = 4
    /// Clocks with ticks of a millisecond.
    private static let stepMillisecondsMin = 2.0

    private struct Sample {
        /// The relay's clock.
        var at: Double
        /// The client's clock minus the relay's.
        var offset: Double
        var roundTrip: Double
        var bucket: Int
    }

    private struct Asked {
        var clientTime: Double
        var serverTime: Double
    }

    /// Exchanges that were answered and are not completed, oldest first.
    private var asked: [Asked] = []
    private var samples: [Sample] = []
    private var origin = 0.0
    private var width = ClockEstimator.bucketMillisecondsMin
    /// Of the newest sample, kept or not.
    private var roundTrip = 0.0
    private var newestAt = 0.0
    /// Times that the client's clock was set.
    package private(set) var steps: UInt64 = 0

    package init() {}

    /// What became of an exchange that a client says it has completed.
    package enum Outcome: Sendable, Equatable {
        case taken
        /// The client's clock was set: this is the first sample of a new estimate.
        case stepped
        /// The relay has answered no such exchange, or it was completed before.
        case unknown
        /// A round trip that is negative or longer than ``roundTripMillisecondsMax``.
        case implausible
    }

    /// The relay answers an exchange.
    ///
    /// - Parameter serverTime: milliseconds of a clock that never steps.
    package mutating func answered(clientTime: Double, serverTime: Double) {
        if asked.count >= Self.askedMax { asked.removeFirst() }
        asked.append(Asked(clientTime: clientTime, serverTime: serverTime))
    }

    /// The client has completed an exchange: `received` is its clock when the answer came.
    package mutating func completed(clientTime: Double, serverTime: Double, received: Double) -> Outcome {
        // As precise as the least precise JSON library writes the time of day.
        guard let place = asked.firstIndex(where: { $0.clientTime == clientTime && abs($0.serverTime - serverTime) < 1 }) else { return .unknown }
        let exchange = asked.remove(at: place)
        let roundTrip = received - clientTime
        guard roundTrip >= 0, roundTrip <= Self.roundTripMillisecondsMax, abs(received) <= Self.clockMillisecondsMax else { return .implausible }
        return add(Sample(at: exchange.serverTime, offset: clientTime + roundTrip / 2 - exchange.serverTime, roundTrip: roundTrip, bucket: 0))
    }

    private mutating func add(_ sample: Sample) -> Outcome {
        var outcome = Outcome.taken
        if let newest = samples.last {
            // Completed out of order: it says nothing that is not known.
            guard sample.at >= newestAt else { return .taken }
            let reach = (sample.roundTrip + newest.roundTrip) / 2 + (sample.at - newest.at) * Self.driftPPMMax / 1e6 + Self.stepMillisecondsMin
            if abs(sample.offset - newest.offset) > reach {
                steps &+= 1
                samples.removeAll(keepingCapacity: true)
                outcome = .stepped
            }
        }
        roundTrip = sample.roundTrip
        newestAt = sample.at
        if samples.isEmpty {
            origin = sample.at
            width = Self.bucketMillisecondsMin
        }
        var sample = sample
        sample.bucket = Int((sample.at - origin) / width)
        if let newest = samples.last, newest.bucket == sample.bucket {
            if sample.roundTrip < newest.roundTrip { samples[samples.count - 1] = sample }
        } else {
            samples.append(sample)
            samples.removeAll { sample.at - $0.at > Self.windowMilliseconds }
        }
        while samples.count > Self.bucketsMax { widen() }
        return outcome
    }

    /// Makes buckets twice as wide; at the widest, lets go of the oldest.
    private mutating func widen() {
        guard width < Self.bucketMillisecondsMax else {
            samples.removeFirst()
            return
        }
        width *= 2
        var wider: [Sample] = []
        for var sample in samples {
            sample.bucket = Int((sample.at - origin) / width)
            if let last = wider.last, last.bucket == sample.bucket {
                if sample.roundTrip < last.roundTrip { wider[wider.count - 1] = sample }
            } else {
                wider.append(sample)
            }
        }
        samples = wider
    }

    /// Samples that are kept.
    var sampleCount: Int { samples.count }

    /// What the samples say; `nil` before the first. A sort of some hundred numbers: for whoever asks, not for every sample.
    package var estimate: ClockEstimate? {
        let byRoundTrip = samples.sorted { $0.roundTrip < $1.roundTrip }
        guard let best = byRoundTrip.first else { return nil }
        let slope = Self.slope(of: samples.filter { $0.roundTrip <= byRoundTrip[samples.count / 2].roundTrip })
        let offset: Double
        if let slope {
            // The fewer, the closer to the least round trip; the more, the less a single one weighs.
            let quarter = byRoundTrip.prefix(max(3, samples.count / 4))
            offset = Self.median(quarter.map { $0.offset + slope * (newestAt - $0.at) }) ?? best.offset
        } else {
            offset = best.offset
        }
        return ClockEstimate(
            offsetMilliseconds: offset, driftPPM: slope.map { $0 * 1e6 }, roundTripMilliseconds: roundTrip, roundTripMillisecondsMin: best.roundTrip)
    }

    private static func slope(of samples: [Sample]) -> Double? {
        guard samples.count >= bucketsForDrift, let first = samples.first, let last = samples.last else { return nil }
        let span = last.at - first.at
        guard span >= driftSpanMillisecondsMin else { return nil }
        var slopes: [Double] = []
        for (place, early) in samples.enumerated() {
            for late in samples[(place + 1)...] where late.at - early.at >= span / 3 {
                slopes.append((late.offset - early.offset) / (late.at - early.at))
            }
        }
        return median(slopes)
    }

    private static func median(_ values: [Double]) -> Double? {
        guard !values.isEmpty else { return nil }
        let sorted = values.sorted()
        let middle = sorted.count / 2
        return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }
}
