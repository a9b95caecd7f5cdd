/// What a playout decision was: one each 10 ms.
package enum PlayoutDecision: UInt8, CaseIterable, Sendable, Hashable {
    case normal
    case accelerate
    case fastAccelerate
    case preemptiveExpand
    case conceal
    case comfortNoise
    /// Nothing has come yet, or the buffer fills up again: silence.
    case wait
}

/// Counters of one buffer since it was made, and what it is like now. Samples are per channel.
package struct JitterStatistics: Sendable, Hashable {
    package var packetsInserted: UInt64 = 0
    package var duplicates: UInt64 = 0
    package var late: UInt64 = 0
    package var malformed: UInt64 = 0
    /// Flushed by a hard bound, or skipped to get back to the live edge.
    package var discarded: UInt64 = 0
    /// Of lost packets, made from what the next one carried.
    package var recovered: UInt64 = 0

    package var samplesPlayed: UInt64 = 0
    /// Of these, concealed: not of any packet, comfort noise and waiting left out.
    package var concealedSamples: UInt64 = 0
    package var silentConcealedSamples: UInt64 = 0
    package var concealmentEvents: UInt64 = 0
    /// Concealments of 150 ms and more, and how long they took together.
    package var interruptions: UInt64 = 0
    package var interruptionMilliseconds: UInt64 = 0
    package var removedByAccelerate: UInt64 = 0
    package var insertedByExpand: UInt64 = 0

    package var targetMilliseconds: UInt32 = 0
    /// What is buffered and not played: the level.
    package var levelMilliseconds: UInt32 = 0
    /// The sender's clock against the one that pulls, in parts per million; positive: the sender is faster.
    package var driftPartsPerMillion: Float = 0
    /// Sum over what was played of the time between arrival and playout: divided by ``samplesPlayed`` less what was concealed, the mean buffering delay.
    package var delaySampleMilliseconds: UInt64 = 0

    package init() {}
}
