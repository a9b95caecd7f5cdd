import MediaProtocol
import RelayBase
import RelayClient
import Signalling
import TLSTransport
import Testing

@Suite("One publisher, many listeners", .serialized)
struct RelayingTests {
    private static func payload(_ size: Int, _ generator: inout SeededGenerator) -> [UInt8] {
        (0..<size).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }

    @Test("every frame arrives at every listener, byte for byte and in order", arguments: Route.all)
    func everyByteEqual(_ route: Route) throws {
        let relay = try Relay(loops: route.loops)
        let clients = try Clients(relay)
        let publisher = try clients.join("demo", route)
        #expect(publisher.negotiated?.version == route.tls)
        let listeners = try (0..<6).map { _ in try clients.join("demo", route, as: "bob") }
        for listener in listeners { try clients.subscribeAll(listener) }
        let audio = try clients.publish(publisher, .audio, "opus")
        let video = try clients.publish(publisher, .video, "vp8")
        // A listener is told of a stream before it gets frames of it; waiting keeps this test to the live edge.
        try clients.wait("news of both streams") {
            listeners.allSatisfy { listener in
                clients[listener].news.count { if case .streamPublished = $0 { true } else { false } } == 2
            }
        }

        var generator = SeededGenerator(seed: 7)
        var sent: [UInt32: [[UInt8]]] = [:]
        for stream in [audio, video] {
            let header = MediaHeader(kind: .configuration, stream: StreamID(stream), sequence: 0, timestamp: 0)
            sent[stream, default: []].append(try clients.send(publisher, header, [1, 2, 3]))
        }
        for sequence in 0..<UInt32(150) {
            let sound = MediaHeader(kind: .audio, flags: .key, stream: StreamID(audio), sequence: sequence, timestamp: sequence &* 960)
            sent[audio, default: []].append(
                try clients.send(publisher, sound, Self.payload(Int.random(in: 0...1_200, using: &generator), &generator)))
            guard sequence % 5 == 0 else { continue }
            let picture = MediaHeader(
                kind: .video, flags: sequence % 50 == 0 ? .key : [], stream: StreamID(video), sequence: sequence / 5, timestamp: sequence &* 1_800)
            let size = sequence % 50 == 0 ? 90_000 : Int.random(in: 1...9_000, using: &generator)
            sent[video, default: []].append(try clients.send(publisher, picture, Self.payload(size, &generator)))
        }
        let total = sent.values.reduce(0) { $0 + $1.count }
        try clients.wait("all frames") { listeners.allSatisfy { clients[$0].frames.count >= total || $0.hasEnded } }
        for listener in listeners {
            #expect(clients[listener].end == nil)
            #expect(clients[listener].frames.count == total)
            for (stream, frames) in sent {
                let received = clients[listener].frames.filter { frame in
                    (try? unsafe frame.withUnsafeBytes { try unsafe MediaHeader(parsing: $0) })?.stream.rawValue == stream
                }
                #expect(received == frames, "stream \(stream)")
            }
        }
        #expect(clients[publisher].frames.isEmpty)
    }

    @Test("frames sent just before unpublish arrive, also on other loops", arguments: [1, 4])
    func lastFrames(loops: Int) throws {
        let relay = try Relay(loops: loops)
        let clients = try Clients(relay)
        let publisher = try clients.join("last")
        let listeners = try (0..<12).map { _ in try clients.join("last") }
        for listener in listeners { try clients.subscribeAll(listener) }
        for round in 0..<20 {
            let stream = try clients.publish(publisher, .audio, "opus")
            try clients.send(publisher, MediaHeader(kind: .configuration, stream: StreamID(stream), sequence: 0, timestamp: 0), [])
            // The first frame's arrival shows that every loop has asked for the stream.
            try clients.send(publisher, MediaHeader(kind: .audio, stream: StreamID(stream), sequence: 0, timestamp: 0), [0])
            try clients.wait("the first frames") { listeners.allSatisfy { clients[$0].frames.count >= round * 12 + 2 } }
            for sequence in 1...10 as ClosedRange<UInt32> {
                try clients.send(publisher, MediaHeader(kind: .audio, stream: StreamID(stream), sequence: sequence, timestamp: 0), [UInt8(sequence)])
            }
            _ = try clients.answer(publisher, .unpublish(.init(stream: stream)))
            try clients.wait("the last frames of round \(round)") { listeners.allSatisfy { clients[$0].frames.count >= round * 12 + 12 } }
        }
    }
}
