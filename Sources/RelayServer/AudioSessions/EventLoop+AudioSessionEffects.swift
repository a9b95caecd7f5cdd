import AudioSession
import Reactor
import RelayBase
import RelayRooms
import Signalling

/// What the desk has decided, done in its order: media has stopped when the event that tells of it is sent.
extension EventLoop {
    private static let newsMilliseconds: UInt64 = 100

    func perform(_ news: AudioSessionNews, _ channel: Channel) {
        guard let audio = channel.audio else {
            // Asked behind a `session.init` that was refused: the answer is due all the same.
            if let id = news.requestID { refuse(channel, id, .sessionLost) }
            performWaiting(channel)
            return
        }
        audio.snapshot = news.snapshot ?? audio.snapshot
        for effect in news.effects { perform(effect, channel, audio, news) }
        if audio.interruptionsUnderWay == 0, audio.snapshot?.interruption?.isOwn != true { audio.interruptedAt = nil }
        updateUplink(channel, audio)
        showPurpose(channel, audio)
        if audio.asksUnderWay == 0, !channel.waitingRequests.isEmpty, !channel.isJoining { performWaiting(channel) }
    }

    /// The room sees what the session is for since it has begun, and when that changes.
    private func showPurpose(_ channel: Channel, _ audio: AudioStanding) {
        guard let snapshot = audio.snapshot, snapshot.state != .uninitialised else { return }
        let purpose = SessionPurpose(category: snapshot.category, mode: snapshot.mode)
        guard purpose != audio.presentation.purpose else { return }
        audio.presentation.purpose = purpose
        followMode(channel)
        present(channel, audio)
    }

    private func perform(_ effect: SessionEffect, _ channel: Channel, _ audio: AudioStanding, _ news: AudioSessionNews) {
        switch effect {
        case .answer(let snapshot, let warnings):
            noteAnswer(audio, news)
            guard let id = news.requestID else { return }
            var answer = RelayMessage.Answer()
            answer.session = sessionState(audio, snapshot)
            let all = news.warnings + warnings.map(\.rawValue)
            answer.warnings = all.isEmpty ? nil : all
            send(channel, .ok(id: id, answer))
        case .refuse(let refusal):
            noteAnswer(audio, news)
            if refusal == .tooManySessions { channel.audio = nil }
            if let id = news.requestID { refuse(channel, id, Refusal(refusal)) }
        case .stopMedia(let cause): stopMedia(channel, audio, cause)
        case .startMedia: startMedia(channel, audio)
        case .pausePlayback:
            audio.isPlaybackPaused = true
            updateDownlink(channel, audio)
        case .continuePlayback:
            audio.isPlaybackPaused = false
            updateDownlink(channel, audio)
        case .applyRights(let category): applyRights(channel, category)
        case .event(let event): tell(channel, audio, event)
        case .showInterrupted(let reason):
            if let reason { counters.interruptions[reason.rawValue, default: 0] &+= 1 }
            audio.presentation.interrupted = reason
            present(channel, audio)
        case .showHeld(let isHeld):
            if isHeld != audio.presentation.isHeld { counters.sessionsHeld += isHeld ? 1 : -1 }
            audio.presentation.isHeld = isHeld
            present(channel, audio)
        }
    }

    private func noteAnswer(_ audio: AudioStanding, _ news: AudioSessionNews) {
        // An answer may be to what was asked of a session before this one, which was refused.
        if case .interruptionBegan? = news.asked { audio.interruptionsUnderWay = max(0, audio.interruptionsUnderWay - 1) }
        if news.requestID != nil { audio.asksUnderWay = max(0, audio.asksUnderWay - 1) }
    }

    private func tell(_ channel: Channel, _ audio: AudioStanding, _ event: SessionEvent) {
        guard case .changed(let snapshot, let cause) = event else {
            switch event {
            case .duckBegan(let gain, let ramp), .duckEnded(let gain, let ramp):
                duck(channel, audio, decibels: Double(gain), rampMilliseconds: Double(ramp))
            default: break
            }
            send(channel, RelayMessage(event))
            return
        }
        send(channel, .sessionChanged(.init(session: sessionState(audio, snapshot), cause: cause.rawValue)))
    }

