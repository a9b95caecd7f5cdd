import RelayRooms

/// Counts of values below bounds, for the metrics (Prometheus' histogram). No labels: a client is one among all.
struct Histogram: Sendable {
    /// Ascending; what is above the last is counted by ``total`` alone.
    let bounds: [Double]
    /// By bound, each value once: not cumulative.
    private(set) var counts: [UInt64]
    private(set) var total: UInt64 = 0
    private(set) var sum = 0.0

    init(bounds: [Double]) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count)
    }

    mutating func observe(_ value: Double) {
        total &+= 1
        sum += value
        if let place = bounds.firstIndex(where: { value <= $0 }) { counts[place] &+= 1 }
    }

    /// Adds another of the same bounds.
    mutating func add(_ other: Histogram) {
        total &+= other.total
        sum += other.sum
        for place in counts.indices where place < other.counts.count { counts[place] &+= other.counts[place] }
    }

    static let turnSeconds = [0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002, 0.004, 0.008, 0.016, 0.05, 0.1]
    static let roundTripSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1, 2, 5]
    static let shares = [0, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1]
    static let bufferSeconds = [0.01, 0.02, 0.04, 0.06, 0.1, 0.15, 0.2, 0.3, 0.5, 1]
}

/// What clients' heartbeats and reports have told, over all of them.
struct LivenessCounters: Sendable {
    var roundTrips = Histogram(bounds: Histogram.roundTripSeconds)
    var concealedShares = Histogram(bounds: Histogram.shares)
    var lateShares = Histogram(bounds: Histogram.shares)
    var buffers = Histogram(bounds: Histogram.bufferSeconds)
    var receiverReports: UInt64 = 0
    var keepAlives: UInt64 = 0
    /// A gauge.
    var sessionsReporting = 0

    mutating func observe(_ reception: Reception) {
        concealedShares.observe(reception.concealedShare)
        lateShares.observe(reception.lateShare)
        if let buffer = reception.bufferMilliseconds { buffers.observe(buffer / 1_000) }
    }

    mutating func add(_ other: LivenessCounters) {
        roundTrips.add(other.roundTrips)
        concealedShares.add(other.concealedShares)
        lateShares.add(other.lateShares)
        buffers.add(other.buffers)
        receiverReports &+= other.receiverReports
        keepAlives &+= other.keepAlives
        sessionsReporting += other.sessionsReporting
    }
}
