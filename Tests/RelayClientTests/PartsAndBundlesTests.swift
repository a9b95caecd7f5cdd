import MediaProtocol
import RelayBase
import RelayClient
import Signalling
import Testing

@Suite("Wishes for parts and bundles", .serialized)
struct PartsAndBundlesTests {
    private static let wishes: [ClientRequest.SessionWishes?] = [
        nil, .init(parts: true), .init(bundles: .init(delayMilliseconds: 0)), .init(parts: true, bundles: .init(delayMilliseconds: 10)),
    ]

    @Test("§4.4, §4.6 whatever a session wished for, it is given the same frames, byte for byte and in order", arguments: Route.bothHTTP)
    func sameFrames(_ route: Route) throws {
        let relay = try Relay(loops: route.loops)
        let clients = try Clients(relay)
        let publisher = try clients.join("demo", route)
        let listeners = try Self.wishes.map { wishes in
            let session = try clients.open(route, as: "bob") { $0.wishes = wishes }
            try clients.ready(session)
            _ = try clients.answer(session, .join(.init(room: "demo", displayName: nil)))
            try clients.subscribeAll(session)
            return session
        }
        let audio = try clients.publish(publisher, .audio, "opus")
        let video = try clients.publish(publisher, .video, "vp8")
        var sent: [UInt32: [[UInt8]]] = [:]
        for stream in [audio, video] {
            let header = MediaHeader(kind: .configuration, stream: StreamID(stream), sequence: 0, timestamp: 0)
            sent[stream, default: []].append(try clients.send(publisher, header, [1, 2, 3]))
        }
        try clients.wait("news of both streams and their configurations") { listeners.allSatisfy { clients[$0].frames.count == 2 } }
        for sequence in 0..<UInt32(100) {
            let sound = MediaHeader(kind: .audio, stream: StreamID(audio), sequence: sequence, timestamp: sequence &* 960)
            sent[audio, default: []].append(try clients.send(publisher, sound, Array(repeating: UInt8(sequence), count: Int(sequence))))
            guard sequence % 4 == 0 else { continue }
            let picture = MediaHeader(
                kind: .video, flags: sequence % 40 == 0 ? .key : [], stream: StreamID(video), sequence: sequence / 4, timestamp: sequence &* 750)
            sent[video, default: []].append(
                try clients.send(publisher, picture, Array(repeating: UInt8(sequence), count: sequence % 40 == 0 ? 90_000 : 900)))
        }
        let total = sent.values.reduce(0) { $0 + $1.count }
        try clients.wait("all frames") { listeners.allSatisfy { clients[$0].frames.count >= total || $0.hasEnded } }
        for (place, listener) in listeners.enumerated() {
            #expect(clients[listener].end == nil)
            for (stream, frames) in sent {
                let received = clients[listener].frames.filter { frame in
                    (try? unsafe frame.withUnsafeBytes { try unsafe MediaHeader(parsing: $0) })?.stream.rawValue == stream
                }
                #expect(received == frames, "wishes \(place), stream \(stream)")
            }
        }
    }

    @Test(
        "§3.2 wishes out of range are refused, and the session may say hello again",
        arguments: [
            .init(bundles: .init(delayMilliseconds: 10.5)), .init(bundles: .init(delayMilliseconds: -1)), .init(keepAliveMilliseconds: 999),
            .init(keepAliveMilliseconds: 60_001),
        ] as [ClientRequest.SessionWishes])
    func badWishes(_ wishes: ClientRequest.SessionWishes) throws {
        let relay = try Relay()
        let clients = try Clients(relay)
        let session = try clients.open { $0.saysHello = false }
        try clients.wait("the opening") { clients[session].isOpen }
        #expect(try clients.refusal(session, .hello(.init(versions: [1], client: nil, wishes: wishes))).code == "bad_value")
        session.send(.hello(.init(versions: [1], client: nil, wishes: .init(parts: true))))
        try clients.ready(session)
    }
}
