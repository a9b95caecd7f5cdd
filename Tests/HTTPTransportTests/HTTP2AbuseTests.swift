import HTTPTransport
import RelayBase
import Testing

/// Each flood by its raw bytes: what is allowed passes, one more ends the connection with the right code, and the server costs nobody else anything.
@Suite struct HTTP2AbuseTests {
    private static let second: UInt64 = 1_000

    private func at(_ milliseconds: UInt64) -> MonotonicInstant { MonotonicInstant.zero.advanced(byMilliseconds: milliseconds) }

    /// Sends `frame(n)` until the session faults, `attempts` times at most; answers how many passed and the fault.
    private func flood(
        _ server: HTTP2Session, attempts: Int = 5_000, now: MonotonicInstant = .zero, _ frame: (Int) -> [UInt8]
    ) -> (passed: Int, fault: HTTP2Fault?) {
        for count in 0..<attempts {
            if let fault = server.fault(receiving: frame(count), now: now) { return (count, fault) }
            _ = server.output(now: now)
            if let fault = server.fault { return (count, fault) }
            while server.nextEvent() != nil {}
        }
        return (attempts, nil)
    }

    private func stream(_ count: Int) -> UInt32 { UInt32(count * 2 + 1) }

    @Test("CVE-2023-44487 Rapid Reset: 200 resets pass, the next ends with ENHANCE_YOUR_CALM")
    func rapidReset() throws {
        let server = try openedServer()
        let result = flood(server) { Raw.headers(stream($0)) + Raw.reset(stream($0)) }
        #expect(result.passed == 200)
        #expect(result.fault == .rapidReset)
        #expect(result.fault?.errorCode == .enhanceYourCalm)
        #expect(!server.isFinished)
        #expect(server.outputFrames().last?.goAwayCode == .enhanceYourCalm)
        #expect(server.isFinished)
        #expect(server.fault(receiving: Raw.ping()) == .rapidReset)
    }

    @Test("CVE-2023-44487 Rapid Reset in one chunk: nobody hears of the requests, and GOAWAY carries ENHANCE_YOUR_CALM")
    func rapidResetUnheard() throws {
        let server = try openedServer()
        let bytes = (0..<201).flatMap { Raw.headers(stream($0)) + Raw.reset(stream($0)) }
        #expect(server.fault(receiving: bytes) == .rapidReset)
        #expect(server.outputFrames().last?.goAwayCode == .enhanceYourCalm)
        #expect(server.output().isEmpty)
        // The last request was whole before its reset was refused.
        #expect(server.events().filter { $0.hasPrefix("request") }.isEmpty)
        #expect(server.openStreams == 0)
    }

    @Test("resets at the rate that the budget renews go on for ever")
    func slowResets() throws {
        let server = try openedServer()
        // nghttp2 has a limit of its own, looser (1,000 and 33 a second) but on the real clock: stay below its burst.
        for count in 0..<900 {
            let now = at(UInt64(count) * 50)
            try server.receive(Raw.headers(stream(count)) + Raw.reset(stream(count)), now: now)
            _ = server.output(now: now)
            while server.nextEvent() != nil {}
        }
        #expect(server.fault == nil)
    }

    @Test(
        "CVE-2025-8671 MadeYouReset: resets provoked by invalid frames share the budget",
        arguments: ["window overflow", "data after the end", "content-length"])
    func madeYouReset(how: String) throws {
        let server = try openedServer()
        let result = flood(server) { count in
            let id = stream(count)
            switch how {
            case "window overflow": return Raw.headers(id, Raw.post, endStream: false) + Raw.windowUpdate(id, 0x7fff_ffff)
            case "data after the end": return Raw.headers(id, Raw.get + [("content-length", "5")])
            default: return Raw.headers(id, Raw.post + [("content-length", "1")], endStream: false) + Raw.data(id, [1, 2])
            }
        }
        #expect(result.passed == 200)
        #expect(result.fault == .provokedResets)
        #expect(server.outputFrames().last?.goAwayCode == .enhanceYourCalm)
        #expect(server.fault(receiving: []) == .provokedResets)
    }

