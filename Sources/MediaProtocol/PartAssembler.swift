package import RelayBase

/// Puts frames together that come in parts (``MediaPart``), one unfinished frame a stream.
///
/// For a receiver that trusts its sender with nothing: a frame's length is checked against the limit of its kind before it is kept, no more memory is held
/// than has come, and both the streams and the bytes that are under way have a bound.
package struct PartAssembler {
    private struct Unfinished {
        let stream: StreamID
        let total: Int
        var bytes: [UInt8]
    }

    private var unfinished: [Unfinished] = []
    package let streamsMax: Int
    package let bytesMax: Int
    /// Bytes of unfinished frames held.
    package private(set) var byteCount = 0

    /// - Parameter bytesMax: of all unfinished frames together.
    package init(streamsMax: Int = 64, bytesMax: Int = 16 << 20) {
        self.streamsMax = streamsMax
        self.bytesMax = bytesMax
    }

    /// Streams with an unfinished frame.
    package var count: Int { unfinished.count }

    /// Takes a whole binary message of kind 5.
    ///
    /// - Returns: the frame, checked as ``MediaFrame/validate(_:limits:)`` does, when this was its last part; else `nil`.
    /// - Throws: what ``MediaPart/init(parsing:)`` and the frame's validation throw, `partOutOfOrder`, `partsTooMany`, `frameTooLarge`.
    package mutating func take(_ message: RawSpan, limits: borrowing Limits) throws(MediaFault) -> [UInt8]? {
        let part = try MediaPart(parsing: message)
        let bytes = message.extracting(MediaPart.overheadByteCount..<message.byteCount)
        let place = unfinished.firstIndex { $0.stream == part.header.stream }
        guard part.isFirst == (place == nil) else { throw .partOutOfOrder }
        guard byteCount + part.byteCount <= bytesMax else { throw .partsTooMany }
        guard let place else {
            guard unfinished.count < streamsMax else { throw .partsTooMany }
            // The first part may be too short to say of what kind the frame is.
            try MediaKind.video.checkSize(part.total, limits: limits)
            if part.isLast { return try PartAssembler.whole(bytes, part, limits: limits) }
            unfinished.append(Unfinished(stream: part.header.stream, total: part.total, bytes: unsafe bytes.withUnsafeBytes { unsafe Array($0) }))
            byteCount += part.byteCount
            return nil
        }
        guard part.offset == unfinished[place].bytes.count, part.total == unfinished[place].total else { throw .partOutOfOrder }
        unsafe bytes.withUnsafeBytes { unsafe unfinished[place].bytes.append(contentsOf: $0) }
        byteCount += part.byteCount
        guard part.isLast else { return nil }
        let frame = unfinished.remove(at: place).bytes
        byteCount -= frame.count
        return try PartAssembler.whole(unsafe frame.span.bytes, part, limits: limits)
    }

    /// A frame came whole: none of its stream may be unfinished.
    ///
    /// - Throws: `partOutOfOrder`.
    package func check(_ header: MediaHeader) throws(MediaFault) {
        guard unfinished.isEmpty || !unfinished.contains(where: { $0.stream == header.stream }) else { throw .partOutOfOrder }
    }

    /// Checks a frame that is whole: it is what its last part says, and no bundle or part itself.
    private static func whole(_ bytes: RawSpan, _ part: MediaPart, limits: borrowing Limits) throws(MediaFault) -> [UInt8] {
        let header = try MediaFrame.validate(bytes, limits: limits).header
        var expected = part.header
        expected.kind = header.kind
        expected.flags = header.flags
        guard header == expected, header.kind != .bundle, header.kind != .part else { throw .partOutsideFrame }
        return unsafe bytes.withUnsafeBytes { unsafe Array($0) }
    }
}
