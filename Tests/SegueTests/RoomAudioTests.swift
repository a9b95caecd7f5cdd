import Signalling
import Testing

@testable import segue

@Suite("Listening: whose audio is interrupted, held or goes another way")
struct RoomAudioTests {
    private static func participant(_ number: UInt32, interrupted: Bool? = nil, held: Bool? = nil) -> RelayMessage.Participant {
        var participant = RelayMessage.Participant(participant: number, identity: nil, displayName: nil)
        participant.interrupted = interrupted
        participant.held = held
        return participant
    }

    @Test("what the room is told of a call is told in words and in fields")
    func call() {
        var audio = RoomAudio()
        let news: [RelayMessage] = [
            .participantInterrupted(.init(participant: 3, interrupted: true, reason: "handoff")), .participantHeld(.init(participant: 3, held: true)),
            .participantInterrupted(.init(participant: 3, interrupted: false)), .participantHeld(.init(participant: 3, held: false)),
        ]
        let words = news.compactMap { audio.take($0) }
        #expect(words.map(\.event) == ["interrupted", "held", "interrupted", "held"])
        #expect(words.map(\.sentence).prefix(2) == ["is interrupted (handoff)", "is held: nothing goes to it or comes from it"])
        #expect(words.map(\.sentence).suffix(2) == ["is interrupted no more", "is held no more"])
        #expect(
            words.map(\.fields) == [["interrupted": "true", "reason": "handoff"], ["held": "true"], ["interrupted": "false"], ["held": "false"]])
        #expect(words.allSatisfy { $0.participant == 3 })
    }

    @Test("who is held when the room is entered is told then, and what changed before the room is seen again")
    func lists() {
        var audio = RoomAudio()
        let found = audio.take(Self.participant(1, interrupted: true, held: true))
        #expect(found.map(\.event) == ["interrupted", "held"])
        let same = audio.take(Self.participant(1, interrupted: true, held: true))
        #expect(same.isEmpty)
        let nobody = audio.take(Self.participant(2))
        #expect(nobody.isEmpty)
        let after = audio.take(Self.participant(1, held: true))
        #expect(after.map(\.sentence) == ["is interrupted no more"])
        audio.remove(1)
        let newcomer = audio.take(Self.participant(1))
        #expect(newcomer.isEmpty)
    }

    @Test("a route is told by its types")
    func route() {
        var audio = RoomAudio()
        let ways: [RelayMessage] = [
            .participantRoute(.init(participant: 1, inputs: [.init(type: "headsetMic")], outputs: [.init(type: "headphones"), .init(type: "hdmi")])),
            .participantRoute(.init(participant: 1, inputs: [], outputs: [])),
        ]
        let words = ways.compactMap { audio.take($0) }
        #expect(words.map(\.sentence) == ["hears through headphones, hdmi, talks through headsetMic", "has no audio route"])
        #expect(words.first?.fields == ["inputs": "headsetMic", "outputs": "headphones, hdmi"])
    }

    @Test("what a participant's audio session is for is told once, in an event or in a list, and again when it changes")
    func mode() {
        var audio = RoomAudio()
        var listed = Self.participant(1)
        listed.category = "playback"
        listed.mode = "moviePlayback"
        let found = audio.take(listed)
        #expect(found.map(\.event) == ["mode"])
        #expect(found.map(\.sentence) == ["has an audio session: playback, moviePlayback"])
        let again = audio.take(listed)
        #expect(again.isEmpty)
        let same = audio.take(RelayMessage.participantMode(.init(participant: 1, category: "playback", mode: "moviePlayback")))
        #expect(same == nil)
        let other = audio.take(RelayMessage.participantMode(.init(participant: 1, category: "playAndRecord", mode: "default")))
        #expect(other?.sentence == "has an audio session: playAndRecord")
        #expect(other?.fields == ["category": "playAndRecord", "mode": "default"])
    }

    @Test(
        "segue room show has a column for it",
        arguments: [(nil, nil, "-"), (true, nil, "interrupted"), (true, true, "interrupted,held"), (false, true, "held")] as [(Bool?, Bool?, String)])
    func column(interrupted: Bool?, held: Bool?, text: String) {
        #expect(RoomTalk.audio(of: Self.participant(1, interrupted: interrupted, held: held)) == text)
    }
}
