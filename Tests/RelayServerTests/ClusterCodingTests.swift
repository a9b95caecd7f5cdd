import AudioSession
import Foundation
import Reactor
import RelayBase
import RelayRooms
import Signalling
import Testing

@testable import RelayServer

/// What nodes say to each other, as JSON.
@Suite("Messages between nodes")
struct ClusterCodingTests {
    private static let own = 7
    private static let other = 9
    private static let threads = 4

    private static func coder(_ node: Int) -> NodeCoder {
        let coder = NodeCoder(loops: threads)
        coder.number(node)
        return coder
    }

    private static let room = RoomNumber(0xFEDC_BA98_7654_3210)
    private static let participant = ParticipantID(4_000_000_000)
    private static let text = Array(#"{"type":"speakers","speakers":[]}"#.utf8)
    private static let address = MemberAddress(loop: 2, token: .max)

    private static func name() throws -> RoomName { try #require(RoomName("board.9", bytesMax: 64)) }

    private static func member() -> Rooms.Member {
        let profile = MemberProfile(
            identity: .init(name: "urn:a", fingerprint: nil, proof: .token), displayName: "Ä",
            presentation: MemberPresentation(interrupted: .handoff, isHeld: true, route: nil, purpose: .init(category: .playback, mode: .default)))
        return Rooms.Member(id: participant, address: address, identity: "urn:a", profile: profile, role: .host, publishable: .all, muted: .audio)
    }

    private static func stream() -> Rooms.Stream {
        let info = RelayMessage.StreamInfo(
            stream: 1, participant: participant.value, kind: .audio, codec: "opus", description: nil, source: "microphone")
        return Rooms.Stream(id: 1, publisher: participant, address: address, lane: .audio, description: info)
    }

    /// One of each that loops say and that may cross.
    private static func messages() throws -> [LoopMessage] {
        let entry = StreamEntry(stream())
        let profile = member().profile
        let admission = RoomAdmission(role: .speaker, publish: .all, settings: RoomSettings())
        let claim = ClaimReference(newcomer: address, number: .foreign)
        let joined = Joined(
            room: room, name: try name(), home: 1, participant: participant, role: .host, muted: [], isLocked: true, participants: Array("[]".utf8),
            streams: [entry], speakers: [], recentSpeakers: [participant], lobby: [text])
        let interest = RemoteInterest(loop: 1, room: Handle(index: 3, generation: 5), slot: StreamSlot(17))
        return [
            .join(JoinRequest(name: try name(), profile: profile, admission: admission, address: address, requestID: 1)),
            .leave(room, participant, reason: .lost),
            .publish(
                PublishRequest(
                    room: room, participant: participant, address: address, requestID: 2, lane: .video,
                    body: .init(kind: .video, codec: "vp8", description: nil, source: nil))),
            .unpublish(room, participant, requester: address, requestID: 3, stream: 4),
            .moderate(
                ModerationRequest(
                    room: room, host: participant, address: address, requestID: 5, act: .mute(participant, .audio, true), type: "mute", actor: "a",
                    isAdministrator: false, origin: "::1")),
            .review(room, participant, roleBefore: .listener, admission), .present(room, participant, profile.presentation),
            .speech(room, from: 1, [SpeakingStream(stream: 1, level: -30)]), .withdraw(room, participant, streams: [1, 2]),
            .describe(room, participant, for: claim), .described(claim, joined), .described(claim, nil),
            .joined(token: 1, requestID: 2, .success(joined)), .joined(token: 1, requestID: 2, .failure(.roomLocked)),
            .published(address, requestID: 3, room, .success(9), via: []), .published(address, requestID: 3, room, .failure(.role), via: []),
            .unpublished(token: 1, requestID: 2, .success(3)),
            .waiting(
                token: 1, requestID: 2,
                LobbyPlace(room: room, name: try name(), home: 1, participant: participant, role: .speaker, displayName: nil)),
            .admitted(token: 1, joined), .removed(token: 1, room, participant, .denied),
            .memberEvent(token: 1, room, participant, message: text), .roomEvent(room, message: text, except: nil),
            .presence(room, .came(participant), message: text, except: participant), .streamAdded(room, entry, message: text),
            .streamEnded(room, stream: 3, message: text, isForced: true),
            .memberChanged(room, participant, role: .listener, muted: .video, message: text),
            .memberPresented(room, participant, isHeld: true, message: text), .speakers(room, recent: [participant], message: text),
            .roomEnded(room, .ended),
            .interest(room, stream: 1, interest, layers: .all, audio: .full, isWanted: true, imported: nil),
            .keyFrameWanted(room, stream: 1, spatial: 2), .reception(room, stream: 1, from: 3, ReceptionAggregate()),
            .ladder(room, stream: 1, [LayerOption(spatial: 0, temporal: 1, bitsPerSecond: 5)]),
            .toSession(token: 1, .answer(requestID: 2, .success(.init()))), .toSession(token: 1, .event(text)),
            .cluster(.roll(room, from: Place(wrappedValue: 1), round: 3, [RollEntry(member: member(), streams: [stream()])], moving: [participant])),
            .cluster(.homeMoved(room, home: Place(wrappedValue: 0), round: 1)),
        ]
    }

    @Test("what crosses comes out as what it was, with places as the reader sees them")
    func crossing() throws {
        for message in try Self.messages() {
            let crossing = try #require(NodeMessage(message), "\(message)")
            let bytes = try #require(Self.coder(Self.own).encode(NodeEnvelope(loop: 1, message: crossing)))
            // Back where it came from: places are its own again.
            let same = try #require(Self.coder(Self.own).decode(bytes), "\(message)")
            #expect("\(try #require(same.message.forLoop))" == "\(message)")
            // Elsewhere they are the sender's, and written on they are so still.
            let elsewhere = try #require(Self.coder(Self.other).decode(bytes))
            let again = try #require(Self.coder(Self.other).encode(elsewhere))
            #expect(Self.coder(Self.own).decode(again).map { "\($0)" } == "\(same)")
        }
    }

    @Test("a place elsewhere names its node")
    func places() throws {
        let bytes = try #require(
            Self.coder(Self.own).encode(
                NodeEnvelope(
                    loop: 0,
                    message: .unpublish(
                        Self.room, Self.participant, requester: Self.address, requestID: 1, stream: 1))))
        guard case .unpublish(_, _, let requester, _, _) = Self.coder(Self.other).decode(bytes)?.message else {
            Issue.record("not what was sent")
            return
        }
        #expect(LoopPlace.isForeign(requester.loop) && LoopPlace.node(of: requester.loop) == Self.own && LoopPlace.loop(of: requester.loop) == 2)
        #expect(requester.token == .max)
    }

    @Test(
        "a thread that the reader does not have is no place",
        arguments: [(3, true), (4, false), (63, false), (200, false), (253, false), (254, false), (255, false)])
    func threads(loop: Int, isThere: Bool) throws {
        let message = NodeMessage.unpublish(
            Self.room, Self.participant, requester: MemberAddress(loop: loop, token: 1), requestID: 1, stream: 1)
        let bytes = try #require(Self.coder(Self.own).encode(NodeEnvelope(loop: 0, message: message)))
        #expect((Self.coder(Self.own).decode(bytes) != nil) == isThere)
        #expect(Self.coder(Self.other).decode(bytes) != nil, "another node's affair")
    }

    private static let senseless: [NodeMessage] = [
        .cluster(.numbered(node: 5_000, start: 1)), .cluster(.surrender(room)), .cluster(.giveRooms), .cluster(.nodesGone([1])),
        .speech(room, from: Place(wrappedValue: 1), [SpeakingStream(stream: 1, level: .max)]),
        .ladder(room, stream: 1, [LayerOption(spatial: 99, temporal: 0, bitsPerSecond: 1)]),
        .ladder(room, stream: 1, [LayerOption(spatial: 0, temporal: 0, bitsPerSecond: .max)]), .keyFrameWanted(room, stream: 1, spatial: 64),
        .streamAdded(
            room,
            StreamEntry(
                info: .init(
                    stream: 1, participant: 1, kind: .video, codec: "vp8", description: nil, source: nil,
                    layers: Array(repeating: StreamLayer(), count: 9)), lane: .video, publisher: participant, address: address), JSONText(text)),
    ]

    @Test("what makes no sense, or is for threads of one node only, is no message", arguments: senseless.indices)
    func nonsense(place: Int) throws {
        let bytes = try #require(Self.coder(Self.other).encode(NodeEnvelope(loop: 0, message: Self.senseless[place])))
        #expect(Self.coder(Self.own).decode(bytes) == nil)
    }

    @Test("whatever comes is a message or none, and never more than that", arguments: 0..<200)
    func hostile(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let messages = try Self.messages()
        let message = try #require(messages.randomElement(using: &generator))
        var bytes = try #require(NodeMessage(message).flatMap { Self.coder(Self.other).encode(NodeEnvelope(loop: 1, message: $0)) })
        for _ in 0..<Int.random(in: 1...6, using: &generator) {
            let place = Int.random(in: 0..<bytes.count, using: &generator)
            switch Int.random(in: 0..<3, using: &generator) {
            case 0: bytes[place] = UInt8.random(in: 0x20...0x7E, using: &generator)
            case 1: bytes.insert(contentsOf: Array("99999999999999999999".utf8), at: place)
            default: bytes.remove(at: place)
            }
        }
        _ = Self.coder(Self.own).decode(bytes)?.message.forLoop
    }
}

@Suite("Draining, and what balancers and service managers are told")
struct DrainTests {
    @Test("everybody is told in the first half of a drain and ended in the second, each at a time of its own", arguments: [0, 1, 2, 500, 20_000])
    func plan(sessions: Int) {
        var generator = SeededGenerator(seed: 5)
        let plan = DrainPlan(sessions: sessions, milliseconds: 60_000, using: &generator)
        #expect(Set(plan.steps.map(\.place)) == Set(0..<sessions))
        #expect(plan.steps.map(\.told) == plan.steps.map(\.told).sorted())
        for step in plan.steps {
            #expect(step.told <= 30_000 && step.ends >= 30_000 && step.ends <= 60_000 && step.ends >= step.told + DrainPlan.noticeMilliseconds)
        }
        if sessions >= 500 {
            // Evenly: of ten parts of the second half, none has much more than a tenth.
            var parts = [Int](repeating: 0, count: 10)
            for step in plan.steps { parts[min(Int(step.ends - 30_000) / 3_000, 9)] += 1 }
            #expect(parts.allSatisfy { $0 < sessions / 5 })
        }
    }

