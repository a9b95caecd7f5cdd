import MediaProtocol
import Reactor
import RelayBase
import RelayRooms
import Signalling

/// Who speaks: a publisher's loop hears it in the levels of its frames, the room's home decides, and every loop with members tells them.
extension EventLoop {
    // MARK: At the publisher's loop

    /// Looks at the levels that have come since the last look, some ten times a second, and tells the room's home what is new of them.
    func lookAtSpeech(_ room: LocalRoom) {
        room.speech.look(now: now)
        let identifier = { (slot: StreamSlot) in room.fanout.isOpen(slot) ? room.routes[slot.index].entry.info.stream : nil }
        guard let streams = room.speech.report(now: now, streamsMax: limits.speakersMax, stream: identifier) else { return }
        post(.speech(room.number, from: index, streams), to: room.home)
    }

    /// What comes next of somebody's sound is heard anew: it was muted, or its audio session was interrupted.
    func resetSpeech(_ room: LocalRoom, of participant: ParticipantID) {
        for slot in room.fanout.openSlots where room.routes[slot.index].entry.publisher == participant && room.routes[slot.index].entry.lane == .audio
        {
            room.speech.reset(slot)
        }
    }

    // MARK: At the room's home

    func speechAtHome(_ number: RoomNumber, from loop: Int, _ streams: [SpeakingStream]) {
        home.noteSpeech(number, from: loop, streams)
        lookAtSpeakers(number)
    }

    /// Tells the room when others speak than before: at once, or as soon as it may be told again.
    func lookAtSpeakers(_ number: RoomNumber) {
        switch home.lookAtSpeakers(number, now: now, isHeld: { $0.presentation.isHeld }) {
        case .unchanged: return
        case .early(let due):
            guard speakersDue.insert(number).inserted else { return }
            _ = timers.schedule(at: due, TimerEvent(payload: number.value, kind: TimerKind.speakers))
        case .changed:
            guard let room = home.rooms[number] else { return }
            let news = RelayMessage.speakers(.init(speakers: room.speakers.current.map(RelayMessage.Speaker.init))).encoded
            for loop in audience(of: room) { post(.speakers(number, recent: room.speakers.recent, message: news), to: loop) }
        }
    }

    func speakersTimer(_ number: RoomNumber) {
        speakersDue.remove(number)
        lookAtSpeakers(number)
    }

    // MARK: At the loops with members

    func speakersChanged(_ number: RoomNumber, _ recent: [ParticipantID], _ message: [UInt8]) {
        tellPresence(number, message, except: nil)
        guard let room = room(number), room.recentSpeakers != recent else { return }
        room.recentSpeakers = recent
        rankVideo(room)
    }
}

extension RelayMessage.Speaker {
    init(_ speaker: ActiveSpeaker) {
        self.init(participant: speaker.participant.value, stream: speaker.stream, level: speaker.level)
    }
}

extension SpeechMeter {
    mutating func note(_ slot: StreamSlot, _ header: MediaHeader) {
        note(slot, level: header.level.rawValue, isSilence: header.flags.contains(.silence))
    }
}

extension Joined {
    /// The speakers as somebody is told who comes in; `nil`: nobody speaks.
    var told: [RelayMessage.Speaker]? {
        speakers.isEmpty ? nil : speakers.map(RelayMessage.Speaker.init)
    }
}
