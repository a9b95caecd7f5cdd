import MediaProtocol
import Reactor
import RelayBase
import RelayClient
import RelayServer
import Signalling

/// One client that plays a script against a live relay: `segue listen --script`. It tells what happened when.
final class ScriptedListener {
    let room: String
    let script: ListenScript
    let asJSON: Bool
    private let connect: ClientConnect
    let driver: ClientDriver
    let resumable: ResumableSession
    var keeper = SessionKeeper()
    var watch = MediaWatch()
    let playing: ScriptedPlaying
    /// `nil` until the client is in the room and the script begins.
    var run: ScriptRun?
    var startedAt: MonotonicInstant
    var participant: UInt32?
    private var names: [UInt32: String] = [:]
    private var joinID: UInt64?
    private var subscribeID: UInt64?
    /// The request of the step that is under way.
    var stepID: UInt64?
    /// What it came to, to be told with the step.
    var stepAnswer: ScriptLine.Answered?
    /// The stream that it may let flow again, stopped until then.
    var reopened: UInt32?
    /// The route that is being told.
    var changedRoute: ClientRequest.RouteChanged?
    var publishID: UInt64?
    /// Of the tone that is published.
    var hertz = ToneSource.hertz
    var tone: ToneSource?
    var microphone = ScriptStep.Microphone.whileActive
    private var extensions = ExtensionWriter()
    private var extensionBytes = ByteQueue()
    var stepsDone = 0
    private var wasOpen = false
    var failure: CommandFailure?

    init(
        room: String, _ script: ListenScript, _ connect: ClientConnect, _ delivery: ListenDelivery, play path: String?, resumes: Bool, asJSON: Bool
    ) throws {
        self.room = room
        self.script = script
        self.connect = connect
        self.asJSON = asJSON
        driver = try ClientDriver()
        startedAt = MonotonicClock.now()
        playing = try ScriptedPlaying(delivery, path: path, now: startedAt)
        var options = connect.template
        options.device = script.device
        do {
            resumable = try ResumableSession(driver.loop, options, connect.context, isEnabled: resumes)
        } catch {
            throw error.failure(wasOpen: false)
        }
    }

    /// Plays the script to its end, or to the first step that fails.
    func play() throws -> ExitCode {
        while failure == nil, !driver.isInterrupted, !(run?.isOver ?? false) {
            let due = min(resumable.nextDeadline, run?.nextDeadline ?? .distantFuture, tone?.due ?? .distantFuture)
            try driver.turn(until: due, take)
            let now = MonotonicClock.now()
            if let event = resumable.turn(now: now) { handle(event) }
            sendTone(now)
            try goOn()
        }
        tellSummary()
        resumable.close()
        let closedBy = MonotonicClock.now().advanced(byMilliseconds: 5_000)
        while !resumable.hasEnded, MonotonicClock.now() < closedBy { try driver.turn(until: closedBy) { _, _ in } }
        if let failure {
            Console.error("segue listen: \(failure.message)")
            return failure.code
        }
        if let failed = run?.failure {
            Console.error("segue listen: \(failed.step.path) (\(failed.step.word)): \(Console.plain(failed.sentence))")
            return .failure
        }
        return .ok
    }

    // MARK: Events

    private func take(_ session: ClientSession, _ event: ClientEvent) {
        if let event = resumable.take(session, event) { handle(event) }
        while let event = resumable.next() { handle(event) }
    }

    private func handle(_ event: ResumableSession.Event) {
        switch event {
        case .session(let event): handle(event)
        case .lost(let fault): lost("\(fault)")
        case .resumed(let state): resumed(state)
        }
    }

    private func handle(_ event: ClientEvent) {
        switch event {
        case .opened: wasOpen = true
        case .welcome: joinID = resumable.session.send(connect.join(room))
        case .answer(let id, let answer): answered(id, answer)
        case .refused(let id, let refusal): refused(id, refusal)
        case .news(.roomAdmitted(let entry)): entered(entry.participant, entry.participants ?? [], entry.streams)
        case .news(.roomRemoved(let removal)): failure = failure ?? CommandFailure(removal)
        case .news(let news): take(news)
        case .frame: resumable.withFrame { take(frame: $0) }
        case .writable: break
        case .closed(_, let reason): failure = failure ?? ClientConversation.closed(event.closeCode ?? 0, reason)
        case .failed(let fault): failure = failure ?? fault.failure(wasOpen: wasOpen)
        }
    }

    private func answered(_ id: UInt64, _ answer: RelayMessage.Answer) {
        switch id {
        case joinID where answer.state != .waiting: entered(answer.participant, answer.participants ?? [], answer.streams ?? [])
        case joinID: warn("waiting in the lobby of \(room) until a host lets this client in")
        case subscribeID:
            if let mix = answer.mix { mixed(mix) }
            begin()
        default: break
        }
        if id == publishID, let stream = answer.stream { startTone(stream) }
        perform(keeper.answered(id, answer))
        if id == stepID { stepAnswered(answer) }
        follow()
    }

    private func refused(_ id: UInt64?, _ refusal: Refusal) {
        guard let id, id != joinID, id != subscribeID else {
            let request = joinID == nil ? "hello" : id == joinID ? "join" : "subscribe"
            failure = failure ?? ClientConversation.refused(request, refusal)
            return
        }
        perform(keeper.refused(id, refusal))
        if id == stepID {
            stepID = nil
            changedRoute = nil
            if let stream = reopened { watch.setStopped(stream, true) }
            stepAnswer = .init(refusal)
            run?.answered(refusal.code)
        }
        follow()
    }

