import RelayBase

@testable import MediaProtocol

/// Runs `body` with `bytes` as a span.
func withSpan<Result, Failure: Error>(_ bytes: [UInt8], _ body: (RawSpan) throws(Failure) -> Result) throws(Failure) -> Result {
    try body(unsafe bytes.span.bytes)
}

/// Builds a frame: header, then an extension block where `extensions` has items, then the payload.
func encode(_ header: MediaHeader, extensions: borrowing ExtensionWriter = ExtensionWriter(), payload: [UInt8]) -> [UInt8] {
    var header = header
    if !extensions.isEmpty { header.flags.insert(.extensionPresent) }
    var queue = ByteQueue()
    unsafe header.write(into: queue.reserve(MediaHeader.byteCount))
    queue.commit(MediaHeader.byteCount)
    extensions.write(to: &queue)
    queue.append(payload)
    return bytes(of: queue)
}

func bytes(of queue: borrowing ByteQueue) -> [UInt8] {
    unsafe Array(queue.readable)
}

func validate(_ bytes: [UInt8], limits: Limits = Limits()) throws(MediaFault) -> MediaFrame {
    try withSpan(bytes) { span throws(MediaFault) in try MediaFrame.validate(span, limits: limits) }
}

/// A header as a publisher of stream 7 would send it.
func header(_ kind: MediaKind = .audio, flags: MediaFlags = []) -> MediaHeader {
    MediaHeader(kind: kind, flags: flags, stream: StreamID(7), sequence: 1, timestamp: 960)
}

extension SeededGenerator {
    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
    }

    mutating func header(_ kinds: [MediaKind] = MediaKind.allCases) -> MediaHeader {
        let kind = kinds[Int(next() % UInt64(kinds.count))]
        return MediaHeader(
            kind: kind, flags: MediaFlags(rawValue: UInt8(truncatingIfNeeded: next()) & 0x1F),
            layer: MediaLayer(rawValue: UInt8(truncatingIfNeeded: next())), level: AudioLevel(rawValue: UInt8(truncatingIfNeeded: next())),
            stream: StreamID(UInt32(truncatingIfNeeded: next())), sequence: UInt32(truncatingIfNeeded: next()),
            timestamp: UInt32(truncatingIfNeeded: next()))
    }
}
