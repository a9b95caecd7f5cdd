import HTTPTransport
import RelayBase
import Testing

@Suite struct HTTP2FlowControlTests {
    private static let id = HTTP2StreamID(1)

    private func serverWithBody(_ configuration: HTTP2Configuration = HTTP2Configuration()) throws -> HTTP2Session {
        let server = try openedServer(configuration)
        try server.receive(Raw.headers(1, Raw.post, endStream: false))
        _ = server.events()
        return server
    }

    private func windows(_ frames: [ParsedFrame], stream: UInt32) -> UInt32 {
        frames.filter { $0.type == Raw.FrameType.windowUpdate && $0.stream == stream }.reduce(0) { $0 + $1.lastWord }
    }

    @Test("RFC 9113 §5.2 window is returned only for what was consumed")
    func windowOnConsume() throws {
        let server = try serverWithBody()
        for _ in 0..<16 { try server.receive(Raw.data(1, pattern(16_384))) }
        #expect(server.events() == ["data 1"])
        #expect(server.outputFrames().isEmpty)
        #expect(server.inboundCount(Self.id) == 256 << 10)
        server.consume(Self.id, 200_000)
        #expect(windows(server.outputFrames(), stream: 1) == 200_000)
        #expect(server.inboundCount(Self.id) == (256 << 10) - 200_000)
    }

    @Test("§5.2 consuming in any steps returns it all in the end", arguments: 1...5 as ClosedRange<UInt64>)
    func windowSums(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let server = try serverWithBody()
        var sent = 0
        var returned: UInt32 = 0
        var returnedToConnection: UInt32 = 0
        for _ in 0..<400 {
            let count = Int.random(in: 1...16_384, using: &generator)
            try server.receive(Raw.data(1, pattern(count)))
            sent += count
            server.consume(Self.id, Int.random(in: 0...server.inboundCount(Self.id), using: &generator))
            if server.inboundCount(Self.id) > 150_000 { server.consume(Self.id, server.inboundCount(Self.id)) }
            let frames = server.outputFrames()
            returned += windows(frames, stream: 1)
            returnedToConnection += windows(frames, stream: 0)
        }
        server.consume(Self.id, server.inboundCount(Self.id))
        let frames = server.outputFrames()
        returned += windows(frames, stream: 1)
        returnedToConnection += windows(frames, stream: 0)
        // The library holds back up to half a window.
        #expect(Int(returned) <= sent && Int(returned) >= sent - 128 << 10)
        #expect(Int(returnedToConnection) <= sent && Int(returnedToConnection) >= sent - 512 << 10)
    }

    @Test("§6.9.1 data beyond the stream's window resets the stream with FLOW_CONTROL_ERROR")
    func beyondStreamWindow() throws {
        var configuration = HTTP2Configuration()
        configuration.streamWindowBytes = 65_535
        let server = try serverWithBody(configuration)
        for _ in 0..<4 { try server.receive(Raw.data(1, pattern(16_384))) }
        let frames = server.outputFrames()
        #expect(frames.map(\.type) == [Raw.FrameType.rstStream])
        #expect(frames.first?.lastWord == HTTP2ErrorCode.flowControlError.rawValue)
        #expect(server.events() == ["data 1", "closed 1 3"])
    }

    @Test("§6.9.1 data beyond the connection's window ends it with FLOW_CONTROL_ERROR")
    func beyondConnectionWindow() throws {
        var configuration = HTTP2Configuration()
        configuration.connectionWindowBytes = 65_535
        let server = try serverWithBody(configuration)
        for _ in 0..<3 { try server.receive(Raw.data(1, pattern(16_384))) }
        #expect(server.fault(receiving: Raw.data(1, pattern(16_384))) == .connectionError(.flowControlError))
        #expect(server.outputFrames().last?.goAwayCode == .flowControlError)
        #expect(server.isFinished)
        #expect(server.events() == ["data 1", "closed 1 3"])
    }

