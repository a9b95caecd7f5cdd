/// What a profile trades. Times in microseconds.
package struct DelayPolicy: Sendable, Hashable {
    /// The part of the sound that may come later than the target.
    package var latePart: Double
    /// What a second's wait of 1 ms more is worth, in milliseconds of concealment: where stalls repeat (``StallLedger``).
    package var price: Double
    /// Time constant of forgetting.
    package var memory: Int64
    package var delayMin: Int64
    package var delayMax: Int64
    /// The target before anything is known.
    package var delayAtFirst: Int64
    /// So far above the target sound is played faster; beyond it is skipped.
    package var excessMax: Int64

    package init(_ profile: JitterProfile) {
        switch profile {
        case .lowLatency:
            self.init(
                latePart: 0.03, price: 0.2, memory: 8_000_000, delayMin: 2_000, delayMax: 600_000, delayAtFirst: 40_000, excessMax: 300_000)
        case .balanced:
            self.init(
                latePart: 0.015, price: 0.11, memory: 10_000_000, delayMin: 2_000, delayMax: 1_200_000, delayAtFirst: 50_000,
                excessMax: 500_000)
        case .smooth:
            self.init(
                latePart: 0.003, price: 0.02, memory: 20_000_000, delayMin: 40_000, delayMax: 2_000_000, delayAtFirst: 120_000,
                excessMax: 1_000_000)
        }
    }

    package init(latePart: Double, price: Double, memory: Int64, delayMin: Int64, delayMax: Int64, delayAtFirst: Int64, excessMax: Int64) {
        self.latePart = latePart
        self.price = price
        self.memory = memory
        self.delayMin = delayMin
        self.delayMax = delayMax
        self.delayAtFirst = delayAtFirst
        self.excessMax = excessMax
    }
}

/// How long packets should wait: as long as all but a given part of them need (a forgetting histogram), and as stalls that repeat make necessary
/// (``StallLedger``). Microseconds, against the fastest packet.
package struct DelayTarget: Sendable {
    package private(set) var policy: DelayPolicy
    private var minimum: Int64
    private var maximum: Int64
    private var pinned: Int64?
    private var histogram = DelayHistogram()
    private var stalls = StallLedger()
    private var ordinary: Int64
    private var stalled: Int64 = 0
    private var observedMedia: Int64 = 0

    /// Beyond the quantile: what the beats of the two ends cost.
    private static var margin: Int64 { 1_000 }
    /// And while a queue grows: what it grows by until the delay has followed.
    private static var growth: Int64 { 40_000 }
    /// The first target is left over so long.
    private static var learningMicroseconds: Int64 { 2_000_000 }
    /// A delay above the ordinary by so much, and above twice the ordinary, is a stall.
    private static var stallMicrosecondsMin: Int64 { 60_000 }

    package init(_ configuration: JitterConfiguration) {
        policy = DelayPolicy(configuration.profile)
        minimum = 0
        maximum = 0
        ordinary = policy.delayAtFirst
        configure(configuration)
    }

    /// Takes profile and bounds; what was learnt stays.
    package mutating func configure(_ configuration: JitterConfiguration) {
        policy = DelayPolicy(configuration.profile)
        let bounds = 0...10_000
        let least = Int64(min(max(configuration.delayMillisecondsMin, bounds.lowerBound), bounds.upperBound)) * 1000
        let most = Int64(min(max(configuration.delayMillisecondsMax, bounds.lowerBound), bounds.upperBound)) * 1000
        minimum = max(policy.delayMin, least)
        maximum = max(min(policy.delayMax, most), least)
        minimum = min(minimum, maximum)
        pinned = configuration.pinnedDelayMilliseconds.map { Int64(min(max($0, bounds.lowerBound), bounds.upperBound)) * 1000 }
        if observedMedia > 0 { learn(now: nil) }
    }

    /// Takes a packet.
    ///
    /// - Parameters:
    ///   - delay: against the fastest.
    ///   - recent: the least delay of the last few packets.
    ///   - gap: since the packet before.
    ///   - duration: of the packet; 0 when unknown.
    package mutating func observe(delay: Int64, recent: Int64, gap: Int64, duration: Int64, arrival: Int64) {
        let threshold = max(2 * ordinary, ordinary + Self.stallMicrosecondsMin)
        let isStalled = stalls.take(delay: delay, gap: gap, arrival: arrival, threshold: threshold)
        // Where even the fastest of the last few is late, a queue has grown on the way: the target follows that by itself as long as it lasts, and
        // nothing is to be learnt from it.
        if !isStalled, recent <= ordinary {
            let duration = duration > 0 ? duration : 20_000
            histogram.add(delay, share: Double(duration), forgotten: Double(duration) / Double(policy.memory))
            observedMedia = min(observedMedia + duration, Self.learningMicroseconds)
        }
        learn(now: arrival)
    }

    /// What delays are measured against is later by so much than before.
    package mutating func referenceRose(by step: Int64) {
        histogram.shift(by: step)
        stalls.referenceMoved()
    }

    private mutating func learn(now: Int64?) {
        let known = histogram.quantile(exceeded: policy.latePart) + Self.margin
        let left = policy.delayAtFirst - policy.delayAtFirst * observedMedia / Self.learningMicroseconds
        ordinary = max(known, left)
        if let now { stalled = stalls.level(now: now, price: policy.price) }
    }

    /// The target.
    package var microseconds: Int64 {
        if let pinned { return pinned }
        return min(max(ordinary, stalled, minimum), maximum)
    }

    /// The target while everything that comes is late by `recent`: waiting for less is in vain, and the queue that makes it so may go on growing.
    package func microseconds(recent: Int64) -> Int64 {
        isGrowing(recent: recent) ? recent + Self.growth : microseconds
    }

    /// Whether a queue has grown on the way beyond the target.
    package func isGrowing(recent: Int64) -> Bool {
        pinned == nil && recent > ordinary && recent + Self.growth > microseconds
    }
}
