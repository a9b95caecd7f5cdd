import RelayRooms
import Signalling
import Testing

@Suite("Signalling: requests and answers as JSON")
struct SignallingTests {
    private func decode(_ text: String) throws(SignallingFault) -> IncomingRequest {
        try IncomingRequest(decoding: Array(text.utf8))
    }

    @Test(
        "protocol §2: every request decodes to what was encoded",
        arguments: [
            ClientRequest.hello(.init(versions: [1, 2], client: .init(name: "t", version: "0"))),
            .join(.init(room: "demo", displayName: "Ada \"quoted\" \u{1F600}")),
            .leave,
            .publish(.init(kind: .audio, codec: "opus", description: StreamDescription(), source: "microphone")),
            .unpublish(.init(stream: 7)),
            .subscribe(.init(streams: nil, all: true, delivery: .live)),
            .unsubscribe(.init(streams: [1, 2], all: nil)),
            .time(.init(clientTime: 1_234.5)),
            .requestKeyFrame(.init(stream: .max)),
        ])
    func roundTrip(request: ClientRequest) throws {
        let decoded = try IncomingRequest(decoding: request.encoded(id: 42))
        #expect(decoded.id == 42)
        #expect(decoded.request == request)
    }

    @Test("protocol §2: unknown fields are ignored")
    func ignoresUnknownFields() throws {
        let decoded = try decode(#"{"type":"join","id":1,"room":"demo","future":{"a":[1,2]}}"#)
        #expect(decoded.request == .join(.init(room: "demo", displayName: nil)))
    }

    @Test("protocol §2: an unknown type is named in the fault")
    func unknownType() {
        #expect(throws: SignallingFault.unknownType(id: 3, type: "dance")) { try decode(#"{"type":"dance","id":3}"#) }
    }

    @Test(
        "protocol §6: what is not JSON is told from what is malformed",
        arguments: [
            ("", true), ("hello", true), ("{", true), (#"{"type":"join","id":1,"room":"#, true), ("[]", false), ("{}", false),
            (#"{"type":5,"id":1}"#, false),
            (#"{"type":"join"}"#, false), (#"{"type":"join","id":-1,"room":"x"}"#, false), (#"{"type":"join","id":1}"#, false),
            (#"{"type":"join","id":1,"room":7}"#, false), (#"{"type":"publish","id":1,"kind":"smell","codec":"x"}"#, false),
            (#"{"type":"unpublish","id":1,"stream":4294967296}"#, false), (#"{"type":"unpublish","id":1,"stream":-1}"#, false),
            (#"{"type":"unpublish","id":1,"stream":1e99}"#, false), (#"{"type":"hello","id":18446744073709551616,"versions":[1]}"#, false),
        ])
    func faults(text: String, isNotJSON: Bool) {
        do throws(SignallingFault) {
            _ = try decode(text)
            Issue.record("\(text) was accepted")
        } catch {
            if isNotJSON {
                #expect(error == .notJSON)
            } else if case .malformed = error {
            } else {
                Issue.record("\(text) gave \(error)")
            }
        }
    }

    @Test(
        "protocol §3.1: a number that does not fit its member, or text that is no Unicode, is malformed and answered under its id",
        arguments: [
            #"{"type":"publish","id":7,"kind":"audio","codec":"opus","description":{"channels":1.5}}"#,
            #"{"type":"unpublish","id":7,"stream":4294967296}"#, #"{"type":"unpublish","id":7,"stream":-1}"#,
            #"{"type":"unpublish","id":7,"stream":1.5}"#, #"{"type":"subscribe","id":7,"streams":[1,-1]}"#,
            #"{"type":"time","id":7,"clientTime":1e999}"#, #"{"type":"join","id":7,"room":"\ud800"}"#,
        ])
    func valueOutOfRange(text: String) {
        do throws(SignallingFault) {
            _ = try decode(text)
            Issue.record("\(text) was accepted")
        } catch {
            guard case .malformed(id: 7, let detail) = error else {
                Issue.record("\(text) gave \(error)")
                return
            }
            #expect(detail.contains("value") && !detail.contains("''"), "\(detail)")
        }
    }

    @Test(
        "protocol §3.1: an envelope that cannot be read is malformed without an id, as long as the text is JSON",
        arguments: [#"{"type":"leave","id":1e999}"#, #"{"id":-1e999,"type":"leave"}"#, #"{"type":"\ud800","id":1}"#, #"{"type":"leave","id":"1"}"#])
    func envelopeOutOfRange(text: String) {
        do throws(SignallingFault) {
            _ = try decode(text)
            Issue.record("\(text) was accepted")
        } catch {
            guard case .malformed(id: nil, _) = error else {
                Issue.record("\(text) gave \(error)")
                return
            }
        }
    }

    @Test(
        "protocol §3: how lenient the reader of JSON is",
        arguments: [
            (#"{"type":"leave","id":1,}"#, true), ("\u{FEFF}" + #"{"type":"leave","id":1}"#, true), (#"{"type":"leave",/**/"id":1}"#, false),
            (#"{'type':'leave','id':1}"#, false), (#"{"type":"leave","id":1}{}"#, false), (#"{"type":"leave","id":1"#, false),
        ])
    func leniency(text: String, isTaken: Bool) {
        if isTaken {
            #expect(throws: Never.self) { try decode(text) }
        } else {
            #expect(throws: SignallingFault.notJSON) { try decode(text) }
        }
    }

    @Test(
        "protocol §3: text nested 512 deep is read, deeper is no JSON",
        arguments: [(510, true), (511, true), (512, false), (513, false), (20_000, false)])
    func nesting(depth: Int, isTaken: Bool) {
        let text = #"{"type":"leave","id":1,"x":"# + String(repeating: "[", count: depth) + String(repeating: "]", count: depth) + "}"
        if isTaken {
            #expect(throws: Never.self) { try decode(text) }
        } else {
            #expect(throws: SignallingFault.notJSON) { try decode(text) }
        }
    }

    @Test("protocol §6: nesting without end is refused, not followed")
    func deepNesting() {
        let text = #"{"type":"join","id":1,"room":"#
        #expect(throws: SignallingFault.self) { try decode(text + String(repeating: "[", count: 50_000)) }
        #expect(throws: SignallingFault.self) { try decode(text + String(repeating: "{\"a\":", count: 10_000)) }
    }

    @Test(
        "protocol §2: every message of the relay decodes to what was encoded",
        arguments: [
            RelayMessage.welcome(
                id: 1,
                .init(
                    version: 1, session: "s", identity: .init(name: "urn:x", fingerprint: "00", proof: .certificate),
                    limits: .init(
                        controlMessageBytesMax: 1, audioFrameBytesMax: 2, videoFrameBytesMax: 3, dataFrameBytesMax: 4, streamsPerParticipantMax: 5,
                        controlMessagesPerSecondMax: 6), serverTime: 1.5, node: "n")),
            .ok(id: 2, .init()),
            .error(id: nil, .helloFirst),
            .error(id: 9, .init(RoomFault.roomFull(participantsMax: 3))),
            .participantJoined(.init(participant: 4, identity: nil, displayName: "x")),
            .participantLeft(participant: 4, reason: .lost),
            .streamPublished(.init(stream: 1, participant: 4, kind: .video, codec: "vp8", description: nil, source: nil)),
            .streamEnded(stream: 1),
            .keyFrameRequested(stream: 1),
            .goAway(deadlineMilliseconds: 1_000, reason: "drain"), .goAway(deadlineMilliseconds: 1, reason: "drain", node: "relay-2:8443"),
            .goAwayCancelled,
        ])
    func relayRoundTrip(message: RelayMessage) throws {
        #expect(try RelayMessage.decode(message.encoded) == message)
    }

    @Test("a client ignores what a newer relay may say")
    func unknownRelayMessage() throws {
        #expect(try RelayMessage.decode(Array(#"{"type":"weather","sun":true}"#.utf8)) == nil)
    }
}