    private func entered(_ number: UInt32?, _ participants: [RelayMessage.Participant], _ streams: [RelayMessage.StreamInfo]) {
        participant = number
        for person in participants { names[person.participant] = RoomTalk.name(of: person) }
        for info in streams { published(info) }
        if script.subscribesItself {
            begin()
        } else {
            var request = ClientRequest.Subscribe(streams: nil, all: true, delivery: nil)
            playing.delivery.apply(to: &request)
            subscribeID = resumable.session.send(.subscribe(request))
        }
    }

    private func begin() {
        guard run == nil else { return }
        startedAt = MonotonicClock.now()
        run = ScriptRun(script, start: startedAt)
        var line = line(.began)
        line.monotonicMilliseconds = Double(startedAt.nanoseconds) / 1e6
        line.unixMilliseconds = Double(WallClock.now())
        line.room = room
        line.participant = participant
        tell(line)
    }

    private func take(_ news: RelayMessage) {
        switch news {
        case .participantJoined(let person): names[person.participant] = RoomTalk.name(of: person)
        case .streamPublished(let info): published(info)
        case .streamEnded(let stream):
            watch.remove(stream)
            playing.remove(stream, now: driver.loop.now)
            if tone?.stream.rawValue == stream { tone = nil }
        case .streamStopped(let stopped):
            watch.setStopped(stopped.stream, true)
            if tone?.stream.rawValue == stopped.stream { tone = nil }
        case .streamState(let playback): watch.setStopped(playback.stream, playback.state == .paused || playback.state == .stopped)
        default: break
        }
        let outcome = keeper.take(news)
        follow()
        var line = line(.relay)
        line.message = news
        tell(line)
        if let (type, members) = news.members { run?.happened(type, members) }
        perform(outcome)
    }

    private func take(frame: RawSpan) {
        guard let header = try? MediaHeader(parsing: frame) else { return }
        let captured = (try? MediaExtensions(frame: frame, flags: header.flags))?.captureTime
        let age = captured.flatMap { $0.milliseconds(untilUnixMilliseconds: WallClock.now()) }
        switch watch.take(header, age: age, now: driver.loop.now) {
        case .nothing: playing.take(header.stream.rawValue, frame, now: driver.loop.now)
        case .start(let start):
            playing.take(header.stream.rawValue, frame, now: driver.loop.now)
            var line = line(.mediaStarted)
            line.media = start
            tell(line)
            run?.happened(line.event, ["stream": .number(Double(start.stream)), "kind": .string(start.kind)])
        case .unexpected(let isFirst): if isFirst { tell(line(.mediaUnexpected)) }
        }
    }

    // MARK: The connection

    func lost(_ reason: String) {
        hold()
        var line = line(.lost)
        line.reason = reason
        tell(line)
        run?.happened("lost")
    }

    private func resumed(_ state: RelayMessage.ResumedSession) {
        for person in state.room?.participants ?? [] { names[person.participant] = RoomTalk.name(of: person) }
        for info in state.room?.streams ?? [] { published(info) }
        if let mix = state.mix { mixed(mix) }
        let outcome = keeper.resumed(state.session)
        var line = line(.resumed)
        line.session = state.session
        tell(line)
        run?.happened("resumed")
        watch.open()
        follow()
        perform(outcome)
        cameBack()
        if participant == nil, state.waiting == nil { joinID = resumable.session.send(connect.join(room)) }
    }

    // MARK: The tone

    private func startTone(_ stream: UInt32) {
        tone = ToneSource(stream: stream, hertz: hertz, now: MonotonicClock.now())
        let header = MediaHeader(kind: .configuration, stream: StreamID(stream), sequence: 0, timestamp: 0)
        resumable.session.sendFrame(header, payload: unsafe [UInt8]().span.bytes)
    }

    private var isMicrophoneSilent: Bool {
        switch microphone {
        case .always: false
        case .never: true
        case .whileActive: !(keeper.state.map { $0.state == .active } ?? true)
        }
    }

    private func sendTone(_ now: MonotonicInstant) {
        guard var tone else { return }
        let session = resumable.session
        if let header = tone.next(now: now, isSilent: isMicrophoneSilent || resumable.isLost || !session.canSend) {
            let unixMilliseconds = WallClock.now()
            extensions.removeAll()
            try? extensions.append(
                captureTime: NTPTime(unixSeconds: unixMilliseconds / 1_000, nanoseconds: UInt32(unixMilliseconds % 1_000) * 1_000_000))
            extensionBytes.removeAll()
            extensions.write(to: &extensionBytes)
            session.sendFrame(header, extensions: extensionBytes.span, payload: unsafe tone.payload.span.bytes)
        }
        self.tone = tone
    }

    // MARK: Telling

    func line(_ kind: ScriptLine.Kind) -> ScriptLine {
        ScriptLine(kind, at: run == nil ? 0 : Double(MonotonicClock.now().nanoseconds(since: startedAt)) / 1e9)
    }

    func warn(_ sentence: String) {
        var line = line(.warning)
        line.reason = sentence
        tell(line)
    }

    func tell(_ line: ScriptLine) {
        if asJSON {
            Console.json(line)
        } else {
            Console.out(Console.plain(line.sentence { number in names[number].map { "\($0) (\(number))" } ?? "\(number)" }))
        }
    }

    private func tellSummary() {
        var line = line(.summary)
        line.steps = stepsDone
        line.frames = watch.frames
        line.configurations = watch.configurations
        line.unexpectedFrames = watch.unexpectedFrames
        if let heard = playing.finish(now: MonotonicClock.now()) {
            line.playback = heard.summary
            line.played = heard.played
        }
        tell(line)
    }
}
