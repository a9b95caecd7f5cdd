import AudioSession
import JitterBuffer
import Reactor
import RelayBase
import Signalling

/// The ears of a client that plays a script: jitter buffers that begin anew when its audio session or its route say so.
final class ScriptedPlaying {
    let delivery: ListenDelivery
    private let playback: PlaybackThread
    private let thread: LoopThread
    /// As whom the playback knows a stream.
    private var voices: [UInt32: Int] = [:]
    private var voicesMade = 0
    private(set) var mix: UInt32?
    private var route = RouteState()
    private var mode = Mode.default
    private var ended: PlaybackThread.Result?

    /// - Parameter path: of a WAV file; `nil`: it is heard nowhere.
    init(_ delivery: ListenDelivery, path: String?, now: MonotonicInstant) throws {
        self.delivery = delivery
        (playback, thread) = try PlaybackThread.start(delivery.playback(path: path), now: now)
    }

    // MARK: Streams

    /// - Returns: whether its frames are to come; what is in the mix does not come by itself.
    func add(_ info: RelayMessage.StreamInfo, now: MonotonicInstant) -> Bool {
        guard info.kind == .audio else { return true }
        guard delivery.delivery != .mixed else { return false }
        open(info, now: now)
        return true
    }

    /// - Returns: false when it is known already.
    func add(_ mix: RelayMessage.MixInfo, now: MonotonicInstant) -> Bool {
        guard self.mix != mix.stream else { return false }
        if let old = self.mix { remove(old, now: now) }
        self.mix = mix.stream
        open(RelayMessage.StreamInfo(mix), now: now)
        return true
    }

    private func open(_ info: RelayMessage.StreamInfo, now: MonotonicInstant) {
        guard voices[info.stream] == nil, let description = PlayedDescription(info) else { return }
        voicesMade += 1
        voices[info.stream] = voicesMade
        playback.post(.open(key: voicesMade, description), now: now)
    }

    func remove(_ stream: UInt32, now: MonotonicInstant) {
        guard let voice = voices.removeValue(forKey: stream) else { return }
        playback.post(.end(key: voice), now: now)
    }

    func take(_ stream: UInt32, _ frame: RawSpan, now: MonotonicInstant) {
        guard let voice = voices[stream] else { return }
        _ = playback.take(voice, frame, now: now)
    }

    // MARK: The session and its route

    /// What is buffered is not heard any more: what comes next begins at the live edge.
    ///
    /// - Returns: false when there is nothing that could begin anew.
    func restart(now: MonotonicInstant) -> Bool {
        guard !voices.isEmpty else { return false }
        playback.post(.restart, now: now)
        return true
    }

    /// The relay has taken a change of the route.
    func change(_ request: ClientRequest.RouteChanged) -> JitterChange {
        let (reason, _) = RouteChangeReason.reading(wire: request.reason)
        return route.apply(RouteChange(reason, route: Self.route(request))).jitter
    }

    private static func route(_ request: ClientRequest.RouteChanged) -> RouteDescription? {
        if let legacy = request.legacyRoute { return (try? LegacyRoute(named: legacy)).map { RouteDescription($0) } }
        guard let route = request.route else { return nil }
        return try? RouteDescription(inputs: ports(route.inputs), outputs: ports(route.outputs))
    }

    private static func ports(_ ports: [AudioPort]) -> [RoutePort] {
        ports.compactMap { try? RoutePort(named: $0.type, name: $0.name, sampleRate: $0.sampleRate, channels: $0.channels, latency: $0.latency) }
    }

    /// Conversation wants little delay, films want no gaps, and what is measured is left as it is.
    func follow(mode text: String?, now: MonotonicInstant) {
        let mode = text.flatMap { Mode(rawValue: $0) } ?? .default
        guard mode != self.mode else { return }
        self.mode = mode
        let profile: JitterProfile =
            switch mode {
            case .voiceChat, .videoChat: .lowLatency
            case .moviePlayback: .smooth
            default: .balanced
            }
        playback.post(.configure(delivery.profile.map { JitterProfile($0) } ?? profile, isMeasurement: mode == .measurement), now: now)
    }

    // MARK: The end

    /// Once: what was heard as a whole, and of each stream that was there at the end.
    func finish(now: MonotonicInstant) -> (summary: PlaybackSummary, played: [ScriptLine.Played])? {
        guard ended == nil else { return nil }
        playback.stop(now: now)
        thread.join()
        guard let result = playback.takeResult() else { return nil }
        ended = result
        let played = voices.sorted { $0.key < $1.key }.compactMap { stream, voice in
            result.news.statistics[voice].map { ScriptLine.Played(stream: stream, played: PlayedSummary($0), problem: result.news.problems[voice]) }
        }
        return (result.summary, played)
    }
}

extension RelayMessage.StreamInfo {
    /// The mix as if somebody published it.
    init(_ mix: RelayMessage.MixInfo) {
        var description = Signalling.StreamDescription()
        description.sampleRate = mix.sampleRate
        description.channels = mix.channels
        description.frameMilliseconds = mix.frameMilliseconds
        self.init(stream: mix.stream, participant: 0, kind: .audio, codec: mix.codec, description: description, source: nil)
    }
}
