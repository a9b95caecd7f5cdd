import HTTPTransport
import RelayBase
import Testing

/// No bytes trap, and no cut of them changes what they mean.
@Suite struct HTTP2HostileInputTests {
    struct Violation: Sendable, CustomTestStringConvertible {
        var name: String
        var bytes: [UInt8]
        var code: HTTP2ErrorCode
        var testDescription: String { name }
    }

    static let violations = [
        Violation(name: "§4.2 a frame over the maximum size", bytes: Raw.data(1, pattern(16_385)), code: .frameSizeError),
        Violation(
            name: "§4.3 bytes that HPACK does not know", bytes: Raw.frame(1, flags: 5, stream: 1, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
            code: .compressionError),
        Violation(name: "§5.1.1 an even stream identifier", bytes: Raw.headers(2), code: .protocolError),
        Violation(name: "§5.1 DATA on an idle stream", bytes: Raw.data(9, [1]), code: .protocolError),
        Violation(
            name: "§6.10 DATA inside a header block", bytes: Raw.frame(1, flags: 1, stream: 1, Raw.fieldBlock(Raw.get)) + Raw.data(1, []),
            code: .protocolError),
        Violation(name: "§6.10 CONTINUATION without HEADERS", bytes: Raw.frame(9, flags: 4, stream: 1, []), code: .protocolError),
        Violation(
            name: "§6.1 padding longer than the frame",
            bytes: Raw.headers(1, Raw.post, endStream: false) + Raw.frame(0, flags: 8, stream: 1, [9, 1]), code: .protocolError),
        Violation(name: "§6.5 SETTINGS on a stream", bytes: Raw.frame(4, stream: 1, []), code: .protocolError),
        Violation(name: "§6.5 SETTINGS of a broken length", bytes: Raw.frame(4, [1, 2, 3]), code: .frameSizeError),
        Violation(name: "§6.5.2 an initial window over 2³¹ − 1", bytes: Raw.settings([(4, 0x8000_0000)]), code: .flowControlError),
        Violation(name: "§6.7 PING of seven bytes", bytes: Raw.frame(6, [1, 2, 3, 4, 5, 6, 7]), code: .frameSizeError),
        Violation(name: "§6.9 WINDOW_UPDATE of zero on the connection", bytes: Raw.windowUpdate(0, 0), code: .protocolError),
        Violation(name: "§6.9.1 the connection's window over 2³¹ − 1", bytes: Raw.windowUpdate(0, 0x7fff_ffff), code: .flowControlError),
        Violation(name: "§8.4 PUSH_PROMISE from a client", bytes: Raw.frame(5, flags: 4, stream: 1, Raw.word(2)), code: .protocolError),
    ]

    @Test("RFC 9113 a violation ends the connection with its code, however it is cut", arguments: violations)
    func violation(_ violation: Violation) throws {
        for pieceMax in [1, 7, 100_000] {
            var generator = SeededGenerator(seed: UInt64(pieceMax))
            let server = try openedServer()
            #expect(throws: HTTP2Fault.connectionError(violation.code)) {
                try server.receive(violation.bytes, cutBy: &generator, pieceMax: pieceMax)
            }
            #expect(server.outputFrames().last?.goAwayCode == violation.code)
            #expect(server.isFinished)
        }
    }

    struct Refusal: Sendable, CustomTestStringConvertible {
        var name: String
        var bytes: [UInt8]
        var fault: HTTP2Fault
        var testDescription: String { name }
    }

    static let opened = Raw.headers(1, Raw.post, endStream: false)

    /// What the library alone would let pass.
    static let refusals = [
        Refusal(name: "§6.3 PRIORITY on stream 0", bytes: Raw.frame(2, Raw.word(0) + [15]), fault: .priorityOnConnection),
        Refusal(name: "§6.5 a SETTINGS acknowledgement with a payload", bytes: Raw.frame(4, flags: 1, [0]), fault: .malformedSettingsAcknowledgement),
        Refusal(name: "§5.1 DATA after one's own RST_STREAM", bytes: opened + Raw.reset(1) + Raw.data(1, [1]), fault: .frameAfterStreamEnd),
        Refusal(name: "§5.1 empty DATA after one's own RST_STREAM", bytes: opened + Raw.reset(1) + Raw.data(1, []), fault: .frameAfterStreamEnd),
        Refusal(name: "§5.1 HEADERS after one's own RST_STREAM", bytes: opened + Raw.reset(1) + Raw.headers(1), fault: .frameAfterStreamEnd),
        Refusal(
            name: "§5.1 HEADERS after END_STREAM and RST_STREAM", bytes: Raw.headers(1) + Raw.reset(1) + Raw.headers(1), fault: .frameAfterStreamEnd),
    ]

