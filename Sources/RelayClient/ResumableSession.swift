import MediaProtocol
package import RelayBase
package import Signalling
package import TLSTransport

/// A session that outlives its connections: when one is lost it comes back over another, and what it receives goes on where it was, each frame once.
///
/// The application opens it in place of ``ClientLoop/open(_:_:resuming:)``, gives every event of its connections to ``take(_:_:)``, pulls ``next()`` until it
/// answers `nil`, and calls ``turn(now:)`` when ``nextDeadline`` has come.
package final class ResumableSession {
    package enum Event: Sendable {
        /// What happened in the session, as without resumption.
        case session(ClientEvent)
        /// The connection was lost; another is being tried. Requests without an answer will get none.
        case lost(ClientFault)
        /// It goes on, and stands where the relay says; frames that it will not get are told as news of their streams.
        case resumed(RelayMessage.ResumedSession)
    }

    private enum State {
        case connected
        /// Another connection is made while this one lives.
        case renewing(ClientSession)
        /// The old connection is read to its end; what comes over the new one waits.
        case draining(ClientSession)
        case lost(Loss)
        case ended
    }

    private struct Loss {
        let fault: ClientFault
        let givesUpAt: MonotonicInstant
        var triesAt: MonotonicInstant
        var attempt: ClientSession?
        var backoff: ResumeBackoff
    }

    /// The connection that the session has now, or had last.
    package private(set) var session: ClientSession
    private let loop: ClientLoop
    private let options: ClientOptions
    private let context: TLSContext
    private let isEnabled: Bool
    private var generator: any RandomNumberGenerator & Sendable
    private var state = State.connected
    private var ticket: (token: String, milliseconds: UInt64)?
    private var marks = ReceivedMarks()
    private var held: [(event: ClientEvent, frame: [UInt8])] = []
    private var heldBytes = 0
    private var released: [(event: ClientEvent, frame: [UInt8])] = []
    private var current: [UInt8]?

    /// The relay learns of the loss a little later than the client does, and counts from there.
    private static let slackMilliseconds: UInt64 = 5_000
    private static let heldBytesMax = 4 << 20

    /// - Parameter isEnabled: false: a lost connection ends the session, as without all this.
    /// - Parameter generator: spreads the tries of many clients over time.
    package init(
        _ loop: ClientLoop, _ options: ClientOptions, _ context: TLSContext, isEnabled: Bool = true,
        generator: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) throws(ClientFault) {
        self.loop = loop
        self.options = options
        self.context = context
        self.isEnabled = isEnabled
        self.generator = generator
        session = try loop.open(options, context)
    }

    package var isLost: Bool {
        if case .lost = state { true } else { false }
    }

    /// When ``turn(now:)`` is to be called.
    package var nextDeadline: MonotonicInstant {
        if case .lost(let loss) = state, loss.attempt == nil { loss.triesAt } else { .distantFuture }
    }

    // MARK: Events

    /// Works on an event of one of the session's connections.
    ///
    /// - Returns: what it means for the session; `nil`: nothing to tell.
    package func take(_ from: ClientSession, _ event: ClientEvent) -> Event? {
        current = nil
        switch state {
        case .connected: return from === session ? ofConnection(event) : nil
        case .renewing(let attempt):
            if from === session { return ofConnection(event) }
            return from === attempt ? ofRenewal(attempt, event) : nil
        case .draining(let old):
            if from === old { return ofOld(event) }
            if from === session { hold(event) }
            return nil
        case .lost(let loss): return from === loss.attempt ? ofAttempt(loss, event) : nil
        case .ended: return nil
        }
    }

    /// The next event of those that had to wait for others; `nil` when there is none.
    package func next() -> Event? {
        current = nil
        while !released.isEmpty {
            let (event, frame) = released.removeFirst()
            current = frame
            if let told = ofConnection(event) { return told }
        }
        return nil
    }

    /// Lends the bytes of the frame that the last event told of.
    package func withFrame<Result, Failure: Error>(_ body: (RawSpan) throws(Failure) -> Result) throws(Failure) -> Result {
        guard let current else { return try loop.withFrame(body) }
        return try body(unsafe current.span.bytes)
    }

    private func ofConnection(_ event: ClientEvent) -> Event? {
        switch event {
        case .welcome(let welcome):
            keepTicket(welcome)
            return .session(event)
        case .frame: return isNew() ? .session(event) : nil
        case .failed(let fault):
            if case .renewing(let attempt) = state { loop.abandon(attempt) }
            guard isEnabled, let ticket, fault.isLoss else {
                state = .ended
                return .session(event)
            }
            var backoff = ResumeBackoff()
            let triesAt = loop.now.advanced(byMilliseconds: backoff.next(using: &generator))
            let givesUpAt = loop.now.advanced(byMilliseconds: ticket.milliseconds + ResumableSession.slackMilliseconds)
            state = .lost(Loss(fault: fault, givesUpAt: givesUpAt, triesAt: triesAt, attempt: nil, backoff: backoff))
            return .lost(fault)
        case .closed:
            if case .renewing(let attempt) = state { loop.abandon(attempt) }
            state = .ended
            return .session(event)
        case .opened, .answer, .refused, .news, .writable: return .session(event)
        }
    }

    private func keepTicket(_ welcome: RelayMessage.Welcome) {
        ticket = welcome.resumeToken.map { ($0, welcome.resumeMilliseconds ?? 0) }
    }

    private func isNew() -> Bool {
        withFrame { frame in
            // What is no frame is for the application to judge.
            guard let header = try? MediaHeader(parsing: frame) else { return true }
            return marks.take(header)
        }
    }

    // MARK: Coming back

    /// Tries again when it is time.
    package func turn(now: MonotonicInstant) -> Event? {
        guard case .lost(var loss) = state, loss.attempt == nil, now >= loss.triesAt else { return nil }
        guard now < loss.givesUpAt, let ticket else { return giveUp(loss) }
        do throws(ClientFault) {
            loss.attempt = try open(ticket.token)
            state = .lost(loss)
            return nil
        } catch {
            return tryLater(loss, error)
        }
    }

    private func open(_ token: String) throws(ClientFault) -> ClientSession {
        var options = options
        options.resume = ClientRequest.Resumption(token: token, received: marks.all)
        let attempt = try loop.open(options, context)
        // Answers to what was asked over the old connection may come over the new one.
        attempt.continueIDs(of: session)
        return attempt
    }

    private func ofAttempt(_ loss: Loss, _ event: ClientEvent) -> Event? {
        switch event {
        case .welcome(let welcome):
            guard let attempt = loss.attempt, let resumed = welcome.resumed else { return giveUp(loss) }
            session = attempt
            keepTicket(welcome)
            state = .connected
            return .resumed(resumed)
        case .refused(_, let refusal) where refusal.retry:
            if let attempt = loss.attempt { loop.abandon(attempt) }
            return tryLater(loss)
        case .refused, .closed: return giveUp(loss)
        case .failed(let fault): return tryLater(loss, fault)
        case .opened, .answer, .news, .frame, .writable: return nil
        }
    }

    private func tryLater(_ loss: Loss, _ fault: ClientFault) -> Event? {
        fault.mayPass ? tryLater(loss) : giveUp(loss)
    }

    private func tryLater(_ loss: Loss) -> Event? {
        var loss = loss
        loss.attempt = nil
        loss.triesAt = loop.now.advanced(byMilliseconds: loss.backoff.next(using: &generator))
        guard loss.triesAt < loss.givesUpAt else { return giveUp(loss) }
        state = .lost(loss)
        return nil
    }

    private func giveUp(_ loss: Loss) -> Event {
        if let attempt = loss.attempt { loop.abandon(attempt) }
        state = .ended
        return .session(.failed(loss.fault))
    }

    /// Ends the session: in order where there is a connection, else without a word.
    package func close() {
        switch state {
        case .lost(let loss):
            if let attempt = loss.attempt { loop.abandon(attempt) }
            state = .ended
        case .renewing(let attempt): loop.abandon(attempt)
        case .draining(let old): loop.abandon(old)
        case .connected, .ended: break
        }
        if !session.hasEnded { session.close() }
    }

    package var hasEnded: Bool {
        if case .ended = state { true } else { session.hasEnded && !isLost }
    }

    // MARK: By hand

    /// Drops the connection as a network does, and stays away until ``reconnect()``: for trying out what the other side makes of it.
    ///
    /// - Returns: false, and nothing is done, unless there is a session that can be resumed and one connection that carries it.
    package func disconnect() -> Bool {
        guard isEnabled, ticket != nil, case .connected = state, session.isOpen else { return false }
        loop.abandon(session)
        state = .lost(lossOfNow(triesAt: .distantFuture))
        return true
    }

    /// Comes back at once, also where the next try would be later.
    package func reconnect() {
        guard case .lost(var loss) = state, loss.attempt == nil else { return }
        loss.triesAt = loop.now
        state = .lost(loss)
    }

    private func lossOfNow(triesAt: MonotonicInstant) -> Loss {
        let grace = (ticket?.milliseconds ?? 0) + ResumableSession.slackMilliseconds
        return Loss(
            fault: .connectionLost, givesUpAt: loop.now.advanced(byMilliseconds: grace), triesAt: triesAt, attempt: nil, backoff: ResumeBackoff())
    }

    // MARK: Make before break

    /// Goes on over another connection, made while this one lives: for when the network is about to change. Where that fails, nothing has changed.
    package func renew() throws(ClientFault) {
        guard isEnabled, case .connected = state, session.isOpen, let ticket else { return }
        state = .renewing(try open(ticket.token))
    }

    private func ofRenewal(_ attempt: ClientSession, _ event: ClientEvent) -> Event? {
        switch event {
        case .welcome(let welcome):
            guard let resumed = welcome.resumed else {
                loop.abandon(attempt)
                state = .connected
                return nil
            }
            keepTicket(welcome)
            state = .draining(session)
            session = attempt
            return .resumed(resumed)
        case .refused, .closed, .failed:
            loop.abandon(attempt)
            state = .connected
            return nil
        case .opened, .answer, .news, .frame, .writable: return nil
        }
    }

    /// What the old connection still has: frames that were on their way, and answers. Its news is older than what the relay has said since.
    private func ofOld(_ event: ClientEvent) -> Event? {
        switch event {
        case .frame: return isNew() ? .session(event) : nil
        case .answer, .refused: return .session(event)
        case .closed, .failed:
            release()
            return nil
        case .opened, .welcome, .news, .writable: return nil
        }
    }

    private func hold(_ event: ClientEvent) {
        var frame: [UInt8] = []
        if case .frame = event { frame = loop.frameBytes }
        held.append((event, frame))
        heldBytes += frame.count + 64
        if heldBytes > ResumableSession.heldBytesMax, case .draining(let old) = state {
            loop.abandon(old)
            release()
        }
    }

    private func release() {
        released += held
        held.removeAll()
        heldBytes = 0
        state = .connected
    }
}

extension ClientFault {
    /// The connection has ended as connections do, and the session is not to blame.
    fileprivate var isLoss: Bool {
        switch self {
        case .transport, .http2, .streamReset, .goingAway, .connectionLost, .silent: true
        case .connect, .openTimeout, .applicationProtocol, .responseHead, .refused, .handshake, .request, .subprotocol, .webSocket, .malformedMessage,
            .media:
            false
        }
    }

    /// Trying again may help.
    fileprivate var mayPass: Bool {
        switch self {
        case .connect, .openTimeout: true
        case .refused(let status, _): status == 503 || status == 429
        case .transport(.system): true
        case .transport(.tls(let fault)): if case .truncated = fault { true } else { false }
        default: isLoss
        }
    }
}
