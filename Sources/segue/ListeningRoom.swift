import FoundationEssentials
import MediaProtocol
import Reactor
import RelayBase
import RelayClient
import RelayRooms
import Signalling

/// Several sessions in one room, with an account of every stream that each of them gets.
final class ListeningRoom {
    let plan: ListenPlan
    let connect: ClientConnect
    let driver: ClientDriver
    /// As whom the relay knows the clients: they share one certificate.
    private var ownName = ""
    private var sessions: [ResumableSession] = []
    private var lost = 0
    var clients: [Client]
    var recording: (recording: RecordingThread, thread: LoopThread)?
    var recordingsMade = 0
    var playback: (playback: PlaybackThread, thread: LoopThread)?
    var voicesMade = 0
    private var failure: CommandFailure?
    private var isClosing = false
    /// A host has ended the room.
    private var isOver = false
    var lastFrame = MonotonicInstant.zero
    private var progress: ProgressLine
    let startedAt = MonotonicClock.now()

    /// The last frames of a stream may come behind the news of its end.
    private static let quietMilliseconds: UInt64 = 1_000
    private static let closingMilliseconds: UInt64 = 5_000

    init(_ plan: ListenPlan, _ connect: ClientConnect) throws {
        self.plan = plan
        self.connect = connect
        driver = try ClientDriver()
        clients = Array(repeating: Client(), count: plan.clients)
        progress = ProgressLine(isWanted: !plan.asJSON)
        if let folder = plan.folder {
            for client in 0..<plan.clients { try Self.makeFolder(Self.folder(folder, client, of: plan.clients)) }
            recording = try RecordingThread.start()
        }
        if let playing = plan.playback { playback = try PlaybackThread.start(playing, now: startedAt) }
    }

    /// Listens until something ends it. The failure, when there is one, comes with what was received until then.
    func run() throws -> (ListenSummary, CommandFailure?) {
        for tag in 0..<plan.clients {
            var options = connect.template
            options.tag = tag
            options.timeExchangeMilliseconds = ClientConversation.timeExchangeMilliseconds
            do {
                sessions.append(try ResumableSession(driver.loop, options, connect.context, isEnabled: plan.resumes))
            } catch {
                throw error.failure(wasOpen: false)
            }
        }
        let endsAt = plan.seconds.map { startedAt.advanced(byNanoseconds: UInt64($0 * 1e9)) } ?? .distantFuture
        var progressDue = MonotonicInstant.zero
        var reportsDue = startedAt.advanced(byMilliseconds: ReceiverReporting.milliseconds)
        while !driver.isInterrupted, failure == nil, !isOver, MonotonicClock.now() < endsAt, !everythingHasEnded {
            let now = MonotonicClock.now()
            if now >= progressDue {
                progressDue = now.advanced(byMilliseconds: 500)
                showProgress()
            }
            if now >= reportsDue {
                reportsDue = now.advanced(byMilliseconds: ReceiverReporting.milliseconds)
                report()
            }
            // Looked at a few times a second: quiet has no event of its own.
            let due = lost > 0 ? sessions.map(\.nextDeadline).min() ?? .distantFuture : .distantFuture
            try driver.turn(until: min(endsAt, now.advanced(byMilliseconds: 250), due), take)
            if lost > 0 { comeBack() }
        }
        progress.clear()
        try close()
        return (summary(), failure)
    }

    private var everythingHasEnded: Bool {
        guard plan.endsWithStreams, MonotonicClock.now().milliseconds(since: lastFrame) >= Self.quietMilliseconds else { return false }
        return clients.allSatisfy { client in
            let published = client.streams.filter { !$0.isMix }
            return !published.isEmpty && published.allSatisfy(\.hasEnded)
        }
    }

    private func close() throws {
        isClosing = true
        for session in sessions { session.close() }
        let deadline = MonotonicClock.now().advanced(byMilliseconds: Self.closingMilliseconds)
        while clients.contains(where: { !$0.hasEnded }), MonotonicClock.now() < deadline {
            // A session that was not open yet is gone without an event.
            for (tag, session) in sessions.enumerated() where session.hasEnded { clients[tag].hasEnded = true }
            try driver.turn(until: min(deadline, MonotonicClock.now().advanced(byMilliseconds: 100)), take)
        }
        recording?.recording.stop()
        playback?.playback.stop(now: MonotonicClock.now())
        recording?.thread.join()
        playback?.thread.join()
    }

    // MARK: Events

    private func take(_ session: ClientSession, _ event: ClientEvent) {
        let tag = session.tag
        if let event = sessions[tag].take(session, event) { handle(tag, event) }
        while let event = sessions[tag].next() { handle(tag, event) }
    }

    private func comeBack() {
        let now = MonotonicClock.now()
        for (tag, session) in sessions.enumerated() where session.isLost {
            if let event = session.turn(now: now) { handle(tag, event) }
        }
    }

