import HTTPTransport
import RelayBase

/// HTTP/2 frames byte by byte, for peers that an honest library would not play.
enum Raw {
    typealias FrameType = HTTP2FrameHeader.FrameType
    typealias Flag = HTTP2FrameHeader.Flag

    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    static func frame(_ type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []) -> [UInt8] {
        let length = payload.count
        return [UInt8(length >> 16 & 0xff), UInt8(length >> 8 & 0xff), UInt8(length & 0xff), type, flags] + word(stream) + payload
    }

    static func word(_ value: UInt32) -> [UInt8] {
        [UInt8(value >> 24), UInt8(value >> 16 & 0xff), UInt8(value >> 8 & 0xff), UInt8(value & 0xff)]
    }

    static func settings(_ entries: [(UInt16, UInt32)] = []) -> [UInt8] {
        frame(FrameType.settings, entries.flatMap { [UInt8($0.0 >> 8), UInt8($0.0 & 0xff)] + word($0.1) })
    }

    static let settingsAcknowledgement = frame(FrameType.settings, flags: Flag.acknowledgement)

    /// What a client sends before anything else, and its acknowledgement of the server's two SETTINGS frames.
    static let opening = preface + settings() + settingsAcknowledgement + settingsAcknowledgement

    /// Literal fields without indexing and without Huffman coding (RFC 7541 §6.2.2).
    static func fieldBlock(_ fields: [(String, String)]) -> [UInt8] {
        fields.flatMap { [0x00] + literal($0.0) + literal($0.1) }
    }

    private static func literal(_ text: String) -> [UInt8] {
        var length = text.utf8.count
        guard length >= 127 else { return [UInt8(length)] + text.utf8 }
        length -= 127
        var bytes: [UInt8] = [127]
        while length >= 128 {
            bytes.append(UInt8(length % 128 + 128))
            length /= 128
        }
        return bytes + [UInt8(length)] + text.utf8
    }

    static let get: [(String, String)] = [(":method", "GET"), (":scheme", "https"), (":path", "/"), (":authority", "relay.test")]
    static let post: [(String, String)] = [(":method", "POST"), (":scheme", "https"), (":path", "/"), (":authority", "relay.test")]
    static let connect: [(String, String)] = [
        (":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "https"), (":path", "/v1"), (":authority", "relay.test"),
    ]

    static func headers(_ stream: UInt32, _ fields: [(String, String)] = get, endStream: Bool = true) -> [UInt8] {
        frame(FrameType.headers, flags: Flag.endHeaders | (endStream ? Flag.endStream : 0), stream: stream, fieldBlock(fields))
    }

    static func data(_ stream: UInt32, _ bytes: [UInt8], endStream: Bool = false) -> [UInt8] {
        frame(FrameType.data, flags: endStream ? Flag.endStream : 0, stream: stream, bytes)
    }

    static func reset(_ stream: UInt32, _ code: UInt32 = 8) -> [UInt8] {
        frame(FrameType.rstStream, stream: stream, word(code))
    }

    static func priority(_ stream: UInt32) -> [UInt8] { frame(FrameType.priority, stream: stream, word(0) + [15]) }

    static func windowUpdate(_ stream: UInt32, _ increment: UInt32) -> [UInt8] {
        frame(FrameType.windowUpdate, stream: stream, word(increment))
    }

    static func ping() -> [UInt8] { frame(FrameType.ping, Array(repeating: 7, count: 8)) }
}

struct ParsedFrame: Equatable {
    var type: UInt8
    var flags: UInt8
    var stream: UInt32
    var payload: [UInt8]

    /// The last four bytes as a number: the code of RST_STREAM, the increment of WINDOW_UPDATE.
    var lastWord: UInt32 { payload.suffix(4).reduce(0) { $0 << 8 | UInt32($1) } }

    /// The error code of a GOAWAY frame.
    var goAwayCode: HTTP2ErrorCode { HTTP2ErrorCode(rawValue: payload.dropFirst(4).prefix(4).reduce(0) { $0 << 8 | UInt32($1) }) }

    static func parse(_ bytes: [UInt8]) -> [ParsedFrame] {
        var frames: [ParsedFrame] = []
        var rest = bytes[...]
        if rest.starts(with: Raw.preface) { rest = rest.dropFirst(Raw.preface.count) }
        while rest.count >= 9 {
            let head = Array(rest.prefix(9))
            let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
            let stream = head[5...].reduce(0) { $0 << 8 | UInt32($1) }
            frames.append(ParsedFrame(type: head[3], flags: head[4], stream: stream, payload: Array(rest.dropFirst(9).prefix(length))))
            rest = rest.dropFirst(9 + length)
        }
        precondition(rest.isEmpty, "output is whole frames")
        return frames
    }
}

extension HTTP2Session {
    func receive(_ bytes: [UInt8], now: MonotonicInstant = .zero) throws(HTTP2Fault) {
        try unsafe bytes.span.bytes.withUnsafeBytes { (buffer: UnsafeRawBufferPointer) throws(HTTP2Fault) in try unsafe receive(buffer, now: now) }
    }

