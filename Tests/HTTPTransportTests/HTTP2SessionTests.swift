import HTTPTransport
import RelayBase
import Testing

@Suite struct HTTP2SessionTests {
    @Test("RFC 9113 §8 a request and its response pass however the bytes are cut", arguments: 1...20 as ClosedRange<UInt64>)
    func requestAndResponse(seed: UInt64) throws {
        var pair = try Pair(seed: seed)
        pair.pieceMax = seed.isMultiple(of: 2) ? 3 : 4_000
        let id = try pair.client.request(fields: Raw.get.map { ($0.0, $0.1) }, endOfStream: true)
        try pair.exchange()
        #expect(pair.server.events() == ["request \(id.value) :method=GET :scheme=https :path=/ :authority=relay.test end"])
        #expect(pair.server.respond(id, status: 200, fields: [("Content-Type", "text/plain")], endOfStream: false))
        let body = pattern(40_000)
        #expect(pair.server.write(id, body) == .queued)
        pair.server.endStream(id)
        try pair.exchange()
        var received: [UInt8] = []
        var lines: [String] = []
        while let event = pair.client.nextEvent() {
            lines.append(event.line)
            if case .dataAvailable(let id) = event { received += pair.client.read(id) }
        }
        #expect(received == body)
        #expect(lines == ["response 1 200 2", "data 1", "end 1", "closed 1 0"])
        #expect(pair.server.events() == ["closed 1 0"])
        #expect(pair.client.openStreams == 0 && pair.server.openStreams == 0)
    }

    @Test("RFC 9110 §10.1.1 an interim 100 leaves the final response to come, and comes before it alone")
    func interim() throws {
        var pair = try Pair()
        let id = try pair.client.request(fields: Raw.get.map { ($0.0, $0.1) } + [("expect", "100-continue")], endOfStream: false)
        try pair.exchange()
        pair.server.continueRequest(id)
        try pair.exchange()
        #expect(pair.client.events().isEmpty)
        #expect(pair.server.respond(id, status: 204, fields: [], endOfStream: true))
        pair.server.continueRequest(id)
        try pair.exchange()
        #expect(pair.client.events().first?.hasPrefix("response 1 204") == true)
    }

    @Test("RFC 8441 §4 extended CONNECT carries bytes both ways and ends half by half")
    func extendedConnect() throws {
        var pair = try Pair()
        let id = try pair.client.request(fields: Raw.connect.map { ($0.0, $0.1) }, endOfStream: false)
        try pair.exchange()
        #expect(pair.server.events() == ["request 1 :method=CONNECT :protocol=websocket :scheme=https :path=/v1 :authority=relay.test"])
        #expect(pair.server.respond(id, status: 200, fields: [("sec-websocket-protocol", "segue.v1")], endOfStream: false))
        try pair.exchange()
        #expect(pair.client.events() == ["response 1 200 2"])
        for round in 0..<50 {
            let up = pattern(round * 7 + 1)
            let down = pattern(round * 5 + 1)
            #expect(pair.client.write(id, up) == .queued)
            #expect(pair.server.write(id, down) == .queued)
            try pair.exchange()
            #expect(pair.server.events() == ["data 1"])
            #expect(pair.client.events() == ["data 1"])
            #expect(pair.server.read(id) == up)
            #expect(pair.client.read(id) == down)
        }
        pair.client.endStream(id)
        try pair.exchange()
        #expect(pair.server.events() == ["end 1"])
        #expect(pair.server.write(id, [1, 2, 3]) == .queued)
        pair.server.endStream(id)
        #expect(pair.server.write(id, [4]) == .closed)
        try pair.exchange()
        #expect(pair.server.events() == ["closed 1 0"])
        #expect(pair.client.events() == ["data 1", "end 1", "closed 1 0"])
    }

