package import Reactor
package import RelayBase
package import TLSTransport

/// Many sessions on one thread: a selector, a timer wheel and the buffers that the sessions take turns with.
///
/// ```
/// let loop = try ClientLoop()
/// let session = try loop.open(options, context)
/// while … {
///     try loop.poll(until: deadline)
///     while let (session, event) = loop.nextEvent() { … }
/// }
/// ```
///
/// Events are worked out as they are pulled, so that a frame's bytes are lent from where they were received. To be used by one thread.
@safe
package final class ClientLoop {
    static let receivesPerTurn = 8
    static let sendBytes = 64 << 10
    private static let externalToken: UInt64 = 1

    /// As of the last ``poll(until:)``.
    package private(set) var now: MonotonicInstant
    let calls = SystemCalls.linux
    let scratch = TransportScratch(readiness: .levelTriggered)
    var keys = MaskingKeys()
    /// What sessions exchange time by.
    let clock = SteadyClock.started()
    var http2Output = ByteQueue()
    var selector: Selector
    private var timers: TimerWheel
    private var sessions: Slab<ClientSession>
    /// Sessions with something to work on, in order.
    private var ready: [ClientSession] = []
    private var readyHead = 0
    private var current: ClientSession?
    /// Sessions whose turn is over although more is there.
    private var later: [ClientSession] = []
    private var dirty: [ClientSession] = []
    var occurred: [(session: ClientSession, event: ClientEvent)] = []
    private var occurredHead = 0
    private var lent = unsafe UnsafeRawBufferPointer(start: nil, count: 0)

    package init(sessionsMax: Int = 1 << 20) throws(SystemFault) {
        now = MonotonicClock.now()
        selector = try Selector(calls: calls)
        timers = TimerWheel(now: now)
        sessions = Slab(capacityMax: sessionsMax)
    }

    deinit {
        for handle in sessions.handles {
            if let session = sessions[handle] { calls.close(session.descriptor) }
        }
    }

    package var sessionCount: Int { sessions.count }

    package func session(_ handle: Handle) -> ClientSession? { sessions[handle] }

    /// Starts a session; it tells of itself by events, a connection that is refused included.
    ///
    /// - Parameter context: from ``ClientCredentials/context(http:minimumVersion:maximumVersion:)`` for the options' HTTP version.
    /// - Parameter session: a TLS session to be resumed.
    package func open(_ options: ClientOptions, _ context: TLSContext, resuming session: TLSSession? = nil) throws(ClientFault) -> ClientSession {
        now = MonotonicClock.now()
        let machine: TLSMachine
        do {
            machine = try TLSMachine(connecting: context, to: options.name, session: session, output: scratch.output)
        } catch {
            throw .transport(.tls(error))
        }
        do throws(SystemFault) {
            let (descriptor, _) = try Socket.connect(to: options.address, calls: calls)
            // Refused, it makes a slower connection, not a broken one.
            try? Socket.setNoDelay(descriptor, true, calls: calls)
            let secure = SecureConnection(descriptor: descriptor.number, machine: machine, scratch: scratch)
            let session = ClientSession(loop: self, options: options, descriptor: descriptor, secure: secure, now: now)
            guard let handle = sessions.insert(session) else {
                calls.close(descriptor)
                throw SystemFault(operation: "open", errno: 24)
            }
            session.handle = handle
            do throws(SystemFault) {
                try selector.add(descriptor, token: handle.packed, interest: [.read, .write])
            } catch {
                _ = sessions.remove(handle)
                calls.close(descriptor)
                throw error
            }
            schedule(session)
            return session
        } catch {
            throw .connect(error)
        }
    }

    /// Has ``poll(until:)`` return when `descriptor` becomes readable: a signal, another thread's wake-up. The caller reads it.
    package func watch(_ descriptor: FileDescriptor) throws(SystemFault) {
        try selector.add(descriptor, token: Self.externalToken, interest: .read)
    }

    /// Cuts a session off at once, without a close frame and without a further event.
    package func abandon(_ session: ClientSession) {
        drop(session)
    }

    // MARK: Turning

    /// Sends what is queued and waits until something happens or `deadline` comes. Events not pulled yet make it return at once.
    package func poll(until deadline: MonotonicInstant = .distantFuture) throws(SystemFault) {
        now = MonotonicClock.now()
        flushDirty()
        var until = min(deadline, timers.nextDeadline ?? .distantFuture)
        if hasWork { until = .zero }
        let count = try selector.wait(timeoutMilliseconds: Selector.timeoutMilliseconds(until: until, now: MonotonicClock.now()))
        now = MonotonicClock.now()
        for place in 0..<count {
            let event = selector.event(at: place)
            guard let session = sessions[Handle(packed: event.token)] else { continue }
            // Whoever does not read learns of the end all the same.
            if event.readiness.isOver { session.isReadingStopped = false }
            if event.readiness.promisesRead, !session.isReadingStopped { session.isReadable = true }
            if event.readiness.promisesWrite { session.isWritable = true }
            enqueue(session)
        }
        let waiting = later
        later.removeAll(keepingCapacity: true)
        for session in waiting { enqueue(session) }
        timers.advance(to: now)
        while let expired = timers.nextExpired() {
            guard let session = sessions[Handle(packed: expired.payload)] else { continue }
            session.timer = nil
            session.timerFired()
        }
    }

    private var hasWork: Bool {
        current != nil || readyHead < ready.count || !later.isEmpty || occurredHead < occurred.count
    }

    /// The next event; `nil` when everything that has come is worked off. Pulling ends the loan of ``withFrame(_:)``.
    package func nextEvent() -> (session: ClientSession, event: ClientEvent)? {
        unsafe lent = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
        while true {
            if occurredHead < occurred.count {
                let occurrence = occurred[occurredHead]
                occurredHead += 1
                return occurrence
            }
            occurred.removeAll(keepingCapacity: true)
            occurredHead = 0
            if let session = current {
                if !advance(session) { current = nil }
                continue
            }
            guard readyHead < ready.count else {
                ready.removeAll(keepingCapacity: true)
                readyHead = 0
                flushDirty()
                if readyHead < ready.count || occurredHead < occurred.count { continue }
                return nil
            }
            let session = ready[readyHead]
            readyHead += 1
            session.isQueued = false
            session.receivesLeft = Self.receivesPerTurn
            current = session
        }
    }

    /// Lends the bytes of the binary message that the last event told of; none after any other event.
    package func withFrame<Result, Failure: Error>(_ body: (RawSpan) throws(Failure) -> Result) throws(Failure) -> Result {
        try body(unsafe RawSpan(_unsafeBytes: lent))
    }

    /// A copy of the same bytes.
    package var frameBytes: [UInt8] { unsafe Array(lent) }

    /// One step of a session; false when it has nothing more to do.
    private func advance(_ session: ClientSession) -> Bool {
        do throws(ClientFault) {
            return try session.step()
        } catch {
            end(session, .failed(error))
            return false
        }
    }

    // MARK: For sessions

    func lend(_ bytes: UnsafeRawBufferPointer, of session: ClientSession) {
        unsafe lent = unsafe bytes
        tell(session, .frame)
    }

    func tell(_ session: ClientSession, _ event: ClientEvent) {
        occurred.append((session, event))
    }

    func enqueue(_ session: ClientSession) {
        guard !session.isQueued, !session.hasEnded else { return }
        session.isQueued = true
        ready.append(session)
    }

    func enqueueLater(_ session: ClientSession) {
        later.append(session)
    }

    func markDirty(_ session: ClientSession) {
        guard !session.isDirty, !session.hasEnded else { return }
        session.isDirty = true
        dirty.append(session)
    }

    private func flushDirty() {
        guard !dirty.isEmpty else { return }
        let sessions = dirty
        dirty.removeAll(keepingCapacity: true)
        for session in sessions {
            session.isDirty = false
            guard !session.hasEnded else { continue }
            do throws(ClientFault) {
                try session.flush()
            } catch {
                end(session, .failed(error))
            }
        }
    }

    /// Watches for room to send, or no longer.
    func watchWrite(_ session: ClientSession, _ wanted: Bool) {
        guard session.watchesWrite != wanted, !session.hasEnded else { return }
        session.watchesWrite = wanted
        tellInterest(of: session)
    }

    func schedule(_ session: ClientSession) {
        guard !session.hasEnded else { return }
        let deadline = session.nextDeadline(now: now)
        if let timer = session.timer, timers.reschedule(timer, at: deadline) { return }
        session.timer = timers.schedule(at: deadline, TimerEvent(payload: session.handle.packed, kind: 0))
    }

    /// Ends a session with its last event.
    func end(_ session: ClientSession, _ event: ClientEvent) {
        guard !session.hasEnded else { return }
        tell(session, event)
        drop(session)
    }

    /// Lets go of a session without a word.
    func drop(_ session: ClientSession) {
        guard sessions.remove(session.handle) != nil else { return }
        session.phase = .ended
        unsafe session.chunk = unsafe UnsafeMutableRawBufferPointer(start: nil, count: 0)
        if let timer = session.timer { timers.cancel(timer) }
        session.secure.discard()
        try? selector.remove(session.descriptor)
        calls.close(session.descriptor)
    }
}