    @Test("§6.1 padding is returned without anybody's doing")
    func padding() throws {
        let server = try serverWithBody()
        for _ in 0..<1_000 {
            try server.receive(Raw.frame(Raw.FrameType.data, flags: Raw.Flag.padded, stream: 1, [250, 1] + Array(repeating: 0, count: 250)))
        }
        // 251 of each 252 bytes are padding and its length; a library may hold back half a window.
        #expect(server.inboundCount(Self.id) == 1_000)
        #expect(windows(server.outputFrames(), stream: 1) >= 251_000 - 128 << 10)
    }

    @Test("unread bytes of a closed or reset stream go back to the connection's window", arguments: ["closed", "reset", "late"])
    func unreadIsReturned(how: String) throws {
        var configuration = HTTP2Configuration()
        configuration.connectionWindowBytes = 65_535
        let server = try serverWithBody(configuration)
        if how != "late" {
            for _ in 0..<3 { try server.receive(Raw.data(1, pattern(16_384))) }
        }
        switch how {
        case "closed":
            server.respond(Self.id, status: 200, fields: [], endOfStream: true)
            try server.receive(Raw.data(1, [], endStream: true))
        case "reset":
            try server.receive(Raw.reset(1))
        default:
            server.reset(Self.id, .cancel)
            for _ in 0..<3 { try server.receive(Raw.data(1, pattern(16_384))) }
        }
        var frames = server.outputFrames()
        #expect(server.events().last?.hasPrefix("closed 1") == true)
        frames += server.outputFrames()
        // What trickles in late comes back as soon as it makes half a window.
        #expect(windows(frames, stream: 0) == (how == "late" ? 2 : 3) * 16_384)
    }

    @Test("sendCapacity is the smaller window less what waits, and what fits it goes out at once", arguments: 1...10 as ClosedRange<UInt64>)
    func sendCapacity(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let server = try openedServer(settings: [(4, 50_000)])
        try server.receive(Raw.headers(1) + Raw.headers(3))
        for id in [1, 3] as [Int32] { server.respond(HTTP2StreamID(id), status: 200, fields: [], endOfStream: false) }
        _ = server.output()
        #expect(server.sendCapacity(Self.id) == 50_000)
        for _ in 0..<200 {
            let id = HTTP2StreamID(Bool.random(using: &generator) ? 1 : 3)
            let capacity = server.sendCapacity(id)
            if capacity > 0 {
                let count = Int.random(in: 1...min(capacity, 9_000), using: &generator)
                server.write(id, pattern(count))
                #expect(server.sendCapacity(id) == capacity - count)
            }
            if Bool.random(using: &generator) {
                _ = server.output()
                #expect(server.queuedCount(HTTP2StreamID(1)) == 0)
                #expect(server.queuedCount(HTTP2StreamID(3)) == 0)
            }
            if Int.random(in: 0..<4, using: &generator) == 0 {
                try server.receive(Raw.windowUpdate(UInt32(id.value), 5_000) + Raw.windowUpdate(0, 5_000))
            }
        }
    }

    @Test("§6.9 writable follows once a window opens, and only when it was asked for", arguments: ["stream", "connection", "settings"])
    func writable(by: String) throws {
        let server = try openedServer(settings: by == "connection" ? [(4, 1 << 20)] : [(4, 1_000)])
        try server.receive(Raw.headers(1))
        server.respond(Self.id, status: 200, fields: [], endOfStream: false)
        let capacity = server.sendCapacity(Self.id)
        #expect(capacity == (by == "connection" ? 65_535 : 1_000))
        server.write(Self.id, pattern(capacity))
        _ = server.output()
        _ = server.events()
        try server.receive(Raw.windowUpdate(0, 1))
        #expect(server.events() == [])
        let left = server.sendCapacity(Self.id, wanted: 160)
        #expect(left == (by == "connection" ? 1 : 0))
        switch by {
        case "stream": try server.receive(Raw.windowUpdate(1, 500))
        case "connection": try server.receive(Raw.windowUpdate(0, 499))
        default: try server.receive(Raw.settings([(4, 1_500)]))
        }
        #expect(server.events().filter { $0 == "writable 1" }.count == 1)
        #expect(server.sendCapacity(Self.id) == 500)
        try server.receive(Raw.windowUpdate(1, 1))
        #expect(server.events() == [])
    }

