/// The streams whose sending half the peer has ended of late, by END_STREAM or RST_STREAM: nothing that needs an open stream may follow on them
/// (RFC 9113 §5.1). The HTTP/2 library forgets a stream as it closes and ignores what comes later.
///
/// A bounded memory: of a stream that ended longer ago the library's silence is good enough. A stream that only this end has reset is never in here,
/// since its peer may not know yet and what it has under way is to be ignored.
struct HTTP2EndedStreams {
    /// 0 where nothing is remembered: no frame that ends a stream is on stream 0.
    private var identifiers = InlineArray<64, UInt32>(repeating: 0)
    private var next = 0

    /// Takes note of a frame.
    ///
    /// - Returns: whether the frame comes after the end that its own sender has made: a fault, if the stream is closed.
    mutating func receive(_ header: HTTP2FrameHeader) -> Bool {
        switch header.type {
        case HTTP2FrameHeader.FrameType.data, HTTP2FrameHeader.FrameType.headers:
            if contains(header.streamID) { return true }
            if header.has(HTTP2FrameHeader.Flag.endStream) { add(header.streamID) }
        case HTTP2FrameHeader.FrameType.rstStream:
            // A stream may be reset after it was ended.
            if !contains(header.streamID) { add(header.streamID) }
        default:
            // WINDOW_UPDATE and PRIORITY may come late; the library sees to CONTINUATION and PUSH_PROMISE.
            break
        }
        return false
    }

    private func contains(_ id: UInt32) -> Bool {
        guard id != 0 else { return false }
        for place in identifiers.indices where identifiers[place] == id { return true }
        return false
    }

    private mutating func add(_ id: UInt32) {
        identifiers[next] = id
        next = (next + 1) % identifiers.count
    }
}