    @Test("CVE-2025-8671 resets are counted although nothing is sent")
    func provokedResetsUnread() throws {
        let server = try openedServer()
        var faults: [HTTP2Fault] = []
        for count in 0...200 {
            let id = stream(count)
            faults += [server.fault(receiving: Raw.headers(id, Raw.post, endStream: false) + Raw.windowUpdate(id, 0x7fff_ffff))].compactMap(\.self)
            #expect(faults.isEmpty == (count < 200))
        }
        #expect(faults == [.provokedResets])
    }

    @Test("a client that has its PINGs answered and never reads is stopped by the bound on what waits")
    func answersUnread() throws {
        var configuration = HTTP2Configuration()
        configuration.controlQueueBytesMax = 17 * 1_000
        let server = try openedServer(configuration)
        for count in 0..<1_000 as Range<UInt64> { try server.receive(Raw.ping(), now: at(count * 50)) }
        #expect(server.fault(receiving: Raw.ping(), now: at(50_000)) == .controlQueueOverflow)
        #expect(server.outputFrames().last?.goAwayCode == .enhanceYourCalm)
    }

    @Test("the server's own resets are not held against the client")
    func ownResets() throws {
        let server = try openedServer()
        for count in 0..<1_000 {
            try server.receive(Raw.headers(stream(count)))
            server.reset(HTTP2StreamID(Int32(stream(count))), .cancel)
            _ = server.output()
            while server.nextEvent() != nil {}
        }
        #expect(server.fault == nil)
    }

    @Test("CVE-2024-27316 CONTINUATION flood: eight frames pass, the ninth ends it", arguments: [0, 10])
    func continuationFlood(bytesEach: Int) throws {
        let field = Raw.fieldBlock([("x", String(repeating: "a", count: 6))])
        #expect(field.count == 10)
        let server = try openedServer()
        try server.receive(Raw.frame(Raw.FrameType.headers, flags: Raw.Flag.endStream, stream: 1, Raw.fieldBlock(Raw.get)))
        let result = flood(server) { _ in Raw.frame(Raw.FrameType.continuation, stream: 1, Array(field.prefix(bytesEach))) }
        #expect(result.passed == 8)
        #expect(result.fault == .continuationFlood)
        let whole = try openedServer()
        var bytes = Raw.frame(Raw.FrameType.headers, flags: Raw.Flag.endStream, stream: 1, Raw.fieldBlock(Raw.get))
        for count in 1...8 {
            bytes += Raw.frame(
                Raw.FrameType.continuation, flags: count == 8 ? Raw.Flag.endHeaders : 0, stream: 1, Array(field.prefix(bytesEach)))
        }
        try whole.receive(bytes)
        #expect(whole.events().first?.hasPrefix("request 1") == true)
    }

    @Test("CVE-2024-27316 a header block of more than 64 KiB ends the connection, in whatever frames")
    func headerBlockBytes() throws {
        let server = try openedServer()
        let field = Raw.fieldBlock([("x", String(repeating: "a", count: 1_000))])
        let full = Array((0..<16).flatMap { _ in field })
        try server.receive(Raw.frame(Raw.FrameType.headers, stream: 1, Raw.fieldBlock(Raw.get)))
        let result = flood(server) { _ in Raw.frame(Raw.FrameType.continuation, stream: 1, full) }
        #expect(result.passed == (64 << 10) / full.count)
        #expect(result.fault == .continuationFlood)
        #expect(server.outputFrames().last?.goAwayCode == .enhanceYourCalm)
    }

