package import MediaProtocol

/// What a buffer must know of a packet beside its payload.
package struct JitterPacket: Sendable, Hashable {
    package var sequence: UInt32
    /// Of its first sample, in the configuration's timescale.
    package var timestamp: UInt32
    /// It goes on from nothing that came before: the stream was interrupted or began anew.
    package var isDiscontinuity: Bool
    /// Discontinuous transmission: silence until the next packet (RFC 6716 §2.1.9).
    package var isSilence: Bool

    package init(sequence: UInt32, timestamp: UInt32, isDiscontinuity: Bool = false, isSilence: Bool = false) {
        self.sequence = sequence
        self.timestamp = timestamp
        self.isDiscontinuity = isDiscontinuity
        self.isSilence = isSilence
    }

    package init(_ header: MediaHeader) {
        self.init(
            sequence: header.sequence, timestamp: header.timestamp, isDiscontinuity: header.flags.contains(.discontinuity),
            isSilence: header.flags.contains(.silence))
    }
}

/// What became of a packet that was offered.
package enum InsertOutcome: Sendable, Hashable, CaseIterable {
    case stored
    case duplicate
    /// What it has was due before: it was played or concealed.
    case late
    /// Nothing can be made of it: no duration, or more bytes than the buffer may hold.
    case malformed
    /// Stored, and the oldest packets went for it.
    case storedFlushingOldest
}
