import CZlib
import HTTPTransport
import RelayBase
import Testing

@Suite("Content that is held and not queued")
struct HeldContentTests {
    private static let id = HTTP2StreamID(1)
    private static let content = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }

    private func serverWithContent(_ content: [UInt8] = content) throws -> HTTP2Session {
        let server = try openedServer()
        try server.receive(Raw.headers(1))
        _ = server.events()
        server.respond(Self.id, status: 200, fields: [], endOfStream: false)
        server.endStream(Self.id, content: content)
        return server
    }

    private func body(_ frames: [ParsedFrame], stream: UInt32 = 1) -> [UInt8] {
        frames.filter { $0.type == Raw.FrameType.data && $0.stream == stream }.flatMap(\.payload)
    }

    @Test(
        "RFC 9113 §5.2 content beyond the window arrives whole as the window opens, and the stream ends with it",
        arguments: [1, 16_383, 40_000, 65_535])
    func throughTheWindow(step: UInt32) throws {
        let server = try serverWithContent()
        var received = body(server.outputFrames())
        #expect(received.count == 65_535)
        var frames: [ParsedFrame] = []
        // A byte at a time shows as much in fewer bytes.
        let rounds = step == 1 ? 50 : 100
        for _ in 0..<rounds where received.count < Self.content.count {
            try server.receive(Raw.windowUpdate(0, step) + Raw.windowUpdate(1, step))
            frames = server.outputFrames()
            received += body(frames)
        }
        #expect(received == Array(Self.content.prefix(received.count)))
        #expect(server.contentBytesSent == UInt64(received.count))
        guard step > 1 else { return }
        #expect(received.count == Self.content.count)
        #expect(frames.last { $0.type == Raw.FrameType.data }.map { $0.flags & Raw.Flag.endStream != 0 } == true)
        #expect(server.queuedCount(Self.id) == 0)
    }

    @Test("what was queued goes first, and content takes no capacity from other streams")
    func behindTheQueue() throws {
        let server = try openedServer()
        try server.receive(Raw.headers(1) + Raw.headers(3))
        _ = server.events()
        for id in [1, 3] as [Int32] { server.respond(HTTP2StreamID(id), status: 200, fields: [], endOfStream: false) }
        server.write(Self.id, pattern(100))
        server.endStream(Self.id, content: Self.content)
        #expect(server.sendCapacity(HTTP2StreamID(3)) == 65_435, "only what is queued counts")
        #expect(server.queuedCount(Self.id) == 300_100)
        let received = body(server.outputFrames())
        #expect(Array(received.prefix(100)) == pattern(100))
        #expect(Array(received.dropFirst(100)) == Array(Self.content.prefix(received.count - 100)))
    }

    @Test("content of low urgency lets another stream pass that has something to say")
    func urgency() throws {
        let server = try openedServer()
        try server.receive(Raw.headers(1) + Raw.headers(3))
        _ = server.events()
        for id in [1, 3] as [Int32] { server.respond(HTTP2StreamID(id), status: 200, fields: [], endOfStream: false) }
        server.setUrgency(Self.id, 5)
        server.endStream(Self.id, content: Self.content)
        server.write(HTTP2StreamID(3), pattern(1_000))
        let order = server.outputFrames().filter { $0.type == Raw.FrameType.data }.map(\.stream)
        #expect(order.first == 3)
        #expect(order.dropFirst().allSatisfy { $0 == 1 })
    }

    @Test("a reset stream lets go of its content", arguments: ["peer", "here"])
    func reset(by: String) throws {
        let server = try serverWithContent()
        _ = server.output(upTo: 1)
        if by == "peer" { try server.receive(Raw.reset(1)) } else { server.reset(Self.id, .cancel) }
        #expect(server.queuedCount(Self.id) == 0)
        #expect(body(server.outputFrames()).isEmpty)
    }

    @Test("RFC 1952 gzip content is what it was, and shorter; what would not be is left", arguments: [0, 1, 40, 1_000, 200_000])
    func gzip(count: Int) throws {
        let text = (0..<count).map { UInt8(ascii: "a") &+ UInt8($0 / 7 % 13) }
        let coded = GzipContent.encode(text)
        guard count >= 1_000 else {
            #expect(coded == nil || (coded?.count ?? 0) < count)
            return
        }
        let bytes = try #require(coded)
        #expect(bytes.count < count && bytes[0] == 0x1F && bytes[1] == 0x8B)
        // The trailer: CRC-32 and length of what it was (RFC 1952 §2.3.1).
        let trailer = bytes.suffix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        #expect(trailer >> 32 == UInt64(count))
        let sum = unsafe text.withUnsafeBufferPointer { unsafe crc32(0, $0.baseAddress, UInt32(count)) }
        #expect(trailer & 0xFFFF_FFFF == UInt64(sum))
    }
}