    /// The session as its client is told of it, with what its output takes.
    func sessionState(_ audio: AudioStanding, _ snapshot: SessionSnapshot) -> RelayMessage.SessionState {
        var state = RelayMessage.SessionState(snapshot)
        if audio.route.route != nil {
            state.format = audio.route.receiveFormat.map { .init($0, latency: audio.route.route?.outputLatency) }
        }
        return state
    }

    // MARK: What the room sees

    /// Tells the room, or lets it wait: whoever changes faster than people can follow is told of now and then, as it is then.
    func present(_ channel: Channel, _ audio: AudioStanding) {
        guard !audio.owesNews else { return }
        guard audio.news.take(byteCount: audio.presentation.members.count, now: now) else {
            audio.owesNews = true
            owingNews.append(channel.handle)
            armNews()
            return
        }
        post(channel, audio.presentation)
    }

    func armNews() {
        guard newsTimer == nil else { return }
        newsTimer = timers.schedule(at: now.advanced(byMilliseconds: EventLoop.newsMilliseconds), TimerEvent(payload: 0, kind: TimerKind.news))
    }

    /// Those whose rooms wait for news of them.
    func tellNews() {
        newsTimer = nil
        owingNews.removeAll { handle in
            guard let channel = channels[handle], let audio = channel.audio, audio.owesNews else { return true }
            guard audio.news.take(byteCount: audio.presentation.members.count, now: now) else { return false }
            audio.owesNews = false
            post(channel, audio.presentation)
            return true
        }
        if !owingNews.isEmpty { armNews() }
    }

    private func post(_ channel: Channel, _ presentation: MemberPresentation) {
        switch channel.state {
        case .inRoom(let membership): post(.present(membership.room.number, membership.participant, presentation), to: membership.home)
        case .waiting(let place, _): post(.present(place.room, place.participant, presentation), to: place.home)
        case .awaitingHello, .ready, .joining: break
        }
    }

    /// At the room's home: tells everybody else what has changed. Of an interruption they hear before that its participant is held, and at its end last that it is not.
    func presentAtHome(_ number: RoomNumber, _ participant: ParticipantID, _ presentation: MemberPresentation) {
        var before = MemberPresentation()
        let changed = home.changeProfile(number, participant) { profile in
            before = profile.presentation
            profile.presentation = presentation
        }
        guard let room = changed?.room, changed?.isWaiting == false else { return }
        var news: [RelayMessage] = []
        if presentation.interrupted != before.interrupted {
            let reason = presentation.interrupted?.rawValue
            news.append(
                .participantInterrupted(.init(participant: participant.value, interrupted: reason != nil, reason: reason)))
        }
        if presentation.isHeld != before.isHeld {
            news.append(.participantHeld(.init(participant: participant.value, held: presentation.isHeld)))
        }
        if presentation.route != before.route, let route = presentation.route.map({ AudioRoute($0) }) {
            news.append(.participantRoute(.init(participant: participant.value, inputs: route.inputs, outputs: route.outputs)))
        }
        if presentation.purpose != before.purpose, let purpose = presentation.purpose {
            news.append(
                .participantMode(.init(participant: participant.value, category: purpose.category.rawValue, mode: purpose.mode.rawValue)))
        }
        for message in news.map(\.encoded) {
            for loop in audience(of: room) {
                post(.memberPresented(number, participant, isHeld: presentation.isHeld, message: message), to: loop)
            }
        }
        if presentation.isHeld != before.isHeld { lookAtSpeakers(number) }
    }

    /// At the loops with members: late joiners are shown no pictures of somebody who is held.
    func memberPresented(_ number: RoomNumber, _ participant: ParticipantID, isHeld: Bool, _ message: [UInt8]) {
        guard let room = room(number) else { return }
        if isHeld {
            for slot in room.fanout.openSlots where room.routes[slot.index].entry.publisher == participant { room.fanout.forgetPictures(slot) }
            resetSpeech(room, of: participant)
        }
        tell(number, message, except: participant)
    }
}
