package import RelayBase

/// A whole media frame that was checked: its header, and where its payload lies.
package struct MediaFrame: Hashable, Sendable {
    package let header: MediaHeader
    /// The payload's place in the frame.
    package let payload: Range<Int>

    /// Checks everything that a publisher's frame must be before it is forwarded: header, size by kind, extensions, packet table; for a bundle, each of
    /// its frames too. The payload itself is not looked at.
    ///
    /// - Parameter bytes: one binary message.
    /// - Throws: every case of ``MediaFault`` but `extensionBlockTooLarge`.
    package static func validate(_ bytes: RawSpan, limits: borrowing Limits) throws(MediaFault) -> MediaFrame {
        let frame = try validateSingle(bytes, limits: limits)
        if frame.header.kind == .part { _ = try MediaPart(parsing: bytes) }
        guard frame.header.kind == .bundle else { return frame }
        guard !frame.header.flags.contains(.encrypted) else { throw .bundleEncrypted }
        let payload = bytes.extracting(frame.payload)
        var reader = BundleReader(payload: payload)
        while let entry = try reader.next() {
            _ = try validateSingle(payload.extracting(entry), limits: limits)
        }
        return frame
    }

    /// The same over a buffer pointer that is valid during the call.
    package static func validate(_ bytes: UnsafeRawBufferPointer, limits: borrowing Limits) throws(MediaFault) -> MediaFrame {
        try validate(unsafe RawSpan(_unsafeBytes: bytes), limits: limits)
    }

    private static func validateSingle(_ bytes: RawSpan, limits: borrowing Limits) throws(MediaFault) -> MediaFrame {
        let header = try MediaHeader(parsing: bytes)
        try header.kind.checkSize(bytes.byteCount, limits: limits)
        let payloadOffset = try MediaExtensions(frame: bytes, flags: header.flags).payloadOffset
        return MediaFrame(header: header, payload: payloadOffset..<bytes.byteCount)
    }
}

extension MediaKind {
    /// The bound on a whole frame of this kind. A configuration counts as data; a bundle or a part may be as long as the longest frame.
    package var sizeLimit: FrameSizeLimit {
        switch self {
        case .audio: .audioFrameBytesMax
        case .video, .bundle, .part: .videoFrameBytesMax
        case .data, .configuration: .dataFrameBytesMax
        }
    }

    /// Compares the length of a whole frame, header and all, with its bound; to be asked as soon as the length is known.
    ///
    /// - Throws: `frameTooLarge`, naming the limit.
    package func checkSize(_ byteCount: Int, limits: borrowing Limits) throws(MediaFault) {
        let bound =
            switch sizeLimit {
            case .audioFrameBytesMax: limits.audioFrameBytesMax
            case .videoFrameBytesMax: limits.videoFrameBytesMax
            case .dataFrameBytesMax: limits.dataFrameBytesMax
            }
        guard byteCount <= bound else { throw .frameTooLarge(limit: sizeLimit, byteCount: byteCount) }
    }
}
