/// Counts what is concealed into statistics: samples, events, and from 150 ms on interruptions.
struct ConcealmentCounter: Sendable {
    static var interruptionMilliseconds: Int { 150 }

    private let sampleRate: Int
    /// Of the concealment under way, samples per channel.
    private(set) var run = 0
    private var countedMilliseconds = 0

    init(sampleRate: Int) {
        self.sampleRate = sampleRate
    }

    mutating func concealed(_ count: Int, isSilent: Bool, in statistics: inout JitterStatistics) {
        guard count > 0 else { return }
        if run == 0 {
            statistics.concealmentEvents &+= 1
            countedMilliseconds = 0
        }
        run += count
        statistics.concealedSamples &+= UInt64(count)
        if isSilent { statistics.silentConcealedSamples &+= UInt64(count) }
        let milliseconds = run / (sampleRate / 1000)
        guard milliseconds >= Self.interruptionMilliseconds else { return }
        if countedMilliseconds == 0 { statistics.interruptions &+= 1 }
        statistics.interruptionMilliseconds &+= UInt64(milliseconds - countedMilliseconds)
        countedMilliseconds = milliseconds
    }

    /// Real sound goes on.
    mutating func end() {
        run = 0
    }
}
