import MediaProtocol
import RelayBase
import RelayClient
import Signalling

/// What the scenario has happen.
extension LoadLoop {
    /// The window has begun: times of events are counted from there.
    func planEvents() {
        hasPlannedEvents = true
        for (place, event) in scenario.events.enumerated() {
            let own = clients.count { $0.seat.group == event.group }
            paces.append(EventPace(event.timing, own: own, all: scenario.groups[event.group].count))
            plan(event: place)
        }
    }

    private func plan(event: Int) {
        guard let time = paces[event].next() else { return }
        let due = window.lowerBound.addingReportingOverflow(time)
        if !due.overflow { tasks.add(.happen(event: event), due: due.partialValue) }
    }

    func happen(_ place: Int) {
        guard now < control.stopsAt else { return }
        let event = scenario.events[place]
        switch event.timing {
        case .at(_, let share):
            // The first of the group, so that all processes together take as many as are meant.
            let last = (share * Double(scenario.groups[event.group].count)).rounded()
            for client in clients where client.seat.group == event.group && Double(client.seat.member) < last { happen(event.action, client) }
        case .steadily:
            let able = clients.filter {
                $0.seat.group == event.group && $0.state == .present && $0.absence?.isOver(at: now) != false && !$0.isInterrupted
            }
            if let client = able.randomElement(using: &generator) { happen(event.action, client) }
            plan(event: place)
        }
    }

    private func happen(_ action: LoadEvent.Action, _ client: LoadClient) {
        guard client.state == .present, !client.isInterrupted, let session = client.session, !session.hasEnded else { return }
        switch action {
        case .replace: replace(client, session)
        case .cut(let seconds): cut(client, session, UInt64(seconds * 1e9))
        case .stopReading(let seconds):
            note("times that somebody stopped reading")
            client.absence = .init(reason: .notReading, time: now..<UInt64.max)
            loop.stopReading(session)
            tasks.add(.readAgain(client.place, client.generation), due: now + UInt64(seconds * 1e9))
        case .interrupt(let seconds):
            note("interruptions")
            client.isInterrupted = true
            client.pending.append((session.send(.interruptionBegan(.init())), .other))
            tasks.add(.endInterruption(client.place, client.generation), due: now + UInt64(seconds * 1e9))
        case .changeRoute: changeRoute(client, session)
        }
    }

    func note(_ event: String) { tally.events[event, default: 0] += 1 }

    private func replace(_ client: LoadClient, _ session: ClientSession) {
        note("clients replaced")
        endStreams(client)
        client.state = .closing
        client.isReplaced = true
        client.hearsSince = .max
        switch client.line {
        case .plain(let session)?: session.close()
        case .resumable(let session)?: session.close()
        case nil: break
        }
    }

    private func cut(_ client: LoadClient, _ session: ClientSession, _ away: UInt64) {
        switch client.line {
        case .plain?:
            // Nobody learns of the end of its streams but by the relay.
            for (stream, total) in client.outgoing {
                var total = total
                total.total = stream.number
                tally.published[StreamKey(room: client.seat.room, stream: stream.stream.rawValue)] = total
            }
            recordJitter(client)
            client.forgetSession()
            loop.abandon(session)
            tasks.add(.open(client.place), due: now + away)
        case .resumable(let resumable)?:
            guard resumable.disconnect() else { return }
            client.hasHeard = false
            client.absence = .init(reason: .away, time: now..<UInt64.max)
            tasks.add(.comeBack(client.place, client.generation), due: now + away)
        case nil: return
        }
        note("connections cut")
        client.state = .away
        client.lostAt = now
    }

    func comeBack(_ place: Int) {
        guard case .resumable(let resumable)? = clients[place].line else { return }
        resumable.reconnect()
        turnResumable(place)
    }

    func readAgain(_ client: LoadClient) {
        client.absence?.endsSoon(after: now)
        if let session = client.session { loop.readAgain(session) }
    }

    func endInterruption(_ client: LoadClient) {
        guard client.isInterrupted, let session = client.session else { return }
        client.pending.append((session.send(.interruptionEnded(.init(shouldResume: true))), .endOfInterruption))
    }

    /// In turns: a headset that is there, and one that is gone. With the latter the relay stops what is played until the client says otherwise, as its user does.
    private func changeRoute(_ client: LoadClient, _ session: ClientSession) {
        note("changes of route")
        client.hasHeadset.toggle()
        let microphone = AudioPort(type: client.hasHeadset ? "headsetMic" : "builtInMic")
        var output = AudioPort(type: client.hasHeadset ? "headphones" : "builtInSpeaker")
        output.sampleRate = 48_000
        output.channels = 2
        let reason = client.hasHeadset ? 1 : 2
        client.pending.append(
            (session.send(.routeChanged(.init(reason: reason, route: AudioRoute(inputs: [microphone], outputs: [output])))), .other))
        if !client.hasHeadset { client.pending.append((session.send(.playbackContinue), .continuation)) }
    }
}

extension LoadClient.Absence {
    func isOver(at now: UInt64) -> Bool { time.upperBound <= now }
}
