import RelayBase
import RelayServer
import Signalling

/// What a scripted client does, and when: a phone's day in some lines. Read by ``ListenScript/init(text:)``, played by ``ScriptRun``.
struct ListenScript: Equatable {
    /// What the client calls its device.
    var device: String?
    var steps: [ScriptStep] = []

    /// Without a step that subscribes, the client hears everything from the start.
    var subscribesItself: Bool {
        steps.contains { step in
            if case .request(let request, _) = step.action, case .subscribe = request.request { true } else { false }
        }
    }
}

struct ScriptStep: Equatable {
    enum Start: Equatable {
        /// So long after the script's beginning, but never before the step before it is done.
        case at(nanoseconds: UInt64)
        /// So long after the step before it was done.
        case after(nanoseconds: UInt64)
    }

    enum Action: Equatable {
        case request(ScriptRequest, expected: Expected)
        /// A tone, as the microphone's stream.
        case publish(hertz: Double, expected: Expected)
        case microphone(Microphone)
        case disconnect
        case reconnect
        /// Another connection, made while this one lives.
        case renew
        case wait(Pattern, nanosecondsMax: UInt64)
        case expect(Expectation)
        case stay(nanoseconds: UInt64)
    }

    /// How a request is to be answered.
    enum Expected: Equatable {
        case ok
        case refusal(code: String)
    }

    /// What the microphone sends.
    enum Microphone: String, CaseIterable {
        /// Only while the audio session is active, as a phone does.
        case whileActive
        case always
        case never
    }

    /// An event of the relay by its `type`, with these members among others.
    struct Pattern: Equatable {
        var event: String
        var members: [String: JSONValue] = [:]
    }

    /// From which place of the file it is: `steps[3]`.
    var path: String
    /// As the file has it.
    var word: String
    var start: Start
    var action: Action
}

/// What is checked: everything that is given must hold.
struct Expectation: Equatable {
    enum Media: String, CaseIterable {
        /// Not one frame.
        case none
        /// At least one frame.
        case flowing
    }

    var session: RelayMessage.SessionState.State?
    /// From the step on, within ``nanoseconds``.
    var media: Media?
    /// No such event during ``nanoseconds``.
    var noEvent: ScriptStep.Pattern?
    var nanoseconds: UInt64 = 500_000_000
    /// About the first frames that came since media last began to flow: those of every stream, as far as they come within ``nanoseconds``, and one at least.
    var youngerThanNanoseconds: UInt64?
    var videoStartsWithKey: Bool?
    var discontinuous: Bool?
    /// Frames that came although nothing should have, since the script began.
    var unexpectedFramesMax: Int?

    var needsTime: Bool { media != nil || noEvent != nil || isAboutStarts }
    var isAboutStarts: Bool { youngerThanNanoseconds != nil || videoStartsWithKey != nil || discontinuous != nil }
}

/// A request of the protocol; the stream that it is about may be known only when it is sent.
struct ScriptRequest: Equatable {
    enum Stream: Equatable {
        case number(UInt32)
        /// The newest that is there of the kind.
        case newest(StreamKind)
    }

    var request: ClientRequest
    /// `nil`: it is about none.
    var stream: Stream?

    func about(_ id: UInt32) -> ClientRequest {
        switch request {
        case .streamStart(var body):
            body.stream = id
            return .streamStart(body)
        case .streamStop(var body):
            body.stream = id
            return .streamStop(body)
        case .setParameters(var body):
            body.stream = id
            return .setParameters(body)
        case .streamPrime: return .streamPrime(.init(stream: id))
        case .streamPause: return .streamPause(.init(stream: id))
        case .streamFlush: return .streamFlush(.init(stream: id))
        case .streamReset: return .streamReset(.init(stream: id))
        case .subscribe(var body):
            body.streams = [id]
            return .subscribe(body)
        case .unsubscribe(var body):
            body.streams = [id]
            return .unsubscribe(body)
        default: return request
        }
    }
}

/// Everything that a step can be, as `do` has it. Requests have the protocol's own names.
enum ScriptWord: String, CaseIterable {
    case sessionInit = "session.init"
    case setCategory = "session.setCategory"
    case setActive = "session.setActive"
    case interruptionBegan = "interruption.began"
    case interruptionEnded = "interruption.ended"
    case routeChanged = "route.changed"
    case playbackPause = "playback.pause"
    case playbackContinue = "playback.continue"
    case streamStart = "stream.start"
    case streamPrime = "stream.prime"
    case streamPause = "stream.pause"
    case streamStop = "stream.stop"
    case streamFlush = "stream.flush"
    case streamReset = "stream.reset"
    case setParameters = "stream.setParameters"
    case subscribe
    case unsubscribe
    case publish
    case microphone
    case disconnect
    case reconnect
    case renew
    case wait
    case expect
    case stay
}

/// The events that a script can wait for: those of audio sessions, streams and the connection, by the names that the protocol and this program have for them.
enum ScriptEvents {
    static let media = ["media.started", "media.stopped"]
    static let buffers = ["buffers.restarted"]
    static let connection = ["lost", "resumed", "recreated"]
    static let relay: [EventKind] = [
        .sessionChanged, .interruptionBegan, .interruptionEnded, .duckBegan, .duckEnded, .silenceSecondaryAudioBegin, .silenceSecondaryAudioEnd,
        .mediaServicesWereLost, .mediaServicesWereReset, .routeChanged, .streamStopped, .streamState, .formatWanted, .participantInterrupted,
        .participantHeld, .participantRoute, .participantMode, .participantJoined, .participantLeft, .participantChanged, .streamPublished,
        .streamEnded, .speakers, .streamForwarded, .streamGap, .congested, .recovered, .goAway, .goAwayCancelled,
    ]
    static let all = relay.map(\.rawValue) + media + buffers + connection
}
