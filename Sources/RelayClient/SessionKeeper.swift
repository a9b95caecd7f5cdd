package import AudioSession
package import Signalling

/// Remembers what the application wants of its audio session, and has it made anew where the relay has lost it: initialised, its category set, and, if it
/// was active, activated (audio-session semantics, "Session object").
///
/// Pure: it is told of every request that is sent and of everything that comes, and says what is to be sent next. The steps go one after the other, since each
/// is refused without the one before.
package struct SessionKeeper: Sendable {
    /// What follows from what was told.
    package enum Outcome: Sendable, Equatable {
        case nothing
        /// To be sent, and then told by ``sent(_:_:)``.
        case send(ClientRequest)
        /// The session is there again, as it was wanted.
        case recreated(RelayMessage.SessionState?)
        /// It could not be made anew: the relay refused a step.
        case failed(Refusal)
    }

    private enum Step {
        case initialise
        case category
        case activate
    }

    /// As the relay told last; `nil`: there is no session, since none was ever initialised, and nothing is restricted.
    package private(set) var state: RelayMessage.SessionState?
    /// The client's own interruption is on, whatever has become of the session since.
    package private(set) var isInterruptedHere = false

    private var isWanted = false
    private var category: ClientRequest.SetCategory?
    private var activation: ClientRequest.SetActive?
    /// The steps that are still to be taken; the first is under way once ``stepID`` is there.
    private var steps: [Step] = []
    private var stepID: UInt64?
    /// The session was made anew during the client's own interruption, so that the relay knows nothing of that one.
    private var owesActivation = false
    private var asked: [UInt64: ClientRequest] = [:]
    /// Requests without an answer that are remembered; a client that asks for more at once loses no more than this memory of them.
    private static let askedMax = 256

    package init() {}

    package var isRecreating: Bool { !steps.isEmpty }

    // MARK: What is told

    /// A request is on its way.
    package mutating func sent(_ id: UInt64, _ request: ClientRequest) {
        guard request.concernsSession else { return }
        if !steps.isEmpty, stepID == nil, request == self.request(for: steps[0]) {
            stepID = id
        } else if asked.count < SessionKeeper.askedMax {
            asked[id] = request
        }
    }

    package mutating func answered(_ id: UInt64, _ answer: RelayMessage.Answer) -> Outcome {
        if let session = answer.session { state = session }
        if id == stepID { return stepTaken() }
        guard let request = asked.removeValue(forKey: id) else { return .nothing }
        switch request {
        case .sessionInit: isWanted = true
        case .setCategory(let body): category = body
        case .setActive(let body):
            activation = body.active ? body : nil
            // Whoever activates is interrupted no more.
            if body.active { isInterruptedHere = false }
        case .interruptionBegan: isInterruptedHere = true
        case .interruptionEnded(let body):
            isInterruptedHere = false
            return owedActivation(body.shouldResume ?? false)
        default: break
        }
        return .nothing
    }

    package mutating func refused(_ id: UInt64, _ refusal: Refusal) -> Outcome {
        if id == stepID {
            steps.removeAll()
            stepID = nil
            activation = nil
            return .failed(refusal)
        }
        guard let request = asked.removeValue(forKey: id) else { return .nothing }
        if refusal.isSessionLost { return lost() }
        if case .interruptionEnded = request {
            // The re-activation was refused: the session is there, and inactive.
            isInterruptedHere = false
            activation = nil
        }
        return .nothing
    }

    package mutating func take(_ news: RelayMessage) -> Outcome {
        switch news {
        case .sessionChanged(let change):
            state = change.session
            if change.session.state == .inactive { activation = nil }
            return change.session.state == .uninitialised ? lost() : .nothing
        case .interruptionBegan: state?.state = .interrupted
        case .interruptionEnded(let end):
            if state?.state == .interrupted { state?.state = end.shouldResume ? .active : .inactive }
            if end.isOfMissingEnd { isInterruptedHere = false }
            if !end.shouldResume { activation = nil }
        case .mediaServicesWereLost: if isWanted { state = RelayMessage.SessionState(state: .uninitialised) }
        case .mediaServicesWereReset: return lost()
        default: break
        }
        return .nothing
    }

    /// The relay session goes on over another connection, and its audio session stands so; `nil`: there is none.
    package mutating func resumed(_ session: RelayMessage.SessionState?) -> Outcome {
        // Nobody knows what became of what was asked over the old connection; its answers would have come with the new one.
        stepID = nil
        state = session
        guard isWanted else { return .nothing }
        if (session?.state ?? .uninitialised) == .uninitialised { return lost() }
        return steps.isEmpty ? .nothing : .send(request(for: steps[0]))
    }

    // MARK: Making it anew

    private mutating func lost() -> Outcome {
        // Who never had a session has none to lose: it goes on without one, and unrestricted.
        guard isWanted else {
            state = nil
            return .nothing
        }
        state = RelayMessage.SessionState(state: .uninitialised)
        // Already at it: a step that was under way is answered yet, and several requests may find out about one loss.
        guard stepID == nil else { return .nothing }
        steps = [.initialise]
        if category != nil { steps.append(.category) }
        if activation != nil {
            // Not into a call: what is interrupted here stays silent until the client says that it has ended.
            if isInterruptedHere { owesActivation = true } else { steps.append(.activate) }
        }
        return .send(request(for: steps[0]))
    }

    private mutating func stepTaken() -> Outcome {
        stepID = nil
        steps.removeFirst()
        if let next = steps.first { return .send(request(for: next)) }
        return .recreated(state)
    }

    private mutating func owedActivation(_ shouldResume: Bool) -> Outcome {
        guard owesActivation else {
            if !shouldResume { activation = nil }
            return .nothing
        }
        owesActivation = false
        guard shouldResume, activation != nil, state?.state == .inactive else {
            activation = nil
            return .nothing
        }
        steps = [.activate]
        return .send(request(for: .activate))
    }

    private func request(for step: Step) -> ClientRequest {
        switch step {
        case .initialise: .sessionInit
        case .category: .setCategory(category ?? .init(.playAndRecord))
        case .activate: .setActive(activation ?? .init(active: true))
        }
    }
}

extension ClientRequest {
    /// Whether the answer may tell of the audio session, or of its loss.
    fileprivate var concernsSession: Bool {
        switch self {
        case .sessionInit, .setCategory, .setActive, .interruptionBegan, .interruptionEnded, .routeChanged, .playbackPause, .playbackContinue,
            .streamStart, .streamPrime, .streamPause, .streamStop, .streamFlush, .streamReset, .setParameters:
            true
        default: false
        }
    }
}

extension RelayMessage.InterruptionEnded {
    /// The client never said that its own interruption had ended, and the relay took it to have.
    package var isOfMissingEnd: Bool {
        switch InterruptionEnd(rawValue: cause) {
        case .timeout, .media: true
        case .deactivated, .left, .activated, nil: false
        }
    }
}

extension ClientRequest.SetCategory {
    package init(_ category: Category, mode: Mode = .default, options: CategoryOptions = []) {
        self.init(category: category.rawValue, mode: mode.rawValue, options: options.rawValue)
    }
}

extension Refusal {
    /// There is no audio session, or none any more (`!ini`).
    package var isSessionLost: Bool { fourCharCode == SessionErrorCode.notInitialised.rawValue }
}
