import MediaProtocol
import RelayBase
import RelayClient
import RelayServer
import Signalling
import Testing
import WebSocketProtocol

@Suite("Sessions: requests, events, refusals, closes", .serialized)
struct SessionTests {
    @Test("hello is answered with the verified identity, the limits and the node", arguments: Route.bothHTTP)
    func welcome(_ route: Route) throws {
        let relay = try Relay { $0.node = "north" }
        let clients = try Clients(relay)
        let session = try clients.open(route)
        try clients.ready(session)
        let welcome = try #require(clients[session].welcome)
        #expect(welcome.version == 1)
        #expect(welcome.node == "north")
        #expect(welcome.identity?.name == "urn:segue:client:alice")
        #expect(welcome.identity?.fingerprint?.utf8.count == 64)
        #expect(welcome.limits.audioFrameBytesMax == Limits().audioFrameBytesMax)
        let answer = try clients.answer(session, .time(.init(clientTime: 12.5)))
        #expect(answer.clientTime == 12.5)
        #expect((answer.serverTime ?? 0) > 1e12)
        session.close(reason: "done")
        try clients.wait("the close") { session.hasEnded }
        #expect(clients[session].closeCode == 1000)
    }

    @Test("members are told who comes, who leaves and who is lost", arguments: [1, 4])
    func presence(loops: Int) throws {
        let relay = try Relay(loops: loops) { $0.limits.resumeMilliseconds = 0 }
        let clients = try Clients(relay)
        let first = try clients.join("hall", as: "alice")
        let second = try clients.open(as: "bob")
        try clients.ready(second)
        let joined = try clients.answer(second, .join(.init(room: "hall", displayName: "Bob")))
        #expect(joined.participants?.count == 2)
        let number = try #require(joined.participant)
        func news(_ match: (RelayMessage) -> Bool) -> Bool { clients[first].news.contains(where: match) }
        try clients.wait("the news of Bob") {
            news { if case .participantJoined(let one) = $0 { one.participant == number && one.displayName == "Bob" } else { false } }
        }
        _ = try clients.answer(second, .leave)
        try clients.wait("the news of Bob's leaving") { news { $0 == .participantLeft(participant: number, reason: .left) } }

        let again = try clients.answer(second, .join(.init(room: "hall", displayName: nil)))
        let other = try #require(again.participant)
        #expect(other != number)
        clients.loop.abandon(second)
        try clients.wait("the news of Bob's loss") { news { $0 == .participantLeft(participant: other, reason: .lost) } }
    }

    @Test("a listener that comes late gets the configuration and everything from the last key frame on", arguments: [1, 4])
    func lateJoiner(loops: Int) throws {
        let relay = try Relay(loops: loops)
        let clients = try Clients(relay)
        let publisher = try clients.join("late")
        let stream = StreamID(try clients.publish(publisher, .video, "vp8"))
        // One listener from the start shows when the relay has everything.
        let early = try clients.join("late")
        try clients.subscribeAll(early)
        var sent = [try clients.send(publisher, MediaHeader(kind: .configuration, stream: stream, sequence: 0, timestamp: 0), [9, 9])]
        for sequence in 0..<UInt32(25) {
            let header = MediaHeader(kind: .video, flags: sequence % 10 == 0 ? .key : [], stream: stream, sequence: sequence, timestamp: sequence)
            sent.append(try clients.send(publisher, header, [UInt8](repeating: UInt8(sequence), count: 700)))
        }
        try clients.wait("all frames") { clients[early].frames.last == sent.last }

        // Eight of them, so that all four loops have one.
        let late = try (0..<8).map { _ in try clients.join("late") }
        for listener in late { try clients.subscribeAll(listener) }
        let expected = [sent[0]] + sent[21...]
        try clients.wait("the cached group") { late.allSatisfy { clients[$0].frames.count >= expected.count } }
        let next = try clients.send(publisher, MediaHeader(kind: .video, stream: stream, sequence: 25, timestamp: 25), [1])
        try clients.wait("the live edge") { late.allSatisfy { clients[$0].frames.last == next } }
        for listener in late { #expect(clients[listener].frames == expected + [next]) }
    }

    @Test("unsubscribing stops a stream, subscribing to one stream gives that one only")
    func subscriptions() throws {
        let relay = try Relay()
        let clients = try Clients(relay)
        let publisher = try clients.join("some")
        let listener = try clients.join("some")
        let streams = try (0..<2).map { _ in try clients.publish(publisher, .audio, "opus") }
        func send(_ stream: UInt32, _ kind: MediaKind, _ sequence: UInt32) throws -> [UInt8] {
            try clients.send(publisher, MediaHeader(kind: kind, stream: StreamID(stream), sequence: sequence, timestamp: 0), [1])
        }
        for stream in streams { _ = try send(stream, .configuration, 0) }
        #expect(try clients.answer(listener, .subscribe(.init(streams: [streams[1]], all: nil, delivery: nil))).subscribed == [streams[1]])
        _ = try send(streams[0], .audio, 1)
        let wanted = try send(streams[1], .audio, 1)
        try clients.wait("the frame") { clients[listener].frames.contains(wanted) }
        #expect(clients[listener].frames.count == 2)
        #expect(try clients.answer(listener, .unsubscribe(.init(streams: [streams[1]], all: nil))).subscribed == [])
        _ = try send(streams[1], .audio, 2)
        // The publisher's next answer shows that the relay has read the frame before it.
        _ = try clients.answer(publisher, .time(.init(clientTime: 0)))
        _ = try clients.answer(listener, .time(.init(clientTime: 0)))
        #expect(clients[listener].frames.count == 2)
    }

    // MARK: Refusals

    struct Refused: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let code: String
        var before: [ClientRequest] = []
        let request: ClientRequest

        init(_ name: String, _ code: String, _ before: [ClientRequest], _ request: ClientRequest) {
            testDescription = name
            self.code = code
            self.before = before
            self.request = request
        }
    }

