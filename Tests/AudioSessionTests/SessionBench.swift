import AudioSession
import RelayBase

/// Some devices of one identity, and what happened to each.
struct SessionBench {
    var sessions: IdentitySessions
    var now = MonotonicInstant(nanoseconds: 1_000_000_000)
    private(set) var last: [Addressed] = []

    init(limits: SessionLimits = SessionLimits()) {
        sessions = IdentitySessions(limits: limits)
    }

    static let phone = SessionKey(loop: 0, token: 1)
    static let tablet = SessionKey(loop: 1, token: 1)
    static let television = SessionKey(loop: 1, token: 2)
    static let watch = SessionKey(loop: 2, token: 1)

    static func name(_ key: SessionKey) -> String {
        switch key {
        case phone: "phone"
        case tablet: "tablet"
        case television: "television"
        case watch: "watch"
        default: "\(key.loop).\(key.token)"
        }
    }

    /// - Returns: what is to be done, in order.
    @discardableResult
    mutating func say(_ key: SessionKey, _ verb: SessionVerb) -> [Addressed] {
        last = []
        sessions.handle(verb, from: key, device: Self.name(key), now: now, into: &last)
        return last
    }

    /// Initialises, sets the category, activates.
    @discardableResult
    mutating func begin(
        _ key: SessionKey, _ category: Category = .playAndRecord, _ mode: Mode = .default, _ options: CategoryOptions = [], background: Bool = false,
        priority: Int = 0
    ) -> [Addressed] {
        say(key, .initialise)
        say(key, .setCategory(category, mode, options))
        return say(key, .activate(background: background, priority: priority))
    }

    mutating func pass(milliseconds: UInt64) -> [Addressed] {
        now = now.advanced(byMilliseconds: milliseconds)
        last = []
        sessions.expire(now: now, into: &last)
        return last
    }

    func state(_ key: SessionKey) -> SessionState? {
        sessions.snapshot(of: key)?.state
    }
}

/// What is for one session, without the answer.
func told(_ effects: [Addressed], _ key: SessionKey) -> [SessionEffect] {
    effects.filter { $0.session == key }.map(\.effect).filter {
        if case .answer = $0 { false } else { true }
    }
}

/// The answer's state and warnings, or `nil` where the request was refused.
func answer(_ effects: [Addressed], _ key: SessionKey) -> (state: SessionState, warnings: [SessionWarning])? {
    for case .answer(let snapshot, let warnings) in effects.filter({ $0.session == key }).map(\.effect) {
        return (snapshot.state, warnings)
    }
    return nil
}

extension SessionVerb {
    static let activate = SessionVerb.activate(background: false, priority: 0)
    static func deactivate(notifyOthers: Bool = false, force: Bool = false, streams: Int = 0) -> SessionVerb {
        .deactivate(notifyOthers: notifyOthers, force: force, runningStreams: streams)
    }
}