    private func handle(_ tag: Int, _ event: ResumableSession.Event) {
        switch event {
        case .session(let event):
            if event.isLast, sessions[tag].hasEnded, clients[tag].isLost { lost -= 1 }
            handle(sessions[tag].session, event)
        case .lost(let fault):
            lost += 1
            clients[tag].isLost = true
            if tag == 0 { tell("lost", "\(fault): trying to come back", ["reason": "\(fault)"]) }
        case .resumed(let state):
            if clients[tag].isLost { lost -= 1 }
            clients[tag].isLost = false
            if tag == 0 { tell("resumed", "back in room \(plan.room)", [:]) }
            resumed(state, tag)
        }
    }

    /// Whatever happened in the room meanwhile, as far as the relay still tells.
    private func resumed(_ state: RelayMessage.ResumedSession, _ tag: Int) {
        let session = sessions[tag].session
        guard let room = state.room else {
            // Not in it yet: the request to join, or its answer, was lost. Or not in it any more.
            if clients[tag].hasEntered {
                failure = failure ?? CommandFailure(code: .relay, message: "out of the room meanwhile: the relay does not say why")
            } else if state.waiting == nil {
                join(session)
            }
            return
        }
        for participant in room.participants ?? [] { clients[tag].names[participant.participant] = Self.name(of: participant) }
        tellAudio(of: room.participants, tag)
        speaking(room.speakers ?? [], tag)
        if let mix = state.mix { mixed(mix, tag) }
        for place in clients[tag].streams.indices where !clients[tag].streams[place].hasEnded && !clients[tag].streams[place].isMix {
            guard !room.streams.contains(where: { $0.stream == clients[tag].streams[place].info.stream }) else { continue }
            ended(place, tag)
        }
        for info in room.streams where info.participant != room.participant {
            let isKnown = clients[tag].streams.contains { $0.info.stream == info.stream && !$0.hasEnded }
            if !isKnown { published(info, tag) }
        }
        clients[tag].hasEntered = true
        clients[tag].isWaiting = false
        if !clients[tag].isSubscribed { clients[tag].subscribeID = session.send(.subscribe(plan.subscription)) }
    }

    private func handle(_ session: ClientSession, _ event: ClientEvent) {
        let tag = session.tag
        switch event {
        case .opened: clients[tag].wasOpen = true
        case .welcome(let welcome):
            ownName = welcome.identity?.name ?? ownName
            join(session)
        case .answer(let id, let answer): answered(session, id, answer)
        case .refused(let id, _) where id != nil && id == clients[tag].reportID: clients[tag].reports = false
        // Asked together with the join, which leads into the lobby first: it is asked again when that is left.
        case .refused(let id, _) where id != nil && id == clients[tag].subscribeID && clients[tag].isWaiting: break
        case .refused(let id, let refusal):
            let request = clients[tag].joinID == nil ? "hello" : id == clients[tag].joinID ? "join" : "subscribe"
            failure = failure ?? ClientConversation.refused(request, refusal)
        case .news(.roomAdmitted(let entry)):
            clients[tag].isWaiting = false
            entered(session, entry.participant, entry.participants, entry.streams)
            speaking(entry.speakers, tag)
            clients[tag].subscribeID = session.send(.subscribe(plan.subscription))
        case .news(let news): take(news, tag)
        case .frame: sessions[tag].withFrame { take(frame: $0, tag) }
        case .writable: break
        case .closed(_, let reason):
            clients[tag].hasEnded = true
            if !isClosing { failure = failure ?? ClientConversation.closed(event.closeCode ?? 0, reason) }
        case .failed(let fault):
            clients[tag].hasEnded = true
            if !isClosing { failure = failure ?? fault.failure(wasOpen: clients[tag].wasOpen) }
        }
    }

    private func answered(_ session: ClientSession, _ id: UInt64, _ answer: RelayMessage.Answer) {
        let tag = session.tag
        if id == clients[tag].joinID {
            guard answer.state != .waiting else {
                clients[tag].isWaiting = true
                if tag == 0 { tell("waiting", "waiting in the lobby of \(plan.room) until a host lets this client in", [:]) }
                return
            }
            entered(session, answer.participant, answer.participants, answer.streams)
            speaking(answer.speakers, tag)
        } else if id == clients[tag].subscribeID {
            clients[tag].isSubscribed = true
            if let mix = answer.mix { mixed(mix, tag) }
            if clients.allSatisfy(\.isSubscribed) {
                tell("listening", "listening in room \(plan.room) as \(Self.short(ownName))\(plan.clients > 1 ? ", \(plan.clients) times" : "")", [:])
            }
        }
    }