    @Test("RFC 8441 §3 extended CONNECT is refused before the server's SETTINGS allow it")
    func extendedConnectTooEarly() {
        let client = HTTP2Session(role: .client, now: .zero)
        #expect(throws: HTTP2RequestRefusal.extendedConnectNotEnabled) {
            _ = try client.request(fields: Raw.connect.map { ($0.0, $0.1) }, endOfStream: false)
        }
        #expect(client.openStreams == 0)
    }

    @Test("RFC 9113 §6.5 the server's SETTINGS: extended CONNECT, window, header list, no RFC 7540 priorities, streams")
    func serverSettings() {
        let frames = HTTP2Session(role: .server, now: .zero).outputFrames()
        let settings = frames.filter { $0.type == Raw.FrameType.settings }.map(\.payload)
        #expect(
            settings == [
                [0, 8, 0, 0, 0, 1] + [0, 4, 0, 4, 0, 0] + [0, 6, 0, 0, 64, 0] + [0, 9, 0, 0, 0, 1],
                [0, 3, 0, 0, 0, 100],
            ])
        let windows = frames.filter { $0.type == Raw.FrameType.windowUpdate }
        #expect(windows.map(\.stream) == [0] && windows.map(\.lastWord) == [(1 << 20) - 65_535])
    }

    @Test("§10.5.1 a header list over the limit is told as such, answered with 431, and the connection lives", arguments: [true, false])
    func headerListTooLarge(bySize: Bool) throws {
        let server = try openedServer()
        let extra =
            bySize ? (0..<5).map { ("x-\($0)", String(repeating: "a", count: 3_300)) } : (0..<97).map { ("x-\($0)", "") }
        let block = Raw.fieldBlock(Raw.get + extra)
        let first = Array(block.prefix(16_384))
        let rest = Array(block.dropFirst(16_384))
        try server.receive(
            Raw.frame(Raw.FrameType.headers, flags: Raw.Flag.endStream | (rest.isEmpty ? Raw.Flag.endHeaders : 0), stream: 1, first)
                + (rest.isEmpty ? [] : Raw.frame(Raw.FrameType.continuation, flags: Raw.Flag.endHeaders, stream: 1, rest)))
        #expect(server.events() == ["headerListTooLarge 1"])
        #expect(server.respond(HTTP2StreamID(1), status: 431, fields: [], endOfStream: true))
        #expect(server.outputFrames().map(\.type) == [Raw.FrameType.headers])
        try server.receive(Raw.headers(3))
        #expect(server.events() == ["closed 1 0", "request 3 :method=GET :scheme=https :path=/ :authority=relay.test end"])
    }

    @Test("§10.5.1 a list of just the limit is taken")
    func headerListAtLimit() throws {
        var configuration = HTTP2Configuration()
        configuration.headerListBytesMax = Raw.get.reduce(0) { $0 + $1.0.utf8.count + $1.1.utf8.count + 32 }
        let exact = try openedServer(configuration)
        try exact.receive(Raw.headers(1))
        #expect(exact.events().first?.hasPrefix("request 1") == true)
        configuration.headerListBytesMax -= 1
        let short = try openedServer(configuration)
        try short.receive(Raw.headers(1))
        #expect(short.events() == ["headerListTooLarge 1"])
    }

    @Test("§8.1 the client skips interim responses, and trailers end the stream")
    func interimAndTrailers() throws {
        let client = HTTP2Session(role: .client, now: .zero)
        let id = try client.request(fields: Raw.get.map { ($0.0, $0.1) }, endOfStream: true)
        _ = client.output()
        try client.receive(
            Raw.settings([(8, 1)]) + Raw.settingsAcknowledgement + Raw.headers(1, [(":status", "103"), ("link", "x")], endStream: false)
                + Raw.headers(1, [(":status", "200")], endStream: false) + Raw.data(1, [1, 2, 3]) + Raw.headers(1, [("x-trailer", "1")]))
        #expect(client.nextEvent()?.line == "settings true")
        #expect(client.nextEvent()?.line == "response 1 200 1")
        #expect(client.nextEvent()?.line == "data 1")
        #expect(client.nextEvent()?.line == "end 1")
        #expect(client.nextEvent()?.line == "closed 1 0")
        // Unread bytes outlive the stream until the next event.
        #expect(client.inboundCount(id) == 3)
        #expect(client.nextEvent() == nil)
        #expect(client.inboundCount(id) == 0)
    }

    @Test("§6.4 a reset by either end is told once, with its code; what is queued is dropped")
    func resets() throws {
        var pair = try Pair()
        let first = try pair.client.request(fields: Raw.connect.map { ($0.0, $0.1) }, endOfStream: false)
        let second = try pair.client.request(fields: Raw.connect.map { ($0.0, $0.1) }, endOfStream: false)
        try pair.exchange()
        #expect(pair.server.events().count == 2)
        pair.server.respond(first, status: 200, fields: [], endOfStream: false)
        pair.server.respond(second, status: 200, fields: [], endOfStream: false)
        try pair.exchange()
        _ = pair.client.events()
        pair.server.write(first, pattern(1_000))
        pair.server.reset(first, .cancel)
        pair.server.reset(first, .cancel)
        pair.client.reset(second, .internalError)
        #expect(pair.server.queuedCount(first) == 0)
        #expect(pair.server.write(first, [1]) == .closed)
        #expect(pair.server.sendCapacity(first) == 0)
        try pair.exchange()
        #expect(pair.server.events().sorted() == ["closed 1 8", "closed 3 2"])
        #expect(pair.client.events().sorted() == ["closed 1 8", "closed 3 2"])
        #expect(pair.server.write(second, [1]) == .closed)
    }

    @Test("§6.8 after GOAWAY no new request is taken, open streams go on, and the connection finishes with the last")
    func goAway() throws {
        var pair = try Pair()
        let id = try pair.client.request(fields: Raw.connect.map { ($0.0, $0.1) }, endOfStream: false)
        try pair.exchange()
        _ = pair.server.events()
        pair.server.respond(id, status: 200, fields: [], endOfStream: false)
        pair.server.shutdownNotice()
        try pair.exchange()
        #expect(pair.client.events() == ["response 1 200 1", "goaway 2147483647 0"])
        pair.server.goAway(.noError)
        try pair.exchange()
        #expect(pair.client.events() == ["goaway 1 0"])
        #expect(throws: HTTP2RequestRefusal.goingAway) { _ = try pair.client.request(fields: Raw.get.map { ($0.0, $0.1) }, endOfStream: true) }
        pair.server.write(id, [1, 2])
        pair.server.endStream(id)
        pair.client.endStream(id)
        #expect(!pair.server.isFinished)
        try pair.exchange()
        #expect(pair.client.events() == ["data 1", "end 1", "closed 1 0"])
        #expect(pair.server.isFinished && pair.server.fault == nil)
    }

    @Test("§6.7 PING comes back with its eight bytes, and a peer's is answered")
    func ping() throws {
        var pair = try Pair()
        pair.client.ping(0x0102_0304_0506_0708)
        try pair.exchange()
        #expect(pair.client.events() == ["pong 72623859790382856"])
        let server = try openedServer()
        try server.receive(Raw.ping())
        #expect(server.outputFrames() == [ParsedFrame(type: Raw.FrameType.ping, flags: 1, stream: 0, payload: Array(repeating: 7, count: 8))])
    }

    @Test("writes: unanswered, unknown and over the queue's bound are refused and take nothing")
    func writes() throws {
        var configuration = HTTP2Configuration()
        configuration.outboundBytesMax = 10
        let server = try openedServer(configuration)
        let id = HTTP2StreamID(1)
        try server.receive(Raw.headers(1))
        #expect(server.write(id, [1]) == .closed)
        #expect(server.write(HTTP2StreamID(9), [1]) == .closed)
        #expect(server.respond(id, status: 200, fields: [], endOfStream: false))
        #expect(!server.respond(id, status: 200, fields: [], endOfStream: false))
        #expect(server.write(id, pattern(10)) == .queued)
        #expect(server.write(id, [1]) == .overflow)
        #expect(server.queuedCount(id) == 10)
        let data = server.outputFrames().filter { $0.type == Raw.FrameType.data }
        #expect(data.map(\.payload) == [pattern(10)])
        #expect(server.write(id, [1]) == .queued)
    }

    @Test("produce stops near its bound, says so, and the rest follows unharmed")
    func produceBound() throws {
        let server = try openedServer(settings: [(4, 1 << 20)])
        try server.receive(Raw.windowUpdate(0, 1 << 20) + Raw.headers(1))
        server.respond(HTTP2StreamID(1), status: 200, fields: [], endOfStream: false)
        let body = pattern(200_000)
        server.write(HTTP2StreamID(1), body)
        server.endStream(HTTP2StreamID(1))
        var all: [UInt8] = []
        var rounds = 0
        var more = true
        while more {
            var queue = ByteQueue()
            more = server.produce(into: &queue, upTo: 10_000, now: .zero)
            #expect(queue.count <= 10_000 + 16_384 + 9)
            #expect(!more || queue.count >= 10_000)
            unsafe all.append(contentsOf: queue.readable)
            rounds += 1
        }
        #expect(rounds >= 8)
        #expect(ParsedFrame.parse(all).filter { $0.type == Raw.FrameType.data }.flatMap(\.payload) == body)
        #expect(!server.wantsOutput)
    }

    @Test("§10.5.1 a response head over the client's limit resets its stream with CANCEL")
    func responseTooLarge() throws {
        var pair = try Pair()
        let id = try pair.client.request(fields: Raw.get.map { ($0.0, $0.1) }, endOfStream: true)
        try pair.exchange()
        let fields = (0..<5).map { (name: "x-\($0)", value: String(repeating: "a", count: 3_300)) }
        pair.server.respond(id, status: 200, fields: fields, endOfStream: false)
        try pair.exchange()
        #expect(pair.client.events() == ["closed 1 8"])
        #expect(pair.client.fault == nil && pair.server.fault == nil)
    }

    @Test("§6.8 a GOAWAY that the application sends with an error code is no fault of the peer")
    func ownGoAwayWithCode() throws {
        let server = try openedServer()
        try server.receive(Raw.headers(1))
        server.goAway(.http11Required)
        try server.receive(Raw.ping())
        #expect(server.fault == nil)
        #expect(server.outputFrames().filter { $0.type == Raw.FrameType.goAway }.map(\.goAwayCode) == [.http11Required])
        server.respond(HTTP2StreamID(1), status: 200, fields: [], endOfStream: true)
        _ = server.output()
        #expect(server.isFinished && server.fault == nil)
    }

    @Test("withInbound returns window for what the body consumes, also when it throws")
    func withInbound() throws {
        struct Refused: Error {}
        let server = try openedServer()
        try server.receive(Raw.headers(1, Raw.post, endStream: false))
        for _ in 0..<16 { try server.receive(Raw.data(1, pattern(16_384))) }
        _ = server.output()
        #expect(throws: Refused.self) {
            try server.withInbound(HTTP2StreamID(1)) { queue throws(Refused) in
                queue.consume(200_000)
                throw Refused()
            }
        }
        let windows = server.outputFrames().filter { $0.type == Raw.FrameType.windowUpdate && $0.stream == 1 }
        #expect(windows.map(\.lastWord) == [200_000])
        #expect(server.withInbound(HTTP2StreamID(9)) { $0.count } == nil)
    }

    @Test("a client whose request the server did not process hears that it was refused")
    func refusedByGoAway() throws {
        let client = HTTP2Session(role: .client, now: .zero)
        _ = client.output()
        try client.receive(Raw.settings([(3, 1)]) + Raw.settingsAcknowledgement)
        let first = try client.request(fields: Raw.get.map { ($0.0, $0.1) }, endOfStream: true)
        let waiting = try client.request(fields: Raw.get.map { ($0.0, $0.1) }, endOfStream: true)
        _ = client.output()
        _ = client.events()
        try client.receive(Raw.frame(Raw.FrameType.goAway, Raw.word(0) + Raw.word(0)))
        _ = client.output()
        let lines = client.events()
        #expect(lines.contains("closed \(first.value) 7"))
        #expect(lines.contains("closed \(waiting.value) 7"))
        #expect(client.openStreams == 0)
    }
}
