import Glibc
import MediaProtocol
import Reactor
import RelayBase
import RelayServer
import Signalling
import Synchronization
import TLSTransport
import Testing
import WebSocketProtocol

@testable import RelayClient

/// Two sessions that lose their connections, and the account of what the one hears of the other.
private final class Comeback {
    let loop: ClientLoop
    var sessions: [ResumableSession] = []
    var welcomes = [0, 0]
    var losses = [0, 0]
    var resumed: [[RelayMessage.ResumedSession]] = [[], []]
    var answers: [UInt64: RelayMessage.Answer] = [:]
    var news: [RelayMessage] = []
    var sequences: [UInt32] = []
    var ends: [ClientEvent] = []

    init(_ relay: Relay, _ http: ClientHTTPVersion) throws {
        loop = try ClientLoop()
        for (tag, name) in ["alice", "bob"].enumerated() {
            let context = try TestState.shared.credentials(name).context(http: http)
            var options = ClientOptions(address: relay.address, host: "localhost", http: http)
            options.tag = tag
            sessions.append(try ResumableSession(loop, options, context))
        }
    }

    func wait(_ purpose: String, until condition: () -> Bool) throws {
        let deadline = MonotonicClock.now().advanced(byMilliseconds: 120_000)
        while !condition() {
            try #require(MonotonicClock.now() < deadline, "waited in vain for \(purpose): \(ends)")
            try loop.poll(until: MonotonicClock.now().advanced(byMilliseconds: 20))
            while let (session, event) = loop.nextEvent() {
                let tag = session.tag
                if let told = sessions[tag].take(session, event) { take(told, tag) }
                while let told = sessions[tag].next() { take(told, tag) }
            }
            for (tag, session) in sessions.enumerated() {
                if let told = session.turn(now: MonotonicClock.now()) { take(told, tag) }
            }
        }
    }

    private func take(_ event: ResumableSession.Event, _ tag: Int) {
        switch event {
        case .lost: losses[tag] += 1
        case .resumed(let state): resumed[tag].append(state)
        case .session(.welcome): welcomes[tag] += 1
        case .session(.answer(let id, let answer)): answers[id << 1 | UInt64(tag)] = answer
        case .session(.news(let message)): news.append(message)
        case .session(.frame):
            sessions[tag].withFrame { frame in
                guard let header = try? MediaHeader(parsing: frame), header.kind != .configuration else { return }
                sequences.append(header.sequence)
            }
        case .session(let event): if event.isLast { ends.append(event) }
        }
    }

    func ask(_ tag: Int, _ request: ClientRequest) throws -> RelayMessage.Answer {
        let key = sessions[tag].session.send(request) << 1 | UInt64(tag)
        try wait("an answer") { answers[key] != nil }
        return try #require(answers[key])
    }

    /// The network lets the connection fall, without a word to either end's TLS.
    func lose(_ tag: Int) {
        _ = shutdown(sessions[tag].session.descriptor.number, Int32(SHUT_RDWR))
    }

    func send(_ stream: UInt32, _ sequence: UInt32, kind: MediaKind = .data) {
        let header = MediaHeader(kind: kind, stream: StreamID(stream), sequence: sequence, timestamp: sequence &* 20)
        let payload: [UInt8] = [1, 2, 3]
        sessions[0].session.sendFrame(header, payload: unsafe payload.span.bytes)
    }
}