    @Test("§6.9.2 a window shrunk below zero by SETTINGS gives no capacity and no trap")
    func shrunkWindow() throws {
        let server = try openedServer(settings: [(4, 10_000)])
        try server.receive(Raw.headers(1))
        server.respond(Self.id, status: 200, fields: [], endOfStream: false)
        server.write(Self.id, pattern(9_000))
        _ = server.output()
        try server.receive(Raw.settings([(4, 0)]))
        #expect(server.sendCapacity(Self.id) == 0)
        server.write(Self.id, [1])
        #expect(server.outputFrames().allSatisfy { $0.type != Raw.FrameType.data })
        try server.receive(Raw.windowUpdate(1, 9_001))
        #expect(server.outputFrames().filter { $0.type == Raw.FrameType.data }.map(\.payload) == [[1]])
    }

    @Test("bytes dropped with one stream give another its capacity back")
    func capacityAfterReset() throws {
        let server = try openedServer(settings: [(4, 1 << 20)])
        try server.receive(Raw.headers(1) + Raw.headers(3))
        for id in [1, 3] as [Int32] { server.respond(HTTP2StreamID(id), status: 200, fields: [], endOfStream: false) }
        _ = server.events()
        server.write(Self.id, pattern(65_535))
        #expect(server.sendCapacity(HTTP2StreamID(3)) == 0)
        try server.receive(Raw.reset(1))
        #expect(server.events() == ["closed 1 8", "writable 3"])
        #expect(server.sendCapacity(HTTP2StreamID(3)) == 65_535)
    }
}

@Suite struct HTTP2PriorityTests {
    private func dataStreams(_ server: HTTP2Session, _ ids: [Int32]) -> [UInt32] {
        for id in ids { server.respond(HTTP2StreamID(id), status: 200, fields: [], endOfStream: false) }
        _ = server.output()
        for id in ids { server.write(HTTP2StreamID(id), pattern(100)) }
        return server.outputFrames().filter { $0.type == Raw.FrameType.data }.map(\.stream)
    }

    @Test("RFC 9218 §4.1 the server's urgency orders DATA, whatever was written first")
    func setUrgency() throws {
        let server = try openedServer()
        try server.receive(Raw.headers(1) + Raw.headers(3) + Raw.headers(5))
        server.setUrgency(HTTP2StreamID(1), 6)
        server.setUrgency(HTTP2StreamID(3), 4)
        server.setUrgency(HTTP2StreamID(5), 1)
        #expect(dataStreams(server, [1, 3, 5]) == [5, 3, 1])
    }

    @Test("RFC 9218 §5 the client's priority field orders DATA")
    func priorityField() throws {
        let server = try openedServer()
        try server.receive(Raw.headers(1, Raw.get + [("priority", "u=5")]) + Raw.headers(3, Raw.get + [("priority", "u=0")]))
        #expect(dataStreams(server, [1, 3]) == [3, 1])
    }

    @Test("RFC 9218 §7.1 PRIORITY_UPDATE reorders, but not against the server's own setting", arguments: [false, true])
    func priorityUpdate(serverDecides: Bool) throws {
        let server = try openedServer()
        try server.receive(Raw.headers(1) + Raw.headers(3))
        if serverDecides {
            server.setUrgency(HTTP2StreamID(1), 2)
            server.setUrgency(HTTP2StreamID(3), 5)
        }
        try server.receive(Raw.frame(Raw.FrameType.priorityUpdate, Raw.word(3) + Array("u=0".utf8)))
        #expect(dataStreams(server, [1, 3]) == (serverDecides ? [1, 3] : [3, 1]))
    }

