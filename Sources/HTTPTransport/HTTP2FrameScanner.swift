/// Finds the frame headers in a connection's bytes, however they are cut, without looking at payloads.
///
/// It stands before the HTTP/2 library so that floods are refused before they cost anything. The bytes of a header that the chunk cuts are held
/// here, and given on only when it is whole: so a whole frame can be kept from the library.
package struct HTTP2FrameScanner {
    package enum Step: Equatable {
        /// All bytes are scanned; the chunk ended in (or just after) a payload.
        case exhausted
        /// The chunk ended in a header, which began at `start` (0 when in an earlier chunk); its bytes are in ``held``.
        case headerIncomplete(start: Int)
        /// A whole header; the chunk's part of it began at `start`, and the first `heldBefore` bytes of it came in earlier chunks.
        case header(HTTP2FrameHeader, start: Int, heldBefore: Int)
    }

    /// The connection preface that a client sends first (RFC 9113 §3.4) is 24 bytes long.
    private static let prefaceLength = 24

    private var skipping: Int
    /// The header being gathered, and the Pad Length byte after it.
    package private(set) var held = InlineArray<10, UInt8>(repeating: 0)
    package private(set) var heldCount = 0

    /// - Parameter expectsPreface: true for a server's input.
    package init(expectsPreface: Bool) {
        skipping = expectsPreface ? Self.prefaceLength : 0
    }

    /// Whether the last frame seen is complete and no new one begun.
    package var isAtFrameBoundary: Bool { skipping == 0 && heldCount == 0 }

    /// Goes on from `position` to the end of the next frame header or of the chunk.
    package mutating func next(in bytes: UnsafeRawBufferPointer, at position: inout Int) -> Step {
        let skipped = min(skipping, bytes.count - position)
        skipping -= skipped
        position += skipped
        guard position < bytes.count else { return .exhausted }

        let start = position
        let heldBefore = heldCount
        while position < bytes.count {
            unsafe held[heldCount] = bytes[position]
            heldCount += 1
            position += 1
            if heldCount == 9, !needsPadLength {
                return finish(padLength: nil, start: start, heldBefore: heldBefore)
            }
            if heldCount == 10 {
                return finish(padLength: held[9], start: start, heldBefore: heldBefore)
            }
        }
        return .headerIncomplete(start: start)
    }

    private var payloadLength: UInt32 { UInt32(held[0]) << 16 | UInt32(held[1]) << 8 | UInt32(held[2]) }

    private var needsPadLength: Bool {
        held[3] == HTTP2FrameHeader.FrameType.data && held[4] & HTTP2FrameHeader.Flag.padded != 0 && payloadLength > 0
    }

    private mutating func finish(padLength: UInt8?, start: Int, heldBefore: Int) -> Step {
        let streamID = UInt32(held[5]) << 24 | UInt32(held[6]) << 16 | UInt32(held[7]) << 8 | UInt32(held[8])
        let header = HTTP2FrameHeader(
            length: payloadLength, type: held[3], flags: held[4], streamID: streamID & 0x7fff_ffff, padLength: padLength)
        skipping = Int(payloadLength) - (padLength == nil ? 0 : 1)
        heldCount = 0
        return .header(header, start: start, heldBefore: heldBefore)
    }
}