    private func entered(
        _ session: ClientSession, _ number: UInt32?, _ participants: [RelayMessage.Participant]?, _ streams: [RelayMessage.StreamInfo]?
    ) {
        let tag = session.tag
        clients[tag].hasEntered = true
        for participant in participants ?? [] { clients[tag].names[participant.participant] = Self.name(of: participant) }
        for info in streams ?? [] where info.participant != number { published(info, tag) }
        tellAudio(of: participants, tag)
    }

    /// Out of the room. When a host ends it, what there was to hear has been heard; anything else is a failure.
    private func removed(_ removal: RelayMessage.RoomRemoval, _ tag: Int) {
        if tag == 0 { tell("removed", removal.sentence, ["reason": removal.reason.rawValue]) }
        if removal.reason == .ended { isOver = true } else { failure = failure ?? CommandFailure(removal) }
    }

    private func take(_ news: RelayMessage, _ tag: Int) {
        switch news {
        case .participantJoined(let participant):
            let name = Self.name(of: participant)
            clients[tag].names[participant.participant] = name
            guard tag == 0 else { return }
            let said = participant.displayName.map { $0.isEmpty ? "" : ", who goes by '\($0)'," } ?? ""
            tell(
                "joined", "\(name)\(said) came",
                [
                    "participant": name, "identity": participant.identity?.name ?? "", "fingerprint": participant.identity?.fingerprint ?? "",
                    "displayName": participant.displayName ?? "",
                ])
        case .participantLeft(let number, let reason):
            let name = clients[tag].names.removeValue(forKey: number) ?? "\(number)"
            clients[tag].audio.remove(number)
            if tag == 0 { tell("left", "\(name) \(Self.words(for: reason))", ["participant": name, "reason": reason.rawValue]) }
        case .streamPublished(let info): published(info, tag)
        case .streamEnded(let id):
            guard let place = clients[tag].streams.firstIndex(where: { $0.info.stream == id && !$0.hasEnded }) else { return }
            ended(place, tag)
            if tag == 0 { tell("ended", "stream \(id) ended", ["stream": "\(id)"]) }
        case .goAwayCancelled: if tag == 0 { tell("goaway_cancelled", "the relay stays after all", [:]) }
        case .goAway(_, let reason, _): if tag == 0 { tell("goaway", "the relay goes away: \(reason)", ["reason": reason]) }
        case .participantChanged(let state):
            guard tag == 0 else { return }
            let name = clients[tag].names[state.participant] ?? "\(state.participant)"
            let muted = state.muted.map(\.rawValue).joined(separator: ", ")
            tell(
                "changed", "\(name) is \(state.role.rawValue)\(muted.isEmpty ? "" : ", muted: \(muted)")",
                ["participant": name, "role": state.role.rawValue, "muted": muted])
        case .roomLocked(let lock):
            if tag == 0 { tell("locked", lock.locked ? "the room is locked" : "the room is open", ["locked": "\(lock.locked)"]) }
        case .roomRemoved(let removal): removed(removal, tag)
        case .lobbyWaiting(let participant): waits(participant, tag)
        case .lobbyLeft(let number):
            guard tag == 0 else { return }
            let name = clients[tag].lobby.removeValue(forKey: number) ?? "\(number)"
            tell("lobby-left", "\(name) waits no more", ["participant": name, "number": "\(number)"])
        case .roomAdmitted: break
        case .pairRequested, .pairMade, .pairDeclined, .pairWithdrawn, .pairRevoked: break
        case .congested:
            if tag == 0 { tell("congested", "the connection does not carry what is due: the relay sends less", [:]) }
        case .recovered: if tag == 0 { tell("recovered", "the connection carries it again", [:]) }
        case .streamGap(let gap):
            guard tag == 0 else { return }
            tell("gap", "stream \(gap.stream) lacks \(gap.frames) frames", ["stream": "\(gap.stream)", "frames": "\(gap.frames)"])
        case .streamUnmixed(let news):
            unmixed(news, tag)
        case .speakers(let news): speaking(news.speakers, tag)
        case .layersWanted, .streamReport, .keepAlive, .streamForwarded: break
        case .keyFrameRequested, .welcome, .ok, .error: break
        case .participantInterrupted, .participantHeld, .participantRoute, .participantMode:
            if tag == 0, let word = clients[tag].audio.take(news) { tell(word) }
        // Of its own audio session: this client has none.
        case .sessionChanged, .interruptionBegan, .interruptionEnded, .duckBegan, .duckEnded, .silenceSecondaryAudioBegin, .silenceSecondaryAudioEnd,
            .mediaServicesWereLost, .mediaServicesWereReset, .routeChanged, .streamStopped, .streamState, .formatWanted:
            break
        }
    }

