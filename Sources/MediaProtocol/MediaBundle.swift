internal import RelayBase

/// A bundle's payload: frames one after the other, each behind its length. A bundle holds at least one frame, no bundle, no part and no configuration.
///
/// ```
///  | length u32 | frame (header, extensions, payload) | length u32 | frame | …
/// ```
package enum MediaBundle {
    /// Bytes before each frame.
    package static let lengthByteCount = 4

    /// Writes the length that goes before a frame of `frameByteCount` bytes.
    ///
    /// - Precondition: `bytes` has room for 4 bytes; the frame is a frame, so at least a header long and at most the limit of its kind.
    @inlinable
    package static func writeLength(_ frameByteCount: Int, into bytes: UnsafeMutableRawBufferPointer) {
        precondition(frameByteCount >= MediaHeader.byteCount, "a frame holds a header")
        unsafe bytes.storeBigEndian(UInt32(frameByteCount), at: 0)
    }
}

/// Walks the frames of a bundle.
package struct BundleReader: ~Escapable {
    private let payload: RawSpan
    private var offset = 0

    /// - Parameter payload: the bundle's payload, after its header and extensions.
    @_lifetime(copy payload)
    package init(payload: RawSpan) {
        self.payload = payload
    }

    /// Where in the payload the next frame lies; `nil` after the last.
    ///
    /// - Throws: `bundleEmpty`, `bundleEntryTruncated`, `bundleNested`, `bundleHoldsConfiguration`, `bundleHoldsPart`, and what the frame's header throws; the reader is
    ///   then at its end. What follows the header is the frame's own matter: ``MediaFrame/validate(_:limits:)``.
    package mutating func next() throws(MediaFault) -> Range<Int>? {
        let remaining = payload.byteCount - offset
        guard remaining > 0 else {
            if payload.byteCount == 0 { throw .bundleEmpty }
            return nil
        }
        let start = offset + MediaBundle.lengthByteCount
        let lengthOffset = offset
        offset = payload.byteCount
        guard remaining >= MediaBundle.lengthByteCount else { throw .bundleEntryTruncated }
        let length = Int(payload.uint32(at: lengthOffset))
        guard length <= remaining - MediaBundle.lengthByteCount else { throw .bundleEntryTruncated }
        let range = start..<start + length
        switch try MediaHeader(parsing: payload.extracting(range)).kind {
        case .audio, .video, .data: break
        case .configuration: throw .bundleHoldsConfiguration
        case .bundle: throw .bundleNested
        case .part: throw .bundleHoldsPart
        }
        offset = range.upperBound
        return range
    }
}

/// Collects frames into one bundle.
package struct BundleWriter: ~Copyable {
    private var bytes = ByteQueue()
    /// Frames in the bundle.
    package private(set) var count = 0

    package init() {}

    /// The bundle as it stands, header first; empty before the first frame.
    package var span: RawSpan {
        @_lifetime(borrow self)
        get { bytes.span }
    }

    /// Appends an encoded frame.
    ///
    /// - Throws: `bundleNested`, `bundleHoldsConfiguration`, `bundleHoldsPart`, and what the frame's header throws; the bundle is then unchanged.
    package mutating func append(_ frame: RawSpan) throws(MediaFault) {
        switch try MediaHeader(parsing: frame).kind {
        case .audio, .video, .data: break
        case .configuration: throw .bundleHoldsConfiguration
        case .bundle: throw .bundleNested
        case .part: throw .bundleHoldsPart
        }
        if count == 0 {
            unsafe MediaHeader(kind: .bundle, stream: StreamID(0), sequence: 0, timestamp: 0).write(into: bytes.reserve(MediaHeader.byteCount))
            bytes.commit(MediaHeader.byteCount)
        }
        unsafe MediaBundle.writeLength(frame.byteCount, into: bytes.reserve(MediaBundle.lengthByteCount))
        bytes.commit(MediaBundle.lengthByteCount)
        bytes.append(frame)
        count += 1
    }

    /// Starts the next bundle in the same memory.
    package mutating func removeAll() {
        bytes.removeAll()
        count = 0
    }
}
