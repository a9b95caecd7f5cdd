import FoundationEssentials
import RelayServer
import Signalling

/// One thing that happened while a script was played: for scripts as one JSON object, for people as a sentence.
struct ScriptLine: Encodable {
    /// One of ``Kind``; Deploy/scripts/README.md says what each has.
    var event: String
    /// Seconds since the script began, as `at` in a script; before that, 0.
    var at: Double
    /// Of `began`: the clocks at `at` 0, so that what others saw can be put beside it. Milliseconds since the machine started, and since 1970.
    var monotonicMilliseconds: Double?
    var unixMilliseconds: Double?
    var room: String?
    var participant: UInt32?
    /// Of `step`: the place in the file, what was done, and for how long.
    var step: String?
    var `do`: String?
    var failure: String?
    var milliseconds: Double?
    var answer: Answered?
    /// Of `relay`: what the relay told, as it came.
    var message: RelayMessage?
    /// Of `resumed` and `recreated`: the session as it stands.
    var session: RelayMessage.SessionState?
    /// Of `media.started`.
    var media: MediaStart?
    /// Of `media.stopped`: from the last frame to the moment when none was to come any more.
    var sinceLastFrameMilliseconds: Double?
    var reason: String?
    /// Of `buffers.restarted`: in seconds, where another output is why.
    var outputLatency: Double?
    /// Of `summary`.
    var playback: PlaybackSummary?
    var played: [Played]?
    var frames: UInt64?
    var configurations: UInt64?
    var unexpectedFrames: UInt64?
    var steps: Int?

    /// Every kind of line.
    enum Kind: String, CaseIterable {
        case began
        case step
        case relay
        case mediaStarted = "media.started"
        case mediaStopped = "media.stopped"
        case mediaUnexpected = "media.unexpected"
        case buffersRestarted = "buffers.restarted"
        case lost
        case resumed
        case recreated
        case warning
        case summary
    }

    /// What the jitter buffer of a stream has done.
    struct Played: Encodable {
        var stream: UInt32
        var played: PlayedSummary
        var problem: String?
    }

    /// What a request came to.
    struct Answered: Encodable {
        var session: RelayMessage.SessionState?
        var warnings: [String]?
        var playback: RelayMessage.StreamPlayback?
        var primed: RelayMessage.Primed?
        var mix: RelayMessage.MixInfo?
        var refusal: Refusal?

        init(_ answer: RelayMessage.Answer) {
            session = answer.session
            warnings = answer.warnings
            playback = answer.playback
            primed = answer.primed
            mix = answer.mix
        }

        init(_ refusal: Refusal) {
            self.refusal = refusal
        }
    }

    /// - Parameter at: seconds.
    init(_ kind: Kind, at: Double) {
        event = kind.rawValue
        self.at = at
    }
}

// MARK: For people

extension ScriptLine {
    /// - Parameter name: what a participant is called.
    func sentence(_ name: (UInt32) -> String) -> String {
        "\(Self.seconds(at * 1_000)) s  \(words(name))"
    }

    private func words(_ name: (UInt32) -> String) -> String {
        switch event {
        case "began": "the script begins, in room \(room ?? "")"
        case "step": stepWords
        case "relay": message.map { Self.words(of: $0, name) } ?? ""
        case "media.started": media.map(Self.words) ?? ""
        case "media.stopped": "media stopped\(sinceLastFrameMilliseconds.map { ", \(Self.number($0)) ms after its last frame" } ?? "")"
        case "buffers.restarted": "jitter buffers restarted: \(Self.restart(reason, outputLatency))"
        case "media.unexpected": "media came although none was to come"
        case "lost": "the connection is lost: \(reason ?? "")"
        case "resumed": "back over another connection, session \(Self.words(session))"
        case "recreated": "the relay had lost the session; it is there again, \(Self.words(session))"
        case "summary":
            "\(steps ?? 0) steps, \(frames ?? 0) frames and \(configurations ?? 0) configurations, of which \(unexpectedFrames ?? 0) should not have come"
                + (played ?? []).map { "; stream \($0.stream) \($0.played.sentence)" }.joined() + (playback.map { "; \($0.sentence)" } ?? "")
        default: reason ?? ""
        }
    }

    private var stepWords: String {
        var text = self.do ?? ""
        if let refusal = answer?.refusal {
            text += " → refused: \(refusal.code)\(refusal.fourCharCode.map { " ('\($0)')" } ?? "")"
        } else if let answer {
            text += " → ok"
            if let session = answer.session { text += ", session \(Self.words(session))" }
            if let playback = answer.playback { text += ", stream \(playback.stream) \(playback.state.rawValue)" }
            if let mix = answer.mix { text += ", mix in stream \(mix.stream)" }
            if let primed = answer.primed { text += ", \(primed.frames) frames ready" }
            for warning in answer.warnings ?? [] { text += "; \(warning)" }
        }
        if let failure { text += "  FAILED: \(failure)" }
        return text
    }