    private func waits(_ participant: RelayMessage.Participant, _ tag: Int) {
        guard tag == 0 else { return }
        let name = Self.name(of: participant)
        clients[tag].lobby[participant.participant] = name
        tell(
            "lobby", "\(name) waits in the lobby; to let it in: segue room admit \(ShellQuote.quote(plan.room)) \(participant.participant)",
            ["participant": name, "number": "\(participant.participant)", "identity": participant.identity?.name ?? ""])
    }

    private func published(_ info: RelayMessage.StreamInfo, _ tag: Int) {
        let name = clients[tag].names[info.participant] ?? "\(info.participant)"
        add(info, of: name, tag)
        if tag == 0 {
            tell(
                "published", "\(name) publishes stream \(info.stream): \(info.kind.rawValue), \(info.codec)",
                ["participant": name, "stream": "\(info.stream)", "kind": info.kind.rawValue, "codec": info.codec])
        }
    }

    private func take(frame: RawSpan, _ tag: Int) {
        guard let header = try? MediaHeader(parsing: frame),
            let place = clients[tag].streams.lastIndex(where: { $0.info.stream == header.stream.rawValue })
        else {
            lastFrame = driver.loop.now
            clients[tag].strayFrames += 1
            return
        }
        // A mix goes on, whoever has ended.
        if !clients[tag].streams[place].isMix { lastFrame = driver.loop.now }
        if header.kind == .configuration {
            clients[tag].streams[place].configurations += 1
        } else {
            if clients[tag].streams[place].layers.take(header.layer.spatial) { clients[tag].streams[place].account.beginAnotherNumbering() }
            clients[tag].streams[place].account.take(sequence: header.sequence, byteCount: frame.byteCount)
            clients[tag].streams[place].reporting.take(header, now: driver.loop.now)
            play(frame, &clients[tag].streams[place])
        }
        guard let key = clients[tag].streams[place].recording, let recording else { return }
        if !recording.recording.save(key: key, frame) { clients[tag].streams[place].unsaved += 1 }
    }

    /// Tells the relay how the streams arrive.
    private func report() {
        takePlayed()
        for session in sessions.map(\.session) where session.isOpen && clients[session.tag].reports {
            let tag = session.tag
            var reports: [ClientRequest.StreamReport] = []
            for place in clients[tag].streams.indices where !clients[tag].streams[place].hasEnded && clients[tag].streams[place].account.frames > 0 {
                let account = clients[tag].streams[place].account
                reports.append(
                    clients[tag].streams[place].reporting.report(
                        clients[tag].streams[place].info.stream, account, clients[tag].streams[place].played, now: driver.loop.now))
            }
            if !reports.isEmpty { clients[tag].reportID = session.send(.report(.init(streams: reports))) }
        }
    }

    // MARK: Telling

    func tell(_ event: String, _ sentence: String, _ fields: [String: String]) {
        progress.clear()
        if plan.asJSON {
            Console.json(fields.merging(["event": event, "room": plan.room]) { field, _ in field })
        } else {
            Console.out(Console.plain(sentence))
        }
    }

    private func showProgress() {
        let frames = clients.reduce(0) { $0 + $1.streams.reduce(0) { $0 + $1.account.frames } }
        let missing = clients.reduce(0) { $0 + $1.streams.reduce(0) { $0 + $1.account.missing } }
        progress.show("\(clients.count { $0.isSubscribed }) listening, \(frames) frames, \(missing) missing")
    }

    private func summary() -> ListenSummary {
        var summary = ListenSummary(room: plan.room, clients: plan.clients)
        summary.elapsedSeconds = Double(MonotonicClock.now().nanoseconds(since: startedAt)) / 1e9
        var saved: [Int: RecordingThread.Result] = [:]
        for result in recording?.recording.takeResults() ?? [] { saved[result.key] = result }
        summary.playback = takePlayed()
        summary.clocks = sessions.map(\.session).compactMap { session in session.clockEstimate.map { ClockSummary(client: session.tag + 1, $0) } }
        for (tag, client) in clients.enumerated() {
            summary.strayFrames += client.strayFrames
            for stream in client.streams {
                let result = stream.recording.flatMap { saved[$0] }
                let account = stream.account
                summary.streams.append(
                    .init(
                        client: tag + 1, participant: stream.participant, stream: stream.info.stream, kind: stream.info.kind.rawValue,
                        codec: stream.info.codec, frames: account.frames, bytes: account.bytes, missingFrames: account.missing, gaps: account.gaps,
                        reorderedFrames: account.reordered, layers: stream.layers.received, layerChanges: stream.layers.changes,
                        configurations: stream.configurations, isInMix: stream.isInMix ? true : nil, hasEnded: stream.hasEnded,
                        unsavedFrames: stream.unsaved, framesPath: result?.framesPath, playablePaths: result?.playablePaths ?? [],
                        problem: result?.problem ?? stream.problem, played: stream.played.map { PlayedSummary($0) }))
            }
        }
        return summary
    }
}
