/// What a pull of 10 ms gave.
package struct PlayoutOutcome: Sendable, Hashable {
    package var decision: PlayoutDecision
    /// There is sound of a packet in it, so that somebody may be heard.
    package var isAudible: Bool
    /// Of its first sample, at the rate that comes out: from pull to pull it advances by exactly the samples pulled.
    package var timestamp: UInt32
    /// Where in the sender's time the first sample is, in the stream's timescale: for what must be in step with it.
    package var mediaTimestamp: UInt32
}
