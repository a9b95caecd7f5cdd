import MediaProtocol
import RelayBase

/// Where a stream stands: the newest media frame that was appended, by its header.
struct StreamPosition {
    private(set) var sequence: UInt32 = 0
    private(set) var timestamp: UInt32 = 0
    /// Ticks from one frame to the next, as last seen between neighbours; 0: not known.
    private(set) var frameTicks: UInt32 = 0
    private(set) var isKnown = false

    /// A silence (DTX) lets timestamps jump between neighbours: steps that are so many times the usual one say nothing of a frame's length.
    private static let silenceFactor: UInt32 = 4

    /// - Parameter frame: header and payload, validated; no configuration.
    mutating func note(_ frame: UnsafeRawBufferPointer) {
        guard let header = try? unsafe MediaHeader(parsing: frame) else { return }
        let step = header.timestamp &- timestamp
        if isKnown, !header.flags.contains(.discontinuity) {
            // Sent again: the stream stands where it stood.
            guard SerialNumber(header.sequence).isNewer(than: SerialNumber(sequence)) else { return }
            let isUsual = step > 0 && step <= UInt32(Int32.max) && (frameTicks == 0 || step / StreamPosition.silenceFactor < frameTicks)
            if header.sequence == sequence &+ 1, isUsual { frameTicks = step }
        }
        sequence = header.sequence
        timestamp = header.timestamp
        isKnown = true
    }
}

/// The last frame of a stream that a client has.
package struct ReceivedMark: Sendable, Equatable {
    package var sequence: UInt32
    package var timestamp: UInt32

    package init(sequence: UInt32, timestamp: UInt32) {
        self.sequence = sequence
        self.timestamp = timestamp
    }
}

/// What a client will never get of a stream: the frames between the last that came and the first that will.
package struct StreamGapMeasure: Sendable, Equatable {
    package var frames: UInt32
    /// Their media time in ticks of the stream's timescale: from the end of the last frame that came to the beginning of the first that will. 0 without frames.
    package var ticks: UInt32
    /// Nothing that is there can be decoded: the gap grows until the next key frame.
    package var isOpen: Bool

    package init(frames: UInt32 = 0, ticks: UInt32 = 0, isOpen: Bool = false) {
        self.frames = frames
        self.ticks = ticks
        self.isOpen = isOpen
    }
}

extension StreamState {
    /// The sequence number and the timestamp of the newest media frame that was appended, of the lowest spatial layer; `nil`: none yet.
    package var lastSequence: UInt32? { layers[0].position.isKnown ? layers[0].position.sequence : nil }
    package var lastTimestamp: UInt32? { layers[0].position.isKnown ? layers[0].position.timestamp : nil }
}