    @Test("RFC 9113 what shows in a frame's header alone is refused with its code, however it is cut", arguments: refusals)
    func refusal(_ refusal: Refusal) throws {
        for pieceMax in [1, 7, 100_000] {
            var generator = SeededGenerator(seed: UInt64(pieceMax))
            let server = try openedServer()
            #expect(throws: refusal.fault) { try server.receive(refusal.bytes, cutBy: &generator, pieceMax: pieceMax) }
            #expect(server.outputFrames().last?.goAwayCode == refusal.fault.errorCode)
            #expect(server.isFinished)
        }
    }

    @Test("§3.4 another protocol's first bytes are a bad preface")
    func badPreface() {
        let server = HTTP2Session(role: .server, now: .zero)
        #expect(server.fault(receiving: Array("GET / HTTP/1.1\r\nHost: relay.test\r\n\r\n".utf8)) == .badPreface)
    }

    @Test(
        "§8.1.1 a malformed request is reset with PROTOCOL_ERROR and never heard of",
        arguments: [
            [(":method", "GET"), (":scheme", "https"), (":path", "/"), ("Upper", "x")],
            [(":method", "GET"), (":scheme", "https"), (":path", "/"), ("connection", "close")],
            [(":method", "GET"), (":scheme", "https")],
            [(":method", "GET"), (":scheme", "https"), (":path", "/"), ("x", "a\nb")],
            [(":method", "GET"), (":method", "GET"), (":scheme", "https"), (":path", "/")],
            [(":status", "200"), (":method", "GET"), (":scheme", "https"), (":path", "/")],
        ])
    func malformedRequest(fields: [(String, String)]) throws {
        let server = try openedServer()
        try server.receive(Raw.headers(1, fields) + Raw.headers(3))
        let resets = server.outputFrames().filter { $0.type == Raw.FrameType.rstStream }
        #expect(resets.map(\.stream) == [1] && resets.map(\.lastWord) == [1])
        #expect(server.events().map { $0.prefix(9) } == ["request 3"])
    }

    /// A server's whole life with one client: what it heard, sent, and ended with.
    private func life(_ bytes: [UInt8], role: HTTP2Session.Role, seed: UInt64, pieceMax: Int) -> (
        lines: [String], output: [UInt8], fault: HTTP2Fault?
    ) {
        var generator = SeededGenerator(seed: seed)
        let session = HTTP2Session(role: role, now: .zero)
        if role == .client { _ = try? session.request(fields: Raw.get.map { ($0.0, $0.1) }, endOfStream: true) }
        var output = session.output()
        try? session.receive(bytes, cutBy: &generator, pieceMax: pieceMax)
        var lines: [String] = []
        while let event = session.nextEvent() {
            lines.append(event.line)
            switch event {
            case .request(let id, _, _):
                session.respond(id, status: 200, fields: [], endOfStream: false)
                session.write(id, [1, 2, 3])
                session.endStream(id)
            case .dataAvailable(let id):
                lines.append("\(session.read(id))")
            default:
                break
            }
        }
        output += session.output()
        return (lines, output, session.fault)
    }

    /// Frames of random type, flags, stream and payload; most are plausible.
    private func randomTraffic(_ generator: inout SeededGenerator) -> [UInt8] {
        var bytes: [UInt8] = []
        var next: UInt32 = 1
        for _ in 0..<Int.random(in: 1...60, using: &generator) {
            switch Int.random(in: 0..<12, using: &generator) {
            case 0...3:
                bytes += Raw.headers(next, Bool.random(using: &generator) ? Raw.get : Raw.connect, endStream: Bool.random(using: &generator))
                next += 2
            case 4...5:
                bytes += Raw.data(
                    UInt32.random(in: 1...next, using: &generator), pattern(Int.random(in: 0...300, using: &generator)),
                    endStream: Bool.random(using: &generator))
            case 6: bytes += Raw.reset(UInt32.random(in: 1...next, using: &generator))
            case 7: bytes += Raw.windowUpdate(UInt32.random(in: 0...next, using: &generator), UInt32.random(in: 0...100, using: &generator))
            case 8: bytes += Raw.settings([(UInt16.random(in: 1...9, using: &generator), UInt32.random(in: 0...70_000, using: &generator))])
            case 9: bytes += Raw.ping()
            default:
                let payload = (0..<Int.random(in: 0...20, using: &generator)).map { _ in UInt8.random(in: 0...255, using: &generator) }
                bytes += Raw.frame(
                    UInt8.random(in: 0...17, using: &generator), flags: UInt8.random(in: 0...255, using: &generator),
                    stream: UInt32.random(in: 0...next, using: &generator), payload)
            }
        }
        // A bit or two flipped, sometimes.
        while !bytes.isEmpty, Int.random(in: 0..<3, using: &generator) == 0 {
            bytes[Int.random(in: 0..<bytes.count, using: &generator)] ^= 1 << UInt8.random(in: 0...7, using: &generator)
        }
        return bytes
    }

