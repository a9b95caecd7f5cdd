package import RelayBase

/// Who speaks in the rooms.
extension RoomDirectory {
    /// Participants beyond which changes come less often: each of them is a message to everybody.
    private var speakersCrowd: Int { 1_000 }

    /// A loop with publishers says who speaks there.
    package mutating func noteSpeech(_ number: RoomNumber, from loop: Int, _ streams: [SpeakingStream]) {
        rooms[number]?.speakers.report(from: loop, streams)
    }

    /// Looks whether others speak in a room than before. Whoever is muted or held speaks in no stream, and so does nobody in one that has ended.
    ///
    /// - Parameter isHeld: whether nothing comes from a participant.
    package mutating func lookAtSpeakers(_ number: RoomNumber, now: MonotonicInstant, isHeld: (Profile) -> Bool) -> ActiveSpeakers.Look {
        guard let room = rooms[number] else { return .unchanged }
        let pause = ActiveSpeakers.changeMillisecondsMin * UInt64(max(1, room.members.count / speakersCrowd))
        return rooms[number]?.speakers.look(now: now, most: limits.speakersMax, pause: pause) { id in
            guard let stream = room.streams.first(where: { $0.id == id }),
                let member = room.members.first(where: { $0.id == stream.publisher }), !member.muted.contains(.audio), !isHeld(member.profile)
            else { return nil }
            return member.id
        } ?? .unchanged
    }
}
