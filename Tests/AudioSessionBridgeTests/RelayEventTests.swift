import AudioSessionBridge
import Foundation
import Signalling
import Testing

@Suite("Events of the relay's for the app")
struct RelayEventTests {
    /// A message as an app reads it.
    private struct Read: Decodable {
        let value: BridgeValue

        init(from decoder: any Decoder) throws {
            let box = try decoder.singleValueContainer()
            if let flag = try? box.decode(Bool.self) {
                value = .flag(flag)
            } else if let number = try? box.decode(Double.self) {
                value = .number(number)
            } else if let text = try? box.decode(String.self) {
                value = .text(text)
            } else if let list = try? box.decode([Read].self) {
                value = .list(list.map(\.value))
            } else {
                value = .object(try box.decode([String: Read].self).mapValues(\.value))
            }
        }
    }

    private static func read(_ message: RelayMessage) throws -> (type: String, value: BridgeValue) {
        let value = try JSONDecoder().decode(Read.self, from: Data(message.encoded)).value
        guard case .object(let members) = value, case .text(let type)? = members["type"] else { throw CocoaError(.coderReadCorrupt) }
        return (type, value)
    }

    private static let interrupted = RelayMessage.SessionState(state: .interrupted)
    private static let cases: [(RelayMessage, AppAction)] = [
        (.sessionChanged(RelayMessage.SessionChange(session: interrupted, cause: "refused")), .showSession(state: "interrupted")),
        (
            .interruptionBegan(RelayMessage.InterruptionBegan(reason: "handoff", device: "tablet")),
            .stopSound(reason: "handoff", device: "tablet")
        ),
        (.interruptionBegan(RelayMessage.InterruptionBegan(reason: "prompt")), .stopSound(reason: "prompt", device: nil)),
        (.interruptionEnded(RelayMessage.InterruptionEnded(shouldResume: true, cause: "deactivated")), .resumeSound),
        (.interruptionEnded(RelayMessage.InterruptionEnded(shouldResume: false, cause: "left")), .stayPaused),
        (.duckBegan(RelayMessage.Duck(gainDecibels: -12, rampMilliseconds: 250)), .setGain(decibels: -12, rampMilliseconds: 250)),
        (.duckEnded(RelayMessage.Duck(gainDecibels: 0, rampMilliseconds: 250)), .setGain(decibels: 0, rampMilliseconds: 250)),
        (.silenceSecondaryAudioBegin, .silenceSecondaryAudio(true)),
        (.silenceSecondaryAudioEnd, .silenceSecondaryAudio(false)),
        (.mediaServicesWereLost, .discardStreams),
        (.routeChanged(RelayMessage.RouteNotice(reason: 3)), .readRights),
        (.streamStopped(RelayMessage.StreamStopped(stream: 9, reason: "category")), .stopStream(stream: 9, reason: "category")),
        (
            .streamState(RelayMessage.StreamPlayback(stream: 9, state: .playing, elapsed: 3.5, rate: 1, at: 1e12)),
            .showPosition(stream: 9, state: "playing", elapsed: 3.5, rate: 1, at: 1e12)
        ),
        (
            .formatWanted(RelayMessage.FormatWanted(stream: 9, channels: 1, bandwidth: "wideband")),
            .setEncoder(stream: 9, channels: 1, bandwidth: "wideband")
        ),
        (.participantInterrupted(RelayMessage.ParticipantInterrupted(participant: 4, interrupted: true)), .showParticipant(4)),
        (.participantHeld(RelayMessage.ParticipantHeld(participant: 4, held: true)), .showParticipant(4)),
        (.participantRoute(RelayMessage.ParticipantRoute(participant: 4, inputs: [], outputs: [])), .showParticipant(4)),
        (.participantMode(RelayMessage.ParticipantMode(participant: 4, category: "playback", mode: "default")), .showParticipant(4)),
    ]

    @Test("§3 every event that the relay writes is something that the app does", arguments: cases)
    func actions(message: RelayMessage, action: AppAction) throws {
        var bridge = SessionBridge()
        _ = bridge.activate(true)
        let (type, value) = try Self.read(message)
        #expect(bridge.receive(type, value).actions == [action])
        #expect(RelayEventType(rawValue: type) != nil)
    }

    @Test("§3 the cases above have every event but the reset, which makes the session anew")
    func whole() throws {
        let types = try Set(Self.cases.map { try Self.read($0.0).type })
        #expect(types.union(["mediaServices.wereReset"]) == Set(RelayEventType.allCases.map(\.rawValue)))
    }

    @Test("what is none of these events, or has members missing or odd, comes to nothing", arguments: RelayEventType.allCases)
    func hostile(event: RelayEventType) {
        var bridge = SessionBridge()
        #expect(bridge.receive("participant.joined", .object([:])) == BridgeOutcome())
        for value in [
            BridgeValue.object([:]), .list([]), .number(.nan), .text(""),
            .object(["stream": .number(-1), "participant": .number(1e300), "reason": .number(.nan), "channels": .number(.infinity)]),
        ] {
            let outcome = bridge.receive(event.rawValue, value)
            switch event {
            case .interruptionBegan, .interruptionEnded, .silenceSecondaryAudioBegin, .silenceSecondaryAudioEnd, .mediaServicesWereLost,
                .mediaServicesWereReset:
                #expect(outcome.actions.count + outcome.requests.count > 0)
            default: #expect(outcome == BridgeOutcome(), "\(event) \(value)")
            }
        }
    }

    @Test("§3 a session that the relay made inactive is not activated when it is made anew")
    func inactive() throws {
        for message in [
            RelayMessage.interruptionEnded(RelayMessage.InterruptionEnded(shouldResume: false, cause: "timeout")),
            .sessionChanged(RelayMessage.SessionChange(session: RelayMessage.SessionState(state: .inactive), cause: "refused")),
        ] {
            var bridge = SessionBridge()
            _ = bridge.activate(true)
            #expect(bridge.create().map(\.type) == ["session.init", "session.setCategory", "session.setActive"])
            let (type, value) = try Self.read(message)
            _ = bridge.receive(type, value)
            #expect(bridge.create().map(\.type) == ["session.init", "session.setCategory"])
        }
    }

    @Test(
        "RFC 8259 values are written as JSON",
        arguments: [
            (BridgeValue.flag(true), "true"), (.number(3), "3"), (.number(-0.5), "-0.5"), (.number(.infinity), "null"), (.number(1e300), "1e+300"),
            (.text("a\"b\\c\n\u{7F}é"), "\"a\\\"b\\\\c\\u000a\u{7F}é\""), (.list([.number(1), .flag(false)]), "[1,false]"),
            (.object(["b": .number(1), "a": .text("")]), "{\"a\":\"\",\"b\":1}"),
        ])
    func json(value: BridgeValue, text: String) {
        #expect(value.json == text)
    }
}
