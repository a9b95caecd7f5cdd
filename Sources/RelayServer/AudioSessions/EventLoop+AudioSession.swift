import AudioSession
import Reactor
import RelayBase
import RelayRooms
import Signalling

/// Audio sessions at the loops of relay sessions: what clients say of theirs is decided on the one loop that audio sessions live on.
extension EventLoop {
    private static let priorityMax = 100

    /// Requests about the session as a whole. Whoever has not said `session.init` has no audio session, and nothing is restricted.
    func audioSession(_ channel: Channel, _ id: UInt64, _ request: ClientRequest) throws(Refusal) {
        if case .sessionInit = request {
            let group = channel.principal.map { "identity \($0.name)" } ?? "session \(channel.sessionID)"
            if channel.audio == nil { channel.audio = AudioStanding(group: group, now: now) }
            ask(channel, .initialise, id)
            return
        }
        guard let audio = channel.audio else { throw .sessionLost }
        switch request {
        case .setCategory(let category): ask(channel, try EventLoop.verb(category), id)
        case .setActive(let activation): ask(channel, try verb(channel, activation), id)
        case .interruptionBegan(let interruption): beginInterruption(channel, audio, id, interruption)
        case .interruptionEnded(let end): ask(channel, .interruptionEnded(shouldResume: end.shouldResume ?? false), id)
        case .routeChanged(let change): try changeRoute(channel, audio, id, change)
        case .playbackPause: ask(channel, .pausePlayback, id)
        case .playbackContinue: ask(channel, .continuePlayback, id)
        default: throw .unknownType(request.type)
        }
    }

    /// Asks the desk, or tells it something.
    func ask(_ channel: Channel, _ verb: SessionVerb, _ id: UInt64? = nil, warnings: [String] = []) {
        guard let audio = channel.audio else { return }
        if id != nil { audio.asksUnderWay += 1 }
        let ask = AudioSessionAsk(
            address: address(of: channel), group: audio.group, device: channel.device, verb: verb, requestID: id, warnings: warnings)
        post(.audioSession(ask), to: AudioSessionDesk.loop)
    }

    // MARK: Verbs

    private static func verb(_ request: ClientRequest.SetCategory) throws(Refusal) -> SessionVerb {
        guard let category = Category(text: request.category) else { throw .badValue("category") }
        guard let mode = request.mode.map(Mode.init(rawValue:)) ?? .default else { throw .badValue("mode") }
        let options = CategoryOptions(rawValue: request.options ?? 0)
        guard options.isSubset(of: .known) else { throw .badValue("options") }
        return .setCategory(category, mode, options)
    }

    private func verb(_ channel: Channel, _ request: ClientRequest.SetActive) throws(Refusal) -> SessionVerb {
        guard request.active else {
            return .deactivate(
                notifyOthers: request.notifyOthersOnDeactivation ?? false, force: request.force ?? false,
                // Those that are about to run count too.
                runningStreams: runningStreams(channel).count + channel.pendingPublishes)
        }
        let priority = request.priority ?? 0
        guard (0...EventLoop.priorityMax).contains(priority) else { throw .badValue("priority") }
        return .activate(background: request.background ?? false, priority: priority)
    }

    /// The client's own interruption: its media stops here and now; what else it means, the desk says.
    private func beginInterruption(_ channel: Channel, _ audio: AudioStanding, _ id: UInt64, _ request: ClientRequest.InterruptionBegan) {
        let reason = request.reason.map(InterruptionReason.init(rawValue:)) ?? .default
        if audio.interruptedAt == nil {
            audio.interruptedAt = now
            audio.hasToldMedia = false
        }
        audio.interruptionsUnderWay += 1
        if audio.snapshot?.state == .active { stopMedia(channel, audio) }
        ask(channel, .interruptionBegan(reason ?? .default), id, warnings: reason == nil ? ["unknown_reason"] : [])
    }

    /// A frame came though the client has said that it is interrupted: the platform has lost the end of it.
    func noteMediaWhileInterrupted(_ channel: Channel) {
        guard let audio = channel.audio, audio.snapshot?.interruption?.isOwn == true, !audio.hasToldMedia, let since = audio.interruptedAt,
            now.milliseconds(since: since) >= AudioStanding.mediaUnderWayMilliseconds
        else { return }
        audio.hasToldMedia = true
        ask(channel, .mediaArrived)
    }

    // MARK: Rights

    func requireSubscribing(_ channel: Channel) throws(Refusal) {
        guard let audio = channel.audio else { return }
        guard audio.maySubscribe else { throw .categoryForbids }
        guard audio.isActive else { throw .cannotStartPlaying }
    }

    func requirePublishing(_ channel: Channel) throws(Refusal) {
        guard let audio = channel.audio else { return }
        guard audio.mayPublish else { throw .categoryForbids }
        guard audio.isActive else { throw .cannotStartRecording }
    }

    /// Streams that the session publishes, and of those that it gets the ones that its client has not stopped or paused.
    func runningStreams(_ channel: Channel) -> [UInt32] {
        guard let membership = channel.membership else { return [] }
        let room = membership.room
        let subscriber = Int(membership.subscriber.index)
        let received = room.fanout.subscribed(subscriber).filter { room.fanout.isOpen($0) && !room.fanout.isPaused(subscriber, $0) }
        return membership.published.filter { !$0.hasEnded }.map(\.id) + received.map { room.fanout.streams[$0.index].id }
    }

    // MARK: Coming and going

    /// The connection is lost, and the session waits for its client.
    func parkAudio(_ channel: Channel) {
        ask(channel, .parked)
    }

    /// The client is back, and knows where its session stands.
    func resumeAudio(_ channel: Channel, wasParked: Bool) {
        guard let audio = channel.audio else { return }
        if wasParked { ask(channel, .resumed) }
        if audio.owesReset { tellReset(channel) }
        audio.owesReset = false
    }

    /// The relay session is over.
    func leaveAudio(_ channel: Channel, crashed: Bool) {
        guard let audio = channel.audio else { return }
        ask(channel, .left(crashed: crashed))
        if audio.presentation.isHeld { counters.sessionsHeld -= 1 }
        channel.audio = nil
    }

    /// What the relay knew of the session's media is gone, and its connection with it. The client hears of it when it comes back.
    func loseMedia(_ channel: Channel) {
        guard let audio = channel.audio else { return }
        audio.owesReset = true
        ask(channel, .mediaLost)
    }

    func tellReset(_ channel: Channel) {
        send(channel, .mediaServicesWereLost)
        send(channel, .mediaServicesWereReset)
    }
}
