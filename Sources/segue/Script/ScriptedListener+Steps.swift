import Reactor
import RelayBase
import RelayClient
import Signalling

/// What the script's steps do, and what becomes of the session.
extension ScriptedListener {
    /// Does what is due.
    func goOn() throws {
        while let action = run?.turn(now: MonotonicClock.now(), facts) {
            switch action {
            case .perform(let step): try perform(step)
            case .finished(let step, let nanoseconds, let failure):
                stepsDone += 1
                var line = line(.step)
                line.step = step.path
                line.do = step.word
                line.milliseconds = Double(nanoseconds) / 1e6
                line.failure = failure
                line.answer = stepAnswer
                stepAnswer = nil
                tell(line)
            }
        }
    }

    private var facts: ScriptFacts {
        ScriptFacts(
            session: keeper.state?.state, frames: watch.frames, unexpectedFrames: watch.unexpectedFrames, starts: watch.starts, awaited: watch.awaited
        )
    }

    private func perform(_ step: ScriptStep) throws {
        switch step.action {
        case .request(let request, _): ask(request)
        case .publish(let hertz, _):
            self.hertz = hertz
            let id = resumable.session.send(.publish(ToneSource.announcement))
            publishID = id
            stepID = id
        case .microphone(let what):
            microphone = what
            run?.answered(nil)
        case .disconnect:
            if resumable.disconnect() {
                lost("dropped by the script")
                run?.answered(nil)
            } else {
                run?.failed("there is no connection, or the session cannot be resumed")
            }
        // Done when the session is back.
        case .reconnect:
            guard resumable.isLost else {
                run?.failed("the connection is not lost")
                return
            }
            resumable.reconnect()
        case .renew:
            do throws(ClientFault) {
                try resumable.renew()
            } catch {
                run?.failed("\(error)")
            }
        case .wait, .expect, .stay: break
        }
    }

    private func ask(_ request: ScriptRequest) {
        var asked: ClientRequest
        switch request.stream {
        case nil: asked = request.request
        case .number(let id): asked = request.about(id)
        case .newest(let kind):
            guard let id = watch.newest(kind) else {
                run?.failed("nobody publishes \(kind.rawValue)")
                return
            }
            asked = request.about(id)
        }
        if asked.mayOpen { watch.open() }
        if case .subscribe(var body) = asked, body.delivery == nil {
            // Some streams of a room are no mix.
            if body.all == true || playing.delivery.delivery != .mixed { playing.delivery.apply(to: &body) }
            asked = .subscribe(body)
        }
        if case .routeChanged(let body) = asked { changedRoute = body }
        reopened = nil
        if case .streamStart(let body) = asked, watch.isStopped(body.stream) {
            reopened = body.stream
            watch.setStopped(body.stream, false)
        }
        let id = resumable.session.send(asked)
        stepID = id
        keeper.sent(id, asked)
    }

    func stepAnswered(_ answer: RelayMessage.Answer) {
        stepID = nil
        stepAnswer = .init(answer)
        if let mix = answer.mix { mixed(mix) }
        if let body = changedRoute.take() { applyRoute(body) }
        if let playback = answer.playback { watch.setStopped(playback.stream, playback.state == .paused || playback.state == .stopped) }
        run?.answered(nil)
    }

    /// The session goes on over another connection: the step that brought that about is done.
    func cameBack() {
        guard stepID == nil else { return }
        run?.answered(nil)
    }

    /// What the keeper of the session wants.
    func perform(_ outcome: SessionKeeper.Outcome) {
        switch outcome {
        case .nothing: break
        case .send(let request):
            if request.mayOpen { watch.open() }
            keeper.sent(resumable.session.send(request), request)
        case .recreated(let state):
            var line = line(.recreated)
            line.session = state
            tell(line)
            run?.happened("recreated")
            follow()
        case .failed(let refusal): warn("the audio session could not be made anew: \(refusal.message) (\(refusal.code))")
        }
    }

    /// Media is to come exactly while the session lets it.
    func follow() {
        guard !resumable.isLost else { return }
        if keeper.state.map({ $0.state == .active && $0.paused != true }) ?? true {
            watch.flow()
        } else if hold() {
            restartBuffers("held")
        }
        playing.follow(mode: keeper.state?.mode, now: driver.loop.now)
    }

    /// - Returns: whether media was to come until now.
    @discardableResult
    func hold() -> Bool {
        guard let since = watch.hold(now: MonotonicClock.now()) else { return false }
        var line = line(.mediaStopped)
        line.sinceLastFrameMilliseconds = Double(since) / 1e6
        tell(line)
        run?.happened(line.event)
        return true
    }
}

extension ClientRequest {
    /// Whether media may begin to flow before the answer to it.
    fileprivate var mayOpen: Bool {
        switch self {
        case .setActive(let body): body.active
        case .interruptionEnded(let body): body.shouldResume ?? false
        case .playbackContinue, .routeChanged, .setCategory: true
        default: false
        }
    }
}