    private static let hello = ClientRequest.hello(.init(versions: [1], client: nil))
    private static let join = ClientRequest.join(.init(room: "r", displayName: nil))

    private static func publish(_ kind: StreamKind, _ codec: String, _ adjust: (inout Signalling.StreamDescription) -> Void = { _ in })
        -> ClientRequest
    {
        var description = Signalling.StreamDescription()
        adjust(&description)
        return .publish(.init(kind: kind, codec: codec, description: description, source: nil))
    }

    static let refused: [Refused] = [
        Refused("join before hello", "hello_first", [], join),
        Refused("hello twice", "hello_twice", [hello], hello),
        Refused("a version that nobody speaks", "version", [], .hello(.init(versions: [2, 99], client: nil))),
        Refused("join twice", "already_in_room", [hello, join], join),
        Refused("a bad room name", "room_name", [hello], .join(.init(room: "a room", displayName: nil))),
        Refused("an empty room name", "room_name", [hello], .join(.init(room: "", displayName: nil))),
        Refused("a long display name", "bad_value", [hello], .join(.init(room: "r", displayName: String(repeating: "x", count: 65)))),
        Refused("leave without a room", "not_in_room", [hello], .leave),
        Refused("publish before join", "not_in_room", [hello], publish(.audio, "opus")),
        Refused("subscribe before join", "not_in_room", [hello], .subscribe(.init(streams: nil, all: true, delivery: nil))),
        Refused("an unknown codec", "unknown_codec", [hello, join], publish(.audio, "mp3")),
        Refused("a codec of the other kind", "bad_value", [hello, join], publish(.audio, "vp8")),
        Refused("a sample rate out of range", "bad_value", [hello, join], publish(.audio, "opus") { $0.sampleRate = -1 }),
        Refused("a picture out of range", "bad_value", [hello, join], publish(.video, "vp8") { $0.width = 1 << 40 }),
        Refused("subscribe to nothing", "bad_value", [hello, join], .subscribe(.init(streams: [], all: nil, delivery: nil))),
        Refused("subscribe to an unknown stream", "unknown_stream", [hello, join], .subscribe(.init(streams: [77], all: nil, delivery: nil))),
        Refused("unsubscribe from an unknown stream", "unknown_stream", [hello, join], .unsubscribe(.init(streams: [77], all: nil))),
        Refused("unpublish an unknown stream", "unknown_stream", [hello, join], .unpublish(.init(stream: 77))),
        Refused("a key frame of an unknown stream", "unknown_stream", [hello, join], .requestKeyFrame(.init(stream: 77))),
    ]

    @Test("a refused request gets its code and changes nothing", arguments: refused)
    func refusals(_ refused: Refused) throws {
        let relay = try Relay()
        let clients = try Clients(relay)
        let session = try clients.open { $0.saysHello = false }
        try clients.wait("the WebSocket") { session.isOpen }
        for (place, request) in refused.before.enumerated() {
            if case .hello = request, place == 0 {
                session.send(request)
                try clients.ready(session)
            } else {
                _ = try clients.answer(session, request)
            }
        }
        let refusal = try clients.refusal(session, refused.request)
        #expect(refusal.code == refused.code)
        #expect(!refusal.message.isEmpty)
        // Still there, and where it was.
        if refused.before.isEmpty {
            session.send(Self.hello)
            try clients.ready(session)
        } else {
            #expect(try clients.answer(session, .time(.init(clientTime: 1))).clientTime == 1)
        }
    }

    @Test(
        "text that is JSON but no request is answered and changes nothing",
        arguments: [
            (#"{"type":"dance","id":7}"#, "unknown_type", UInt64(7)), (#"{"type":"join","id":8}"#, "malformed", 8),
            (#"{"type":"join","id":9,"room":5}"#, "malformed", 9), (#"{"type":"publish","id":10,"kind":"smell","codec":"x"}"#, "malformed", 10),
            (#"[]"#, "malformed", nil), (#"{"type":"join","id":-1}"#, "malformed", nil), (#"{"id":1}"#, "malformed", nil),
        ] as [(String, String, UInt64?)])
    func malformedRequests(_ text: String, _ code: String, _ id: UInt64?) throws {
        let relay = try Relay()
        let clients = try Clients(relay)
        let session = try clients.open()
        try clients.ready(session)
        session.sendText(Array(text.utf8))
        try clients.wait("the refusal") { !clients[session].refusals.isEmpty || session.hasEnded }
        let refused = try #require(clients[session].refusals.first)
        #expect(refused.refusal.code == code)
        #expect(refused.id == id)
        _ = try clients.answer(session, .join(.init(room: "r", displayName: nil)))
    }

    @Test("the fields of a request that nobody knows are ignored")
    func unknownFields() throws {
        let relay = try Relay()
        let clients = try Clients(relay)
        let session = try clients.open()
        try clients.ready(session)
        session.sendText(Array(#"{"type":"join","id":40,"room":"r","colour":{"deep":[1,2,{"er":null}]}}"#.utf8))
        try clients.wait("the answer") { clients[session].answers[40] != nil || session.hasEnded }
        #expect(clients[session].answers[40]?.room == "r")
    }
}
