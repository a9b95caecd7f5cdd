import AudioSession
import RelayBase
import RelayRooms
import Signalling

/// What a session's own loop knows of its audio session. The truth is at the desk; this is what its effects have made of it.
final class AudioStanding {
    let group: String
    /// As the desk said last; `nil`: nothing yet.
    var snapshot: SessionSnapshot?
    /// Nothing goes to the session or comes from it.
    var isStopped = false
    /// Media has flowed by the session's leave.
    var hasStarted = false
    /// Nothing goes to it: the user has paused playback, or the headset was pulled.
    var isPlaybackPaused = false
    /// Interruptions that the client has said begin, and of which the desk has not answered: media that an older effect would start stays stopped.
    var interruptionsUnderWay = 0
    /// Requests of which the desk has not answered.
    var asksUnderWay = 0
    /// Changes that the room may be told of, and whether it is to be told of more than that.
    var news: RequestBudget
    var owesNews = false
    /// When the client said that an interruption of its own begins.
    var interruptedAt: MonotonicInstant?
    /// The desk was told that the client sends media all the same.
    var hasToldMedia = false
    /// The client is to be told, when it comes back, that the relay has lost what it knew.
    var owesReset = false
    /// What the session's downlink is to be multiplied by while others of its identity are heard; a mix is, by the relay.
    var duck: Float = 1
    /// Where the client's sound goes in and out.
    var route = RouteState()
    /// What the room sees of it.
    var presentation = MemberPresentation()

    /// Every one of them goes to everybody in the room: a burst of so many, and so many a second; large ones count for more.
    private static let newsPerSecond = 10
    /// Frames that were under way when an interruption began say nothing about its end.
    static let mediaUnderWayMilliseconds: UInt64 = 500

    init(group: String, now: MonotonicInstant) {
        self.group = group
        news = RequestBudget(perSecond: AudioStanding.newsPerSecond, now: now)
    }

    var isActive: Bool { snapshot?.state == .active && interruptionsUnderWay == 0 }
    var maySubscribe: Bool { snapshot?.category.maySubscribe ?? true }
    var mayPublish: Bool { snapshot?.category.mayPublish ?? true }
    /// Nothing is forwarded to the session.
    var holdsDownlink: Bool { isStopped || isPlaybackPaused }
    /// Why nothing is taken from the session; `nil`: it is.
    var uplinkRefusal: FrameRefusal? {
        guard isStopped else { return route.uplinkGoesOn ? nil : .route }
        return snapshot?.state == .interrupted || interruptionsUnderWay > 0 ? .interrupted : .inactive
    }
}

/// What a room sees of a member's audio session.
struct MemberPresentation: Sendable, Equatable, Codable {
    /// `nil`: not interrupted.
    var interrupted: InterruptionReason?
    var isHeld = false
    /// Without names, unless the client shares them; `nil`: it has not said.
    var route: RouteDescription?
    /// What the session is for; `nil`: it has not begun.
    var purpose: SessionPurpose?

    /// The members of a participant's entry that tell of it, each with a comma before it.
    var members: [UInt8] {
        var bytes: [UInt8] = []
        if interrupted != nil { bytes += ",\"interrupted\":true".utf8 }
        if isHeld { bytes += ",\"held\":true".utf8 }
        if let purpose { bytes += ",\"category\":\"\(purpose.category.rawValue)\",\"mode\":\"\(purpose.mode.rawValue)\"".utf8 }
        if let route { bytes += ",\"route\":".utf8 + AudioRoute(route).encoded }
        return bytes
    }
}

/// What an audio session is for, in the platform's words.
struct SessionPurpose: Sendable, Equatable, Codable {
    let category: Category
    let mode: Mode
}

extension AudioRoute {
    init(_ route: RouteDescription) {
        self.init(inputs: route.inputs.map(AudioPort.init), outputs: route.outputs.map(AudioPort.init))
    }
}

extension AudioPort {
    init(_ port: RoutePort) {
        self.init(type: port.type.rawValue, name: port.name, sampleRate: port.sampleRate, channels: port.channels, latency: port.latency)
    }
}

extension RelayMessage.ReceiveFormat {
    init(_ format: ReceiveFormat, latency: Double?) {
        self.init(sampleRate: format.sampleRate, channels: format.channels, bandwidth: format.bandwidth.rawValue, latency: latency)
    }
}

extension RelayMessage.SessionState {
    init(_ snapshot: SessionSnapshot) {
        self.init(state: State(snapshot.state))
        category = snapshot.category.rawValue
        mode = snapshot.mode.rawValue
        options = snapshot.options.rawValue
        paused = snapshot.isPaused
    }
}

extension RelayMessage.SessionState.State {
    init(_ state: SessionState) {
        switch state {
        case .uninitialised: self = .uninitialised
        case .inactive: self = .inactive
        case .active: self = .active
        case .interrupted: self = .interrupted
        }
    }
}

extension Refusal {
    init(_ refusal: SessionRefusal) {
        switch refusal {
        case .sessionLost: self = .sessionLost
        case .illegalCategory: self = .illegalCategory
        case .insufficientPriority: self = .insufficientPriority
        case .ioRunning: self = .ioRunning
        case .tooManySessions: self = .audioSessionsMax
        }
    }
}

extension RelayMessage {
    /// An event as its client is told it.
    init(_ event: SessionEvent) {
        switch event {
        case .changed(let snapshot, let cause): self = .sessionChanged(.init(session: .init(snapshot), cause: cause.rawValue))
        case .interruptionBegan(let reason, let device): self = .interruptionBegan(.init(reason: reason.rawValue, device: device))
        case .interruptionEnded(let shouldResume, let end): self = .interruptionEnded(.init(shouldResume: shouldResume, cause: end.rawValue))
        case .duckBegan(let gain, let ramp): self = .duckBegan(.init(gainDecibels: gain, rampMilliseconds: ramp))
        case .duckEnded(let gain, let ramp): self = .duckEnded(.init(gainDecibels: gain, rampMilliseconds: ramp))
        case .silenceSecondaryAudioBegan: self = .silenceSecondaryAudioBegin
        case .silenceSecondaryAudioEnded: self = .silenceSecondaryAudioEnd
        case .mediaServicesWereLost: self = .mediaServicesWereLost
        case .mediaServicesWereReset: self = .mediaServicesWereReset
        case .routeChanged(let reason): self = .routeChanged(.init(reason: reason.rawValue))
        }
    }
}
