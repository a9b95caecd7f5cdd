import HTTPTransport
import RelayBase
import Testing

/// What may follow on a stream whose peer has ended its half, and what may not (RFC 9113 §5.1).
@Suite struct HTTP2StreamStateTests {
    /// A server that has answered `count` whole requests, so that their streams are closed both ways.
    private func answeredServer(_ count: Int = 1) throws -> HTTP2Session {
        let server = try openedServer()
        for index in 0..<count {
            let id = UInt32(index * 2 + 1)
            try server.receive(Raw.headers(id))
            _ = server.events()
            server.respond(HTTP2StreamID(Int32(id)), status: 200, fields: [], endOfStream: true)
            _ = server.output()
            _ = server.events()
        }
        #expect(server.openStreams == 0)
        return server
    }

    @Test("§5.1 closed by END_STREAM: DATA and HEADERS are a connection error STREAM_CLOSED", arguments: [Raw.data(1, [1]), Raw.headers(1)])
    func afterBothEnds(frame: [UInt8]) throws {
        let server = try answeredServer()
        #expect(server.fault(receiving: frame) == .frameAfterStreamEnd)
        #expect(server.outputFrames().last?.goAwayCode == .streamClosed)
    }

    @Test("§5.1 half-closed (remote): DATA and HEADERS are a stream error STREAM_CLOSED", arguments: [Raw.data(1, [1]), Raw.headers(1)])
    func halfClosed(frame: [UInt8]) throws {
        let server = try openedServer()
        try server.receive(Raw.headers(1))
        let fault = server.fault(receiving: frame)
        let answer = server.outputFrames()
        let isReset = answer.contains { $0.type == Raw.FrameType.rstStream && $0.stream == 1 && $0.lastWord == HTTP2ErrorCode.streamClosed.rawValue }
        // A stream error may be treated as one of the connection (§5.4.2).
        #expect(isReset || (fault?.errorCode == .streamClosed && answer.last?.goAwayCode == .streamClosed))
    }

    @Test("§5.1 WINDOW_UPDATE, RST_STREAM and PRIORITY may come after the end", arguments: [Raw.windowUpdate(1, 5), Raw.reset(1), Raw.priority(1)])
    func lateFrames(frame: [UInt8]) throws {
        let server = try answeredServer()
        try server.receive(frame + Raw.headers(3))
        #expect(server.events().map { $0.prefix(9) } == ["request 3"])
    }

    @Test("§5.1 what a peer had under way when this end reset its stream is ignored, its end included")
    func underWayAtReset() throws {
        let server = try openedServer()
        try server.receive(Raw.headers(1, Raw.post, endStream: false))
        _ = server.events()
        server.reset(HTTP2StreamID(1), .cancel)
        _ = server.output()
        try server.receive(Raw.data(1, [1]) + Raw.data(1, [2]) + Raw.headers(1, [("x", "trailer")]))
        #expect(server.fault == nil)
        #expect(server.fault(receiving: Raw.data(1, [3])) == .frameAfterStreamEnd)
    }

    @Test("trailers may follow DATA, and a client may answer on many streams in any order")
    func trailers() throws {
        let server = try openedServer()
        for id in stride(from: 1 as UInt32, to: 400, by: 2) {
            try server.receive(Raw.headers(id, Raw.post, endStream: false) + Raw.data(id, [1]) + Raw.headers(id, [("x", "trailer")]))
            _ = server.events()
            server.respond(HTTP2StreamID(Int32(id)), status: 200, fields: [], endOfStream: true)
            _ = server.output()
        }
        #expect(server.fault == nil)
    }

    @Test("the memory of ended streams is bounded: of one that ended long ago, late frames are ignored")
    func boundedMemory() throws {
        let recent = try answeredServer(64)
        #expect(recent.fault(receiving: Raw.data(1, [1])) == .frameAfterStreamEnd)
        let longAgo = try answeredServer(65)
        try longAgo.receive(Raw.data(1, [1]) + Raw.headers(131))
        #expect(longAgo.events().map { $0.prefix(11) } == ["request 131"])
    }
}