    /// Feeds `bytes` in pieces of random length.
    func receive(_ bytes: [UInt8], cutBy generator: inout SeededGenerator, pieceMax: Int, now: MonotonicInstant = .zero) throws(HTTP2Fault) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = Array(rest.prefix(Int.random(in: 1...pieceMax, using: &generator)))
            rest = rest.dropFirst(piece.count)
            try receive(piece, now: now)
        }
    }

    /// The fault that `bytes` end the connection with.
    func fault(receiving bytes: [UInt8], now: MonotonicInstant = .zero) -> HTTP2Fault? {
        do throws(HTTP2Fault) {
            try receive(bytes, now: now)
            return nil
        } catch {
            return error
        }
    }

    /// All that the session has to send.
    func output(upTo bound: Int = 1 << 30, now: MonotonicInstant = .zero) -> [UInt8] {
        var queue = ByteQueue()
        _ = produce(into: &queue, upTo: bound, now: now)
        return unsafe Array(queue.readable)
    }

    func outputFrames(now: MonotonicInstant = .zero) -> [ParsedFrame] { ParsedFrame.parse(output(now: now)) }

    @discardableResult
    func write(_ id: HTTP2StreamID, _ bytes: [UInt8]) -> HTTP2WriteResult {
        unsafe bytes.withUnsafeBytes { unsafe write(id, $0) }
    }

    /// Takes all unread bytes of the stream.
    func read(_ id: HTTP2StreamID) -> [UInt8] {
        withInbound(id) { queue in
            let bytes = unsafe Array(queue.readable)
            queue.consume(bytes.count)
            return bytes
        } ?? []
    }

    /// All events due, each as a line.
    func events() -> [String] {
        var lines: [String] = []
        while let event = nextEvent() { lines.append(event.line) }
        return lines
    }
}

extension HTTP2Event {
    var line: String {
        switch self {
        case .request(let id, let fields, let end):
            "request \(id.value) \(fields.map { "\($0.name)=\($0.value)" }.joined(separator: " "))\(end ? " end" : "")"
        case .headerListTooLarge(let id): "headerListTooLarge \(id.value)"
        case .response(let id, let status, let fields, let end): "response \(id.value) \(status) \(fields.count)\(end ? " end" : "")"
        case .dataAvailable(let id): "data \(id.value)"
        case .endOfStream(let id): "end \(id.value)"
        case .writable(let id): "writable \(id.value)"
        case .streamClosed(let id, let code): "closed \(id.value) \(code.rawValue)"
        case .settingsReceived(let extendedConnect): "settings \(extendedConnect)"
        case .goAwayReceived(let id, let code): "goaway \(id.value) \(code.rawValue)"
        case .pingAcknowledged(let opaque): "pong \(opaque)"
        }
    }
}

/// A server session that has shaken hands with a raw client.
func openedServer(_ configuration: HTTP2Configuration = HTTP2Configuration(), settings: [(UInt16, UInt32)] = []) throws -> HTTP2Session {
    let server = HTTP2Session(role: .server, configuration: configuration, now: .zero)
    _ = server.output()
    try server.receive(Raw.preface + Raw.settings(settings) + Raw.settingsAcknowledgement + Raw.settingsAcknowledgement)
    _ = server.output()
    _ = server.events()
    return server
}

/// A client session and a server session joined in memory.
struct Pair {
    let client: HTTP2Session
    let server: HTTP2Session
    var generator: SeededGenerator
    var pieceMax = 64

    init(seed: UInt64 = 1, configuration: HTTP2Configuration = HTTP2Configuration()) throws {
        client = HTTP2Session(role: .client, configuration: configuration, now: .zero)
        server = HTTP2Session(role: .server, configuration: configuration, now: .zero)
        generator = SeededGenerator(seed: seed)
        try exchange()
        _ = client.events()
        _ = server.events()
    }

    /// Carries bytes both ways, cut at random, until neither side has more to say.
    mutating func exchange() throws {
        while true {
            let up = client.output()
            let down = server.output()
            if up.isEmpty, down.isEmpty { return }
            try server.receive(up, cutBy: &generator, pieceMax: pieceMax)
            try client.receive(down, cutBy: &generator, pieceMax: pieceMax)
        }
    }
}

private let patternBytes: [UInt8] = (0..<1 << 18).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }

/// `count` bytes, up to 256 KiB, in which a lost or doubled stretch shows.
func pattern(_ count: Int) -> [UInt8] { Array(patternBytes[..<count]) }