@Suite("Protocol §3.18: sessions that come back", .serialized)
struct ComebackTests {
    /// - Returns: the stream, and the number of its next frame; before it the listener has got one, and every frame since.
    private static func setUp(_ http: ClientHTTPVersion, loops: Int) throws -> (Relay, Comeback, stream: UInt32, next: UInt32) {
        let relay = try Relay(loops: loops)
        let both = try Comeback(relay, http)
        try both.wait("the welcomes") { both.welcomes == [1, 1] }
        for tag in 0...1 { _ = try both.ask(tag, .join(.init(room: "comeback", displayName: nil))) }
        let stream = try #require(try both.ask(0, .publish(.init(kind: .data, codec: "x", description: nil, source: nil))).stream)
        both.send(stream, 0, kind: .configuration)
        _ = try both.ask(1, .subscribe(.init(streams: nil, all: true, delivery: .live)))
        // Between loops a subscription takes its time.
        var next: UInt32 = 0
        while both.sequences.isEmpty {
            both.send(stream, next)
            next += 1
            let deadline = MonotonicClock.now().advanced(byMilliseconds: 50)
            try both.wait("a first frame") { !both.sequences.isEmpty || MonotonicClock.now() >= deadline }
        }
        try both.wait("the frames so far") { both.sequences.last == next - 1 }
        return (relay, both, stream, next)
    }

    @Test(
        "a listener that loses its connection again and again gets every frame once, in order",
        arguments: [ClientHTTPVersion.http1, .http2], [1, 4])
    func listener(http: ClientHTTPVersion, loops: Int) throws {
        let (relay, both, stream, next) = try Self.setUp(http, loops: loops)
        defer { relay.stop() }
        var sent = next
        let first = both.sequences[0]
        for turn in 1...6 {
            for _ in 0..<20 {
                both.send(stream, sent)
                sent += 1
            }
            if turn.isMultiple(of: 2) { try both.wait("the frames") { both.sequences.last == sent - 1 } }
            both.lose(1)
            try both.wait("the comeback") { both.resumed[1].count == turn }
        }
        try both.wait("the frames") { both.sequences.last == sent - 1 }
        #expect(both.sequences == Array(first..<sent))
        #expect(both.resumed[1].allSatisfy { $0.subscribed == [stream] && $0.gaps.isEmpty })
        #expect(both.losses == [0, 6] && both.ends.isEmpty)
        #expect(!both.news.contains { if case .participantLeft = $0 { true } else { false } })
    }

    @Test("a publisher is told what to send again, and what comes twice goes on once", arguments: [1, 4])
    func publisher(loops: Int) throws {
        let (relay, both, stream, next) = try Self.setUp(.http1, loops: loops)
        defer { relay.stop() }
        var sent = next
        let first = both.sequences[0]
        for turn in 1...6 {
            for _ in 0..<10 {
                both.send(stream, sent)
                sent += 1
            }
            both.lose(0)
            try both.wait("the comeback") { both.resumed[0].count == turn }
            let state = try #require(both.resumed[0].last?.published.first)
            #expect(state.stream == stream)
            let last = try #require(state.sequence)
            #expect(last < sent)
            // Three too many.
            let again = last >= 2 ? last - 2 : 0
            both.send(stream, again, kind: .configuration)
            for sequence in again..<sent { both.send(stream, sequence) }
        }
        try both.wait("the frames") { both.sequences.last == sent - 1 }
        #expect(both.sequences == Array(first..<sent))
    }

    @Test("make before break: what was on its way over the old connection comes before the new one's, each once", arguments: [1, 4])
    func renewal(loops: Int) throws {
        let (relay, both, stream, next) = try Self.setUp(.http1, loops: loops)
        defer { relay.stop() }
        var sent = next
        let first = both.sequences[0]
        for turn in 1...6 {
            let old = both.sessions[1].session
            for step in 0..<40 {
                both.send(stream, sent)
                sent += 1
                if step == 10 { try both.sessions[1].renew() }
            }
            try both.wait("the comeback") { both.resumed[1].count == turn }
            try both.wait("the frames") { both.sequences.last == sent - 1 }
            // Before that another renewal is not begun.
            try both.wait("the end of the old connection") { old.hasEnded }
        }
        #expect(both.sequences == Array(first..<sent))
        #expect(both.losses == [0, 0] && both.ends.isEmpty)
    }

