import HTTPProtocol
import MediaProtocol
import RelayBase
import RelayClient
import Signalling
import Testing
import WebSocketProtocol

@Suite("A relay that breaks the rules", .serialized)
struct HostileRelayTests {
    /// Bytes that a relay answers with, and how the session ends.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let answer: @Sendable (String) -> [UInt8]
        let end: @Sendable (ClientEvent) -> Bool
    }

    @Sendable
    private static func accepting(_ key: String, _ fields: String = "", protocolName: String = "segue.v1") -> [UInt8] {
        Array(
            ("HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: "
                + WebSocketHandshake.accept(key: key) + "\r\nsec-websocket-protocol: \(protocolName)\r\n\(fields)\r\n").utf8)
    }

    private static func raw(_ name: String, _ text: String, _ end: @escaping @Sendable (ClientFault) -> Bool) -> Case {
        Case(testDescription: name, answer: { _ in Array(text.utf8) }, end: { if case .failed(let fault) = $0 { end(fault) } else { false } })
    }

    /// After a proper opening.
    private static func opened(_ name: String, _ bytes: [UInt8], _ end: @escaping @Sendable (ClientEvent) -> Bool) -> Case {
        Case(testDescription: name, answer: { accepting($0) + bytes }, end: end)
    }

    private static func text(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        return bytes.count < 126
            ? [0x81, UInt8(bytes.count)] + bytes : [0x81, 126, UInt8(bytes.count >> 8), UInt8(truncatingIfNeeded: bytes.count)] + bytes
    }

    @Sendable
    private static func isFault(_ event: ClientEvent, _ fault: WebSocketFault) -> Bool {
        if case .failed(.webSocket(fault)) = event { true } else { false }
    }

    @Sendable
    private static func isMedia(_ event: ClientEvent, _ fault: MediaFault) -> Bool {
        if case .failed(.media(fault)) = event { true } else { false }
    }

    @Sendable
    private static func isMalformed(_ event: ClientEvent) -> Bool {
        if case .failed(.malformedMessage) = event { true } else { false }
    }

    static let cases: [Case] = [
        raw("no HTTP at all", "SSH-2.0-OpenSSH_9.2\r\n\r\n") { if case .responseHead = $0 { true } else { false } },
        raw("a status that is none", "HTTP/1.1 9999 What\r\n\r\n") { if case .responseHead = $0 { true } else { false } },
        raw("a head without end", "HTTP/1.1 101 Switching Protocols\r\nx: " + String(repeating: "y", count: 40_000)) {
            if case .responseHead(.headTooLarge) = $0 { true } else { false }
        },
        raw("a refusal with a problem document", "HTTP/1.1 403 Forbidden\r\ncontent-length: 24\r\n\r\n{\"detail\":\"Not you.\"}   ") {
            $0 == .refused(status: 403, detail: "Not you.")
        },
        raw("a redirection", "HTTP/1.1 302 Found\r\nlocation: https://elsewhere/\r\n\r\n") { $0 == .refused(status: 302, detail: "") },
        raw("an accept that is not ours", "HTTP/1.1 101 X\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: AAAA\r\n\r\n") {
            $0 == .handshake(.acceptMismatch)
        },
        Case(
            testDescription: "another subprotocol", answer: { accepting($0, protocolName: "chat") },
            end: { if case .failed(.handshake(.subprotocolNotOffered)) = $0 { true } else { false } }),
        Case(
            testDescription: "an extension that was not offered", answer: { accepting($0, "sec-websocket-extensions: permessage-deflate\r\n") },
            end: { if case .failed(.handshake(.extensionNotOffered)) = $0 { true } else { false } }),
        opened("a masked frame (§5.1)", [0x81, 0x81, 0, 0, 0, 0, 0x41]) { isFault($0, .frameMasked) },
        opened("a reserved opcode (§5.2)", [0x83, 0]) { isFault($0, .reservedOpcode) },
        opened("a reserved bit (§5.2)", [0xC1, 0]) { isFault($0, .reservedBits) },
        opened("a frame of 2^63 bytes (§5.2)", [0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0]) { isFault($0, .lengthHighBit) },
        opened("a message over every limit", [0x82, 127, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]) { isFault($0, .binaryTooBig) },
        opened("text that is not UTF-8 (§8.1)", [0x81, 2, 0xC3, 0x28]) { isFault($0, .textNotUTF8) },
        opened("a close with half a code (§5.5.1)", [0x88, 1, 3]) { isFault($0, .closePayloadOfOneByte) },
        opened("a close with a code that may not be sent (§7.4)", [0x88, 2, 0x03, 0xED]) { isFault($0, .closeCodeInvalid) },
        opened("text that is no JSON", text("hello"), isMalformed),
        opened("JSON that is no object", text("[1,2]"), isMalformed),
        opened("a type that is no string", text(#"{"type":5}"#), isMalformed),
        opened("an id beyond 64 bits", text(#"{"type":"ok","id":99999999999999999999999}"#), isMalformed),
        opened("a negative stream", text(#"{"type":"stream.ended","stream":-1}"#), isMalformed),
        opened("a welcome without its members", text(#"{"type":"welcome","id":1}"#), isMalformed),
        opened("arrays a thousand deep", text(String(repeating: "[", count: 1_000)), isMalformed),
        opened(
            "a part from the middle of a frame", [0x82, 26, 0x15, 0, 0, 0x7F] + [UInt8](repeating: 0, count: 12) + [0, 0, 0, 9, 0, 0, 0, 90, 1, 2]
        ) {
            isMedia($0, .partOutOfOrder)
        },
        opened(
            "a part of a frame of 4 GiB", [0x82, 26, 0x15, 0, 0, 0x7F] + [UInt8](repeating: 0, count: 12) + [0, 0, 0, 0, 255, 255, 255, 255, 1, 2]
        ) {
            isMedia($0, .frameTooLarge(limit: .videoFrameBytesMax, byteCount: 0xFFFF_FFFF))
        },
        opened("a bundle that ends in the middle of a frame", [0x82, 22, 0x14, 0, 0, 0x7F] + [UInt8](repeating: 0, count: 12) + [0, 0, 0, 90, 1, 2]) {
            isMedia($0, .bundleEntryTruncated)
        },
        opened("a close", [0x88, 5, 0x03, 0xE9] + Array("bye".utf8)) {
            if case .closed(.goingAway, reason: "bye") = $0 { true } else { false }
        },
        opened("a close without a code", [0x88, 0]) { if case .closed(.noStatusReceived, reason: "") = $0 { true } else { false } },
    ]

    @Test("ends the session with the fault's name, and nothing traps", arguments: cases)
    func ends(_ hostile: Case) throws {
        let relay = try HostileRelay(answer: hostile.answer)
        let clients = try Clients(address: relay.address)
        let session = try clients.open {
            // The hostile relay never ends a connection by itself.
            $0.closeHandshakeMillisecondsMax = 100
        }
        try clients.wait("the end") { session.hasEnded }
        let end = try #require(clients[session].end)
        #expect(hostile.end(end), "\(end)")
    }

    @Test("unknown message types and unknown members are passed over; short frames are handed out as they are")
    func tolerated() throws {
        let relay = try HostileRelay { key in
            Self.accepting(key) + Self.text(#"{"type":"weather","id":1,"sun":true}"#) + Self.text(#"{"type":"stream.ended","stream":3,"extra":[{}]}"#)
                + [0x82, 3, 1, 2, 3] + [0x82, 0]
        }
        let clients = try Clients(address: relay.address)
        let session = try clients.open()
        try clients.wait("both frames") { clients[session].frames.count == 2 || session.hasEnded }
        #expect(clients[session].frames == [[1, 2, 3], []])
        #expect(clients[session].news == [.streamEnded(stream: 3)])
    }

    @Test("random bytes after the opening end the session or are ignored, a hundred times")
    func randomBytes() throws {
        let relay = try HostileRelay { key in
            // The key is random, so every connection gets other bytes; the failing ones are found again by the recorded end.
            var generator = SeededGenerator(seed: key.utf8.reduce(0) { ($0 &* 31) &+ UInt64($1) })
            return Self.accepting(key) + (0..<Int.random(in: 1...300, using: &generator)).map { _ in UInt8.random(in: 0...255, using: &generator) }
                + [0x88, 0, 0x83, 0xFF]
        }
        let clients = try Clients(address: relay.address)
        for _ in 0..<100 {
            let session = try clients.open { $0.closeHandshakeMillisecondsMax = 5 }
            // The bytes come with the response head, so they are decoded by the time that the opening is told of.
            try clients.wait("the opening") { clients[session].isOpen || session.hasEnded }
            #expect(clients[session].isOpen, "\(String(describing: clients[session].end))")
            // Bytes that begin a long frame would leave the session waiting for its rest.
            clients.loop.abandon(session)
        }
    }
}