    private func sorted(_ output: [UInt8]) -> [String] {
        ParsedFrame.parse(output).map { "\($0.stream) \($0.type) \($0.flags) \($0.payload)" }.sorted()
    }

    /// What an honest client could send: it writes only on streams that it has open.
    private func honestTraffic(_ generator: inout SeededGenerator) -> [UInt8] {
        var bytes: [UInt8] = []
        var next: UInt32 = 1
        var open: [UInt32] = []
        for _ in 0..<Int.random(in: 1...80, using: &generator) {
            let index = open.isEmpty ? nil : Int.random(in: 0..<open.count, using: &generator)
            let ends = Int.random(in: 0..<4, using: &generator) == 0
            switch (Int.random(in: 0..<10, using: &generator), index) {
            case (0...2, _):
                let block = Raw.fieldBlock(Bool.random(using: &generator) ? Raw.post : Raw.connect)
                let cut = Int.random(in: 0...block.count, using: &generator)
                bytes += Raw.frame(Raw.FrameType.headers, flags: ends ? 1 : 0, stream: next, Array(block[..<cut]))
                bytes += Raw.frame(Raw.FrameType.continuation, flags: Raw.Flag.endHeaders, stream: next, Array(block[cut...]))
                if !ends { open.append(next) }
                next += 2
            case (3...5, let index?):
                let data = pattern(Int.random(in: 1...300, using: &generator))
                let isPadded = Bool.random(using: &generator)
                bytes += Raw.frame(
                    Raw.FrameType.data, flags: (ends ? 1 : 0) | (isPadded ? Raw.Flag.padded : 0), stream: open[index],
                    isPadded ? [3] + data + [0, 0, 0] : data)
                if ends { open.remove(at: index) }
            case (6, let index?):
                bytes += Raw.reset(open.remove(at: index))
            case (7, let index?):
                bytes += Raw.windowUpdate(Bool.random(using: &generator) ? 0 : open[index], UInt32.random(in: 1...100, using: &generator))
            case (8, _):
                bytes += Raw.ping()
            default:
                bytes += Raw.frame(Raw.FrameType.priorityUpdate, Raw.word(next) + Array("u=2".utf8))
            }
        }
        return bytes
    }

    @Test("honest traffic, cut in any way, gives the same events and output", arguments: 1...300 as ClosedRange<UInt64>)
    func anyCutIsTheSame(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let bytes = Raw.opening + honestTraffic(&generator)
        let whole = life(bytes, role: .server, seed: seed, pieceMax: 1 << 30)
        #expect(whole.fault == nil)
        for pieceMax in [1, 5, 60] {
            let cut = life(bytes, role: .server, seed: seed, pieceMax: pieceMax)
            #expect(cut.fault == nil)
            // Acknowledgements overtake what waits with them, so the order depends on the cut; what is said does not.
            #expect(sorted(cut.output) == sorted(whole.output))
            #expect(cut.lines == whole.lines)
        }
    }

    private func expectOrder(_ result: (lines: [String], output: [UInt8], fault: HTTP2Fault?)) {
        let goAways = ParsedFrame.parse(result.output).filter { $0.type == Raw.FrameType.goAway }
        if let fault = result.fault {
            #expect(goAways.last?.goAwayCode == fault.errorCode)
        } else {
            #expect(goAways.allSatisfy { $0.goAwayCode == .noError })
        }
        // Every stream that was heard of is closed at most once, and nothing comes after.
        for id in 0..<200 {
            let closings = result.lines.indices.filter { result.lines[$0].hasPrefix("closed \(id) ") }
            #expect(closings.count <= 1)
            guard let closing = closings.first else { continue }
            #expect(!result.lines[closing...].dropFirst().contains { $0.hasSuffix(" \(id)") || $0.contains(" \(id) ") })
        }
    }

    @Test("hostile traffic never traps; a fault is told by GOAWAY, and closed streams stay silent", arguments: 1...300 as ClosedRange<UInt64>)
    func hostileTraffic(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let traffic = randomTraffic(&generator)
        for role in [HTTP2Session.Role.server, .client] {
            let bytes = (role == .server ? Raw.opening : Raw.settings() + Raw.settingsAcknowledgement) + traffic
            for pieceMax in [1, 40, 1 << 30] { expectOrder(life(bytes, role: role, seed: seed, pieceMax: pieceMax)) }
        }
    }

    @Test("noise after the preface never traps", arguments: 1...200 as ClosedRange<UInt64>)
    func noise(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let noise = (0..<Int.random(in: 1...2_000, using: &generator)).map { _ in UInt8.random(in: 0...255, using: &generator) }
        for role in [HTTP2Session.Role.server, .client] {
            expectOrder(life((role == .server ? Raw.opening : Raw.settings()) + noise, role: role, seed: seed, pieceMax: 50))
        }
    }
}