    @Test("where sessions are not kept, a lost connection is the end", arguments: [ClientHTTPVersion.http1, .http2])
    func notKept(http: ClientHTTPVersion) throws {
        let relay = try Relay(loops: 1) { $0.limits.resumeMilliseconds = 0 }
        defer { relay.stop() }
        let both = try Comeback(relay, http)
        try both.wait("the welcomes") { both.welcomes == [1, 1] }
        both.lose(1)
        try both.wait("the end") { !both.ends.isEmpty }
        #expect(both.losses == [0, 0])
        guard case .failed = both.ends[0] else {
            Issue.record("the last event is no failure: \(both.ends)")
            return
        }
    }
}

@Suite("Protocol §3.18: what a client makes of refusals")
struct RefusedComebackTests {
    private static func text(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        return [0x81, 126, UInt8(bytes.count >> 8), UInt8(truncatingIfNeeded: bytes.count)] + bytes
    }

    private static func welcome(_ more: String) -> String {
        #"{"type":"welcome","id":1,"version":1,"session":"s","node":"n","serverTime":0,"resumeToken":"t","resumeMilliseconds":60000,"#
            + #""identity":{"name":"a","fingerprint":"f","proof":"certificate"},"limits":{"controlMessageBytesMax":65536,"audioFrameBytesMax":8192,"#
            + #""videoFrameBytesMax":65536,"dataFrameBytesMax":65536,"streamsPerParticipantMax":16,"controlMessagesPerSecondMax":200}\#(more)}"#
    }

    private static func run(_ answers: [String]) throws -> (told: [ResumableSession.Event], connections: Int) {
        let connections = Connections()
        let relay = try HostileRelay { key in
            let answer = answers[min(connections.next(), answers.count - 1)]
            return Array(
                ("HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: "
                    + WebSocketHandshake.accept(key: key) + "\r\nsec-websocket-protocol: segue.v1\r\n\r\n").utf8) + text(answer)
        }
        let loop = try ClientLoop()
        let options = ClientOptions(address: relay.address, host: "localhost", http: .http1)
        let session = try ResumableSession(loop, options, try TestState.shared.credentials().context(http: .http1))
        var told: [ResumableSession.Event] = []
        let deadline = MonotonicClock.now().advanced(byMilliseconds: 60_000)
        var isDone = false
        while !isDone {
            try #require(MonotonicClock.now() < deadline)
            try loop.poll(until: MonotonicClock.now().advanced(byMilliseconds: 20))
            while let (from, event) = loop.nextEvent() { if let news = session.take(from, event) { told.append(news) } }
            if let news = session.turn(now: MonotonicClock.now()) { told.append(news) }
            switch told.last {
            case .session(.welcome) where !session.isLost && told.count <= 2: _ = shutdown(session.session.descriptor.number, Int32(SHUT_RDWR))
            case .resumed, .session(.failed): isDone = true
            default: break
            }
        }
        session.close()
        return (told, connections.count)
    }

    /// Counts on the relay's thread.
    private final class Connections: Sendable {
        private let opened = Atomic<Int>(0)
        var count: Int { opened.load(ordering: .acquiring) }
        func next() -> Int { opened.add(1, ordering: .acquiringAndReleasing).oldValue }
    }

    private static func refusal(_ code: String, retry: Bool) -> String {
        #"{"type":"error","id":1,"code":"\#(code)","message":"\#(String(repeating: "no ", count: 40))","retry":\#(retry)}"#
    }

    @Test("a refusal that may be tried again is, over another connection each time", arguments: ["connection_shared", "pending"])
    func triedAgain(code: String) throws {
        let resumed = Self.welcome(#","resumed":{"subscribed":[],"published":[],"gaps":[]}"#)
        let (told, connections) = try Self.run(
            [Self.welcome(""), Self.refusal(code, retry: true), Self.refusal(code, retry: true), resumed])
        #expect(connections == 4)
        guard case .resumed = told.last else {
            Issue.record("\(told)")
            return
        }
    }

    @Test("a refusal for good is the end of the session")
    func refusedForGood() throws {
        let (told, connections) = try Self.run([Self.welcome(""), Self.refusal("resume_refused", retry: false)])
        #expect(connections == 2)
        guard case .session(.failed) = told.last else {
            Issue.record("\(told)")
            return
        }
    }
}