    @Test("a drain of no time ends everybody at once", arguments: [0, 1, 10])
    func short(milliseconds: UInt64) {
        var generator = SeededGenerator(seed: 1)
        let plan = DrainPlan(sessions: 3, milliseconds: milliseconds, using: &generator)
        #expect(plan.steps.allSatisfy { $0.told <= milliseconds && $0.ends <= milliseconds && $0.told <= $0.ends })
    }

    @Test(
        "a relay takes less the busier or fuller it is, and always something",
        arguments: [
            (0.0, 0, 100), (0.5, 0, 50), (0.1, 900, 10), (1.0, 0, 1), (7.0, 0, 1), (0.0, 5_000, 1), (.nan, 0, 1), (-1.0, 0, 100),
        ])
    func weights(busy: Double, connections: Int, percent: Int) {
        #expect(BalancerWeight.percent(busyShare: busy, connections: connections, of: 1_000) == percent)
    }

    @Test("HAProxy's agent is told of a drain first, then of what is not ready")
    func agent() {
        #expect(BalancerWeight.agentLine(isDraining: true, isReady: true, percent: 80) == "drain\n")
        #expect(BalancerWeight.agentLine(isDraining: false, isReady: false, percent: 80) == "down\n")
        #expect(BalancerWeight.agentLine(isDraining: false, isReady: true, percent: 80) == "up ready 80%\n")
    }