    private static func restart(_ reason: String?, _ outputLatency: Double?) -> String {
        switch reason {
        case "held": "nothing is to be heard"
        case "wakeFromSleep": "the route woke up"
        default: "the output takes \(outputLatency.map { number($0 * 1_000) } ?? "?") ms now"
        }
    }

    private static func words(_ session: RelayMessage.SessionState?) -> String {
        guard let session else { return "none" }
        let details = [session.category, session.mode, session.paused == true ? "paused" : nil].compactMap { $0 }
        return session.state.rawValue + (details.isEmpty ? "" : " (\(details.joined(separator: ", ")))")
    }

    private static func words(_ start: MediaStart) -> String {
        var text = "\(start.kind) of stream \(start.stream) flows"
        if let age = start.ageMilliseconds { text += ", its first frame \(number(age)) ms old" }
        if let silence = start.silenceMilliseconds { text += ", after \(number(silence)) ms without one" }
        if start.kind == StreamKind.video.rawValue { text += start.key ? ", a key frame" : ", no key frame" }
        if start.discontinuity { text += ", marked as a discontinuity" }
        return text
    }

    private static func words(of message: RelayMessage, _ name: (UInt32) -> String) -> String {
        switch message {
        case .participantInterrupted(let body):
            body.interrupted
                ? "\(name(body.participant)) is interrupted (\(body.reason ?? "default"))" : "\(name(body.participant)) is not interrupted any more"
        case .participantHeld(let body): "\(name(body.participant)) is \(body.held ? "held" : "held no more")"
        case .participantRoute(let body):
            "\(name(body.participant)) goes through \((body.inputs + body.outputs).map(\.type).joined(separator: ", "))"
        case .participantMode(let body): "\(name(body.participant)) is of \(body.category), mode \(body.mode)"
        case .participantJoined(let body): "\(name(body.participant)) came"
        case .participantLeft(let participant, let reason): "\(name(participant)) went (\(reason.rawValue))"
        case .interruptionBegan(let body): "interrupted: \(body.reason)\(body.device.map { ", by \($0)" } ?? "")"
        case .interruptionEnded(let body): "the interruption ended (\(body.cause)): \(body.shouldResume ? "resume" : "do not resume")"
        case .sessionChanged(let body): "session \(words(body.session)): \(body.cause)"
        case .duckBegan(let body): "ducked by \(number(body.gainDecibels)) dB within \(number(body.rampMilliseconds)) ms"
        case .duckEnded: "not ducked any more"
        case .streamStopped(let body): "stream \(body.stream) stopped: \(body.reason)"
        case .streamState(let body): "stream \(body.stream) is \(body.state.rawValue) at \(number(body.elapsed)) s"
        case .routeChanged(let body): "the route changed: reason \(body.reason)"
        case .streamPublished(let body): "\(name(body.participant)) publishes stream \(body.stream): \(body.kind.rawValue), \(body.codec)"
        case .streamEnded(let stream): "stream \(stream) ended"
        case .speakers(let body):
            body.speakers.isEmpty ? "nobody speaks" : "speaking: \(body.speakers.map { name($0.participant) }.joined(separator: ", "))"
        case .streamForwarded(let body): "video of streams \(body.streams.map { "\($0)" }.joined(separator: ", ")) is forwarded"
        case .formatWanted(let body): "stream \(body.stream) is wanted with \(body.channels) channels, \(body.bandwidth)"
        default: message.members.map { "\($0.type)" } ?? "something new"
        }
    }

    static func seconds(_ milliseconds: Double) -> String {
        let text = number(milliseconds)
        let whole = text.split(separator: ".").first.map(String.init) ?? text
        let padded = String(repeating: "0", count: max(0, 4 - whole.count)) + whole
        return "\(padded.dropLast(3)).\(padded.suffix(3))"
    }

    /// With one digit behind the point, where it is not zero.
    static func number(_ value: Double) -> String {
        let tenths = Int((max(-1e15, min(1e15, value)) * 10).rounded())
        let whole = "\(tenths < 0 ? "-" : "")\(tenths.magnitude / 10)"
        return tenths.magnitude % 10 == 0 ? whole : "\(whole).\(tenths.magnitude % 10)"
    }
}

extension RelayMessage {
    /// The event as scripts look at it: its `type`, and its members.
    var members: (type: String, members: [String: JSONValue])? {
        guard case .object(var members)? = try? JSONDecoder().decode(JSONValue.self, from: Data(encoded)),
            case .string(let type)? = members.removeValue(forKey: "type")
        else { return nil }
        return (type, members)
    }
}