    @Test("a header block unfinished after 10 s ends the connection", arguments: ["no continuation", "cut payload", "cut continuation"])
    func headerBlockTimeout(how: String) throws {
        let server = try openedServer()
        let block = Raw.fieldBlock(Raw.get)
        let open = Raw.frame(Raw.FrameType.headers, stream: 1, block)
        let began = at(3_000)
        switch how {
        case "no continuation": try server.receive(open, now: began)
        case "cut payload": try server.receive(Raw.headers(1).dropLast(), now: began)
        default: try server.receive(open + Raw.frame(Raw.FrameType.continuation, flags: Raw.Flag.endHeaders, stream: 1, block).dropLast(), now: began)
        }
        #expect(server.nextDeadline == at(13_000))
        try server.deadlineReached(now: at(12_999))
        #expect(throws: HTTP2Fault.headerBlockTimeout) { try server.deadlineReached(now: at(13_000)) }
        #expect(server.outputFrames().last?.goAwayCode == .enhanceYourCalm)
        #expect(server.nextDeadline == .distantFuture)
    }

    @Test("a header block finished in time leaves no deadline behind")
    func headerBlockInTime() throws {
        let server = try openedServer()
        let bytes = Raw.headers(1)
        for (index, byte) in bytes.enumerated() { try server.receive([byte], now: at(UInt64(index) * 100)) }
        #expect(server.nextDeadline == .distantFuture)
        #expect(server.events().count == 1)
    }

    struct Flood: Sendable, CustomTestStringConvertible {
        var name: String
        var frame: [UInt8]
        var allowed: Int
        var fault: HTTP2Fault
        var testDescription: String { name }
    }

    static let floods = [
        // The client's first SETTINGS has taken one.
        Flood(name: "SETTINGS, CVE-2019-9515", frame: Raw.settings(), allowed: 19, fault: .settingsFlood),
        Flood(name: "PING, CVE-2019-9512", frame: Raw.ping(), allowed: 100, fault: .pingFlood),
        Flood(name: "PING acknowledgements", frame: Raw.frame(6, flags: 1, Array(repeating: 0, count: 8)), allowed: 100, fault: .pingFlood),
        Flood(name: "empty DATA, CVE-2019-9518", frame: Raw.data(1, []), allowed: 100, fault: .emptyFrameFlood),
        Flood(
            name: "DATA of padding only", frame: Raw.frame(0, flags: Raw.Flag.padded, stream: 1, [3, 0, 0, 0]), allowed: 100, fault: .emptyFrameFlood),
        Flood(name: "PRIORITY, CVE-2019-9513", frame: Raw.frame(2, stream: 1, Raw.word(3) + [16]), allowed: 300, fault: .priorityFlood),
        Flood(name: "PRIORITY_UPDATE", frame: Raw.frame(0x10, Raw.word(1) + Array("u=1".utf8)), allowed: 300, fault: .priorityFlood),
        Flood(name: "WINDOW_UPDATE", frame: Raw.windowUpdate(0, 1), allowed: 1_000, fault: .windowUpdateFlood),
        Flood(name: "unknown frames", frame: Raw.frame(0xbb, [1]), allowed: 100, fault: .unknownFrameFlood),
        Flood(name: "GOAWAY", frame: Raw.frame(7, Raw.word(0) + Raw.word(0)), allowed: 100, fault: .unknownFrameFlood),
    ]

    @Test("a flood of small frames ends with ENHANCE_YOUR_CALM once the budget is spent", arguments: floods)
    func smallFrameFlood(_ flood: Flood) throws {
        let server = try openedServer()
        try server.receive(Raw.headers(1, Raw.post, endStream: false))
        let result = self.flood(server) { _ in flood.frame }
        #expect(result.passed == flood.allowed)
        #expect(result.fault == flood.fault)
        #expect(result.fault?.errorCode == .enhanceYourCalm)
    }