    @Test(
        "the watchdog is fed only if every loop has turned since",
        arguments: [
            ([UInt64](), [UInt64(1), 2], true), ([1, 2], [2, 3], true), ([1, 2], [2, 2], false), ([1, 2], [1, 2], false),
        ])
    func watchdog(before: [UInt64], now: [UInt64], isFed: Bool) {
        #expect(ServiceManager.allHaveTurned(since: before, now) == isFed)
    }

    @Test(
        "only what is meant for this process is taken from the environment",
        arguments: [
            (["LISTEN_FDS": "1"], 0), (["LISTEN_FDS": "1", "LISTEN_PID": "1"], 0), (["LISTEN_FDS": "x", "LISTEN_PID": "77"], 0),
            (["LISTEN_FDS": "-3", "LISTEN_PID": "77"], 0), (["LISTEN_FDS": "2147483647", "LISTEN_PID": "77"], 0),
        ])
    func inherited(environment: [String: String], count: Int) {
        #expect(InheritedSockets(environment: environment, process: 77, calls: .linux).addresses.count == count)
        #expect(ServiceManager(environment: ["WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "1"], process: 77).heartbeatMilliseconds == nil)
        #expect(ServiceManager(environment: ["WATCHDOG_USEC": "1000000"], process: 77).heartbeatMilliseconds == 500)
    }
}
