import HTTPProtocol
import MediaProtocol
import RelayBase
import WebSocketProtocol

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
    /// As the client of the relay's own messages would read them: not masked, not compressed.
    private static let rules = WebSocketFrameHeader.Rules(role: .client, allowsCompression: false)

    init(_ head: HTTPRequestHead, limits: Limits) {
        self.head = head
        self.limits = limits
        writer = OggOpusWriter(serial: .random(in: .min ... .max), isChunked: head.version == .http11)
    }

    /// Writes what is whole in ``pulled``.
    func write(into queue: inout ByteQueue) {
        while let header = unsafe try? WebSocketFrameHeader.decode(pulled.readable, rules: Listening.rules),
            let byteCount = Int(exactly: header.payloadLength), pulled.count - header.encodedLength >= byteCount
        {
            let headBytes = header.encodedLength
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
}
