import HTTPProtocol
import MediaProtocol
import RelayBase

/// What makes a channel that is no WebSocket an answer in Ogg: it takes the messages that a WebSocket would be sent, and what is in them goes out as pages.
final class Listening {
    let head: HTTPRequestHead
    private var writer: OggOpusWriter
    /// Messages as they come from the room's log, cut anywhere.
    var pulled = ByteQueue()
    private let limits: Limits

    static let contentType = "audio/ogg"
    /// What is taken from the log at a time: some packets.
    static let pullBytes = 4 << 10
    private static let samplesPerSecond = 48_000

    init(_ head: HTTPRequestHead, limits: Limits) {
        self.head = head
        self.limits = limits
        writer = OggOpusWriter(serial: .random(in: .min ... .max), isChunked: head.version == .http11)
    }

    /// Writes what is whole in ``pulled``.
    func write(into queue: inout ByteQueue) {
        while let (headBytes, byteCount) = nextMessage(), pulled.count >= headBytes + byteCount {
            let message = unsafe UnsafeRawBufferPointer(rebasing: pulled.readable[headBytes..<(headBytes + byteCount)])
            unsafe write(RawSpan(_unsafeBytes: message), into: &queue)
            pulled.consume(headBytes + byteCount)
        }
        pulled.releaseIfEmpty()
    }

    private func write(_ message: RawSpan, into queue: inout ByteQueue) {
        guard let frame = try? MediaFrame.validate(message, limits: limits) else { return }
        let payload = message.extracting(frame.payload)
        switch frame.header.kind {
        case .configuration: writer.begin(payload, into: &queue)
        case .audio:
            guard payload.byteCount > 0 else { return }
            let second = payload.byteCount > 1 ? unsafe payload.unsafeLoad(fromByteOffset: 1, as: UInt8.self) : nil
            let toc = unsafe payload.unsafeLoad(as: UInt8.self)
            guard let samples = FrameDuration.opusTicks(toc: toc, second: second, ticksPerSecond: Listening.samplesPerSecond) else { return }
            writer.append(payload, samples: samples, into: &queue)
        case .video, .data, .bundle, .part: break
        }
    }

    func end(into queue: inout ByteQueue) {
        writer.end(into: &queue)
    }

    /// The lengths of the next message's head and payload (RFC 6455 §5.2: a server's, so not masked); `nil` as long as its head is not whole.
    private func nextMessage() -> (headBytes: Int, byteCount: Int)? {
        let count = pulled.count
        guard count >= 2 else { return nil }
        let short = unsafe Int(pulled.readable[1] & 0x7F)
        let width = short == 126 ? 2 : short == 127 ? 8 : 0
        guard count >= 2 + width else { return nil }
        guard width > 0 else { return (2, short) }
        // The relay's own messages: none is longer than a frame may be.
        let length = (0..<width).reduce(0) { length, place in unsafe length << 8 | Int(pulled.readable[2 + place]) }
        return (2 + width, length)
    }
}