    @Test("GOAWAY with the fault's code is the last that a flooding client gets")
    func floodAnswer() throws {
        let server = try openedServer()
        #expect(server.fault(receiving: Array((0..<101).flatMap { _ in Raw.ping() })) == .pingFlood)
        let frames = server.outputFrames()
        #expect(frames.last?.goAwayCode == .enhanceYourCalm)
        #expect(frames.filter { $0.type == Raw.FrameType.goAway }.count == 1)
        #expect(server.isFinished)
    }

    @Test("a client that returns credit for every DATA frame, on stream and connection, is no flood")
    func creditPerFrame() throws {
        let server = try openedServer()
        try server.receive(Raw.headers(1))
        server.respond(HTTP2StreamID(1), status: 200, fields: [], endOfStream: false)
        for _ in 0..<5_000 {
            server.write(HTTP2StreamID(1), pattern(160))
            _ = server.output()
            try server.receive(Raw.windowUpdate(1, 160) + Raw.windowUpdate(0, 160))
        }
        #expect(server.fault == nil)
    }

    @Test("RFC 9113 §5.1.2 the stream over the limit is refused and the connection lives", arguments: [0, 1, 2])
    func tooManyStreams(acknowledged: Int) throws {
        let server = HTTP2Session(role: .server, now: .zero)
        _ = server.output()
        try server.receive(Raw.preface + Raw.settings() + (0..<acknowledged).flatMap { _ in Raw.settingsAcknowledgement })
        for count in 0..<103 { try server.receive(Raw.headers(stream(count))) }
        let refused = server.outputFrames().filter { $0.type == Raw.FrameType.rstStream }
        #expect(refused.map(\.stream) == [201, 203, 205])
        #expect(refused.allSatisfy { $0.lastWord == HTTP2ErrorCode.refusedStream.rawValue })
        #expect(server.events().filter { $0.hasPrefix("request") }.count == 100)
        #expect(server.openStreams == 100)
        server.respond(HTTP2StreamID(1), status: 200, fields: [], endOfStream: true)
        _ = server.output()
        try server.receive(Raw.headers(207))
        #expect(server.events().last == "request 207 :method=GET :scheme=https :path=/ :authority=relay.test end")
    }

    @Test("§6.5.3 SETTINGS not acknowledged in 10 s end with SETTINGS_TIMEOUT", arguments: [0, 1])
    func settingsTimeout(acknowledged: Int) throws {
        let server = HTTP2Session(role: .server, now: at(500))
        if acknowledged > 0 { try server.receive(Raw.preface + Raw.settings() + Raw.settingsAcknowledgement, now: at(600)) }
        _ = server.output()
        #expect(server.nextDeadline == at(10_500))
        #expect(throws: HTTP2Fault.settingsTimeout) { try server.deadlineReached(now: at(10_500)) }
        #expect(server.outputFrames().last?.goAwayCode == .settingsTimeout)
    }

    @Test("§6.5 an acknowledgement too many is a PROTOCOL_ERROR")
    func unexpectedAcknowledgement() throws {
        let server = try openedServer()
        #expect(server.fault(receiving: Raw.settingsAcknowledgement) == .unexpectedSettingsAcknowledgement)
        #expect(server.outputFrames().last?.goAwayCode == .protocolError)
    }

    @Test("no open stream for 60 s ends with NO_ERROR; PINGs do not put it off, a stream does")
    func idle() throws {
        let server = try openedServer()
        #expect(server.nextDeadline == at(60_000))
        try server.receive(Raw.ping(), now: at(30_000))
        #expect(server.nextDeadline == at(60_000))
        try server.receive(Raw.headers(1), now: at(40_000))
        #expect(server.nextDeadline == .distantFuture)
        server.respond(HTTP2StreamID(1), status: 200, fields: [], endOfStream: true)
        _ = server.output(now: at(50_000))
        #expect(server.nextDeadline == at(110_000))
        #expect(throws: HTTP2Fault.idle) { try server.deadlineReached(now: at(110_000)) }
        #expect(server.outputFrames().last?.goAwayCode == .noError)
        #expect(server.isFinished)
    }
}
