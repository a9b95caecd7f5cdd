package import RelayBase

/// What has really been played, whatever was sought: played 8 s, seek to 20 s, play 3 s are 11 s.
package struct PlayedTime: Hashable, Sendable {
    /// Hertz.
    package let sampleRate: UInt32
    /// Samples of one channel that went out.
    package private(set) var samples: UInt64 = 0

    package init(sampleRate: UInt32) {
        precondition(sampleRate > 0, "a sample rate")
        self.sampleRate = sampleRate
    }

    package mutating func count(samples: UInt64) {
        self.samples = self.samples.addingReportingOverflow(samples).overflow ? .max : self.samples &+ samples
    }

    package var seconds: Double { Double(samples) / Double(sampleRate) }
}

/// Where in its media a stream stands, as it is published: whoever reads it extrapolates.
package struct MediaPosition: Hashable, Sendable {
    /// Seconds of media at ``at``.
    package private(set) var elapsed: Double
    /// Seconds of media a second; 0 freezes it.
    package private(set) var rate: Double
    package private(set) var at: MonotonicInstant

    /// - Parameter at: the rate is 0 until it is set.
    package init(elapsed: Double = 0, at: MonotonicInstant) {
        self.elapsed = elapsed
        rate = 0
        self.at = at
    }

    /// Seconds of media at an instant that is not before ``at``.
    package func elapsed(at now: MonotonicInstant) -> Double {
        elapsed + rate * Double(now.nanoseconds(since: at)) / 1e9
    }

    /// Takes over another rate. Answers whether there is something to publish.
    package mutating func setRate(_ rate: Double, at now: MonotonicInstant) -> Bool {
        guard rate != self.rate, rate.isFinite else { return false }
        publish(elapsed(at: now), rate, now)
        return true
    }

    /// Goes to another place. Answers whether there is something to publish.
    package mutating func seek(to elapsed: Double, at now: MonotonicInstant) -> Bool {
        guard elapsed != self.elapsed(at: now), elapsed.isFinite else { return false }
        publish(elapsed, rate, now)
        return true
    }

    /// Compares with where the stream really is. Answers whether there is something to publish: only what readers' extrapolation misses.
    ///
    /// - Parameter tolerance: seconds.
    package mutating func observe(_ elapsed: Double, tolerance: Double, at now: MonotonicInstant) -> Bool {
        abs(elapsed - self.elapsed(at: now)) > tolerance && seek(to: elapsed, at: now)
    }

    private mutating func publish(_ elapsed: Double, _ rate: Double, _ now: MonotonicInstant) {
        self.elapsed = elapsed
        self.rate = rate
        at = now
    }
}