    @Test(
        "RFC 9218 §4 the Priority field's members",
        arguments: [
            ("", 3, false), ("u=0", 0, false), ("u=7, i", 7, true), ("i", 3, true), ("i=?1", 3, true), ("i, i=?0", 3, false), ("u=5,u=2", 2, false),
            ("u=8", 3, false), ("u=-1", 3, false), ("u=1;a=b, i;x", 1, true), ("x=\"u=1,i\", u=4", 4, false), ("U=1", 3, false), ("u", 3, false),
            ("u=10", 3, false), (",,u=1,", 1, false), ("\t u=6 ", 6, false), ("\u{ff}", 3, false),
        ] as [(String, UInt8, Bool)])
    func fieldValue(text: String, urgency: UInt8, isIncremental: Bool) {
        let priority = HTTP2Priority(fieldValue: Array(text.utf8).span)
        #expect(priority.urgency == urgency && priority.isIncremental == isIncremental)
    }

    @Test(
        "RFC 9218 §7.1 a malformed PRIORITY_UPDATE ends the connection",
        arguments: [
            (Raw.frame(Raw.FrameType.priorityUpdate, [0, 0, 1]), HTTP2ErrorCode.frameSizeError),
            (Raw.frame(Raw.FrameType.priorityUpdate, []), .frameSizeError),
            (Raw.frame(Raw.FrameType.priorityUpdate, Raw.word(0) + [0x69]), .protocolError),
            (Raw.frame(Raw.FrameType.priorityUpdate, stream: 1, Raw.word(1) + [0x69]), .protocolError),
        ])
    func malformedUpdate(frame: [UInt8], code: HTTP2ErrorCode) throws {
        let server = try openedServer()
        try server.receive(Raw.headers(1))
        #expect(server.fault(receiving: frame) == .malformedPriorityUpdate(code))
        #expect(server.outputFrames().last?.goAwayCode == code)
    }

    @Test("PRIORITY_UPDATE before its stream, for a closed one, and longer than sensible is passed over")
    func ignoredUpdates() throws {
        let server = try openedServer()
        for count in 0..<60 as Range<UInt32> {
            let id = count * 2 + 1
            try server.receive(Raw.frame(Raw.FrameType.priorityUpdate, Raw.word(id) + Array("u=0".utf8)))
            try server.receive(Raw.headers(id, Raw.post, endStream: false) + Raw.data(id, pattern(100)) + Raw.reset(id))
            try server.receive(Raw.frame(Raw.FrameType.priorityUpdate, Raw.word(id) + Array("u=0".utf8)))
            while server.nextEvent() != nil {}
        }
        try server.receive(Raw.headers(201) + Raw.headers(203))
        try server.receive(Raw.frame(Raw.FrameType.priorityUpdate, Raw.word(203) + Array("u=0".utf8) + Array(repeating: 32, count: 300)))
        #expect(dataStreams(server, [201, 203]) == [201, 203])
        #expect(server.fault == nil)
    }

    @Test("RFC 9218 §10 streams of one urgency take turns")
    func takeTurns() throws {
        let server = try openedServer(settings: [(4, 1 << 20)])
        try server.receive(Raw.windowUpdate(0, 1 << 20) + Raw.headers(1) + Raw.headers(3))
        for id in [1, 3] as [Int32] {
            server.setUrgency(HTTP2StreamID(id), 3)
            server.respond(HTTP2StreamID(id), status: 200, fields: [], endOfStream: false)
            server.write(HTTP2StreamID(id), pattern(4 * 16_384))
        }
        let order = server.outputFrames().filter { $0.type == Raw.FrameType.data }.map(\.stream)
        #expect(order == [1, 3, 1, 3, 1, 3, 1, 3])
    }
}
