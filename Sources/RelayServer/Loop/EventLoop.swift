import Glibc
import HTTPTransport
import Reactor
import RelayBase
import RelayRooms
import TLSTransport

/// One event loop: a thread, an epoll instance, a listener, and everything that belongs to the connections it accepted.
///
/// Extensions hold the parts: accepting, HTTP, WebSockets, sessions, the rooms it is home to, media, housekeeping.
@safe
final class EventLoop {
    /// epoll tokens below the connections': a packed handle is never that small.
    enum Token {
        static let wake: UInt64 = 1
        static let listener: UInt64 = 16
    }

    enum TimerKind {
        static let connection: UInt8 = 1
        static let channel: UInt8 = 2
        static let housekeeping: UInt8 = 3
        static let listener: UInt8 = 4
        static let exchange: UInt8 = 5
        static let bundles: UInt8 = 9
        static let presence: UInt8 = 10
        static let speakers: UInt8 = 11
        static let news: UInt8 = 12
        static let drain: UInt8 = 13
        static let flow: UInt8 = 6
        static let layers: UInt8 = 7
    }

    let index: Int
    let shared: Shared
    let limits: Limits
    let calls = SystemCalls.linux
    var selector: Selector
    var timers: TimerWheel
    var listeners: [LoopListener]
    var context: TLSContext
    /// Whose bearer tokens are believed; `nil`: nobody's.
    var tokens: TokenVerifier?
    /// The web client; `nil`: none is served.
    var web: WebFiles?
    /// Who may do what.
    var policy: AccessPolicy
    /// Counts changes of the policy: a join that was decided under an older one is looked at again when it is done.
    var policyGeneration = 0
    /// Pairing, on the one loop that it lives on.
    let pairDesk: PairDesk?
    /// Audio sessions, on the one loop that they live on.
    let audioDesk: AudioSessionDesk?
    /// Sessions that the newest policy has not been asked about yet.
    var reviews: [Handle] = []
    let scratch: TransportScratch
    var connections: Slab<Connection>
    var channels: Slab<Channel>
    var rooms: Slab<LocalRoom>
    var exchanges: Slab<HTTPExchange>
    /// Administrators whose answers go on.
    var live: [LiveWatcher] = []
    var roomHandles: [RoomNumber: Handle] = [:]
    var home: Rooms
    /// Of a cluster, what this loop's rooms have to do with other nodes.
    var clusterHome = ClusterHome()
    var counters = LoopCounters()
    /// How busy the loop has been lately: whether frames are held for bundles.
    var load = LoopLoad()
    /// Channels whose frames are held so that others join them.
    var held: [Handle] = []
    var heldTimer: (id: TimerID, due: MonotonicInstant)?
    /// Rooms whose frames wait for others, and when the first of them is due.
    var holding: [LocalRoom] = []
    var holdDue = MonotonicInstant.distantFuture
    var work = FlushWork()
    /// Rooms whose frames may not be held at all.
    var impatientRooms = 0
    /// Nanoseconds before this turn in which the loop did not look for events.
    var slept: UInt64 = 0
    /// Moved on by what is no part of the flush.
    var flushBegan = MonotonicInstant.zero
    var presence = PresenceRound()
    /// Rooms that this loop is home to and whose speakers have changed: they are told when a timer says so.
    var speakersDue: Set<RoomNumber> = []
    /// Sessions that change faster than their rooms are told.
    var owingNews: [Handle] = []
    var newsTimer: TimerID?
    /// Plaintext on its way into records.
    let egress: UnsafeMutableRawBufferPointer
    let budget: ByteBudget
    var overflowing: [Channel] = []
    /// Counts reloads: a handshake that began under an older context is checked against the newest.
    var contextGeneration = 0
    var http2Output = ByteQueue()
    /// Counts batches of HTTP/2 output.
    var http2Batch: UInt64 = 0
    var now: MonotonicInstant
    var dirtyRooms: [LocalRoom] = []
    /// When connections and layers are looked at next; `nil` while there is nothing to look at.
    var layerLook = LayerLook()
    var dirtyConnections: [Connection] = []
    var readLater: [Connection] = []
    var requestTurns = RequestTurns()
    /// Sessions that have reported as receivers of late.
    var reporters: [Handle] = []
    /// Connections and forwarded sessions that are still to be measured by the newest trust store.
    var recheck = TrustRecheck()
    /// To the other loops and to the threads that work on sound.
    var ringsOut: RingWriter
    /// What other loops posted.
    var mail: [LoopMessage] = []
    private var mailPlace = 0
    /// Where to begin with the events of the next wait: behind those that had their turn.
    private var firstEvent = 0
    /// Mail is left for the next turn, here or in the box.
    private var mailWaits = false
    /// What this loop posted to itself.
    var inbox: [LoopMessage] = []
    private var inboxPlace = 0
    private var outbox: Outbox
    var handshakes = HandshakeTurns()
    var date = DateText()
    var drainRun: DrainRun?
    var isStopping = false
    let startedAt: MonotonicInstant

    static let receivesPerTurn = 8
    private static let sleepNanosecondsMax: UInt64 = 1_000_000
    static let egressBytes = 16 << 10
    static let housekeepingMilliseconds: UInt64 = 250
    private static let outboxMessagesMax = 1 << 18
    /// Timers, other loops' frames and what is to be sent wait meanwhile.
    private static let eventMillisecondsPerTurn: UInt64 = 8
    private static let mailMillisecondsPerTurn: UInt64 = 2
    private static let messagesPerLook = 8
    static let auditStepsPerTurn = 20_000

    init(index: Int, shared: Shared, context: TLSContext, listeners: consuming [LoopListener]) throws(SystemFault) {
        self.index = index
        self.shared = shared
        limits = shared.limits
        self.context = context
        policy = shared.configuration.policy
        pairDesk = index == PairDesk.loop ? PairDesk(shared.pairing, shared.pairWorker, policy: shared.configuration.policy) : nil
        audioDesk = index == AudioSessionDesk.loop ? AudioSessionDesk(limits: shared.limits) : nil
        now = MonotonicClock.now()
        startedAt = now
        selector = try Selector(calls: calls)
        timers = TimerWheel(now: now)
        scratch = TransportScratch(readiness: .levelTriggered)
        connections = Slab(capacityMax: shared.limits.connectionsMax)
        channels = Slab()
        rooms = Slab()
        exchanges = Slab(capacityMax: HTTPExchange.perLoopMax)
        budget = ByteBudget(bytesMax: shared.limits.cacheBytesMax)
        home = Rooms(limits: shared.limits, loop: index, loops: shared.loops)
        unsafe egress = .allocate(byteCount: EventLoop.egressBytes, alignment: 64)
        ringsOut = RingWriter(shared.rings[index], wakes: shared.wakes)
        outbox = Outbox(shared.mailboxes, messagesMax: EventLoop.outboxMessagesMax)
        self.listeners = listeners
        try selector.add(shared.wakes[index].descriptor, token: Token.wake, interest: .read)
        for place in self.listeners.indices {
            try selector.add(self.listeners[place].descriptor, token: Token.listener + UInt64(place), interest: .read)
        }
        _ = timers.schedule(
            at: now.advanced(byMilliseconds: EventLoop.housekeepingMilliseconds), TimerEvent(payload: 0, kind: TimerKind.housekeeping))
    }

    deinit {
        unsafe egress.deallocate()
    }

    /// Runs until told to stop.
    func run() {
        while !isStopping {
            // The clock is read again after the wait: a turn's time is that of its events.
            let hasWork =
                mailWaits || !inbox.isEmpty || !readLater.isEmpty || !requestTurns.isEmpty || !reviews.isEmpty || !recheck.isDone
                || !handshakes.isEmpty
            let deadline = hasWork ? MonotonicInstant.zero : timers.nextDeadline
            let count: Int
            do {
                count = try wait(until: deadline)
            } catch {
                shared.log.error("selector_failed", [("loop", "\(index)"), ("fault", "\(error)")])
                return
            }
            now = MonotonicClock.now()
            turn(events: count)
            let end = MonotonicClock.now()
            let spent = end.nanoseconds(since: now)
            load.note(spent: spent, spared: work.endTurn(nanoseconds: end.nanoseconds(since: flushBegan)), until: end)
            counters.noteTurn(nanoseconds: spent)
        }
        closeEverything()
    }

    /// Frames that are held are due between two milliseconds; everything else is not.
    private func wait(until deadline: MonotonicInstant?) throws(SystemFault) -> Int {
        let now = MonotonicClock.now()
        slept = 0
        guard holdDue < deadline ?? .distantFuture else {
            return try selector.wait(timeoutMilliseconds: Selector.timeoutMilliseconds(until: deadline, now: now))
        }
        let left = holdDue.nanoseconds(since: now)
        guard impatientRooms == 0 else { return try selector.wait(timeoutNanoseconds: left) }
        // Frames that come now would wait anyway, and each would wake the loop: what comes is taken together.
        slept = min(left, EventLoop.sleepNanosecondsMax)
        MonotonicClock.sleep(nanoseconds: slept)
        return try selector.wait(timeoutNanoseconds: 0)
    }

    private func turn(events count: Int) {
        resumeRequests()
        resumeReads()
        handleEvents(count)
        // Frames go before the messages that were posted after them: a stream's last frames before the news of its end.
        takeMail()
        drainRings()
        handleMail()
        if !reviews.isEmpty { reviewSome() }
        drainInbox()
        recheckSome()
        timers.advance(to: now)
        while let expired = timers.nextExpired() { fire(expired) }
        // Other loops can work on what came in while this one flushes.
        ringsOut.wake()
        flushBegan = MonotonicClock.now()
        flushDirty()
        ringsOut.wake()
        outbox.retry()
        shakeHands()
    }

    /// Handles what is ready for as long as a turn may take with it. epoll is level-triggered: what is left is reported again, and comes first then.
    private func handleEvents(_ count: Int) {
        let end = now.advanced(byMilliseconds: EventLoop.eventMillisecondsPerTurn)
        for step in 0..<count {
            let event = selector.event(at: (firstEvent + step) % count)
            switch event.token {
            case Token.wake:
                shared.wakes[index].reset()
            case Token.listener..<(Token.listener + UInt64(listeners.count)):
                accept(on: Int(event.token - Token.listener))
            default:
                ready(Handle(packed: event.token), event.readiness)
            }
            if step.isMultiple(of: EventLoop.messagesPerLook), MonotonicClock.now() >= end {
                firstEvent = (firstEvent + step + 1) % count
                return
            }
        }
        firstEvent = 0
    }

    private func ready(_ handle: Handle, _ readiness: Readiness) {
        guard let connection = connections[handle] else { return }
        if readiness.contains(.writable) { writable(connection) }
        guard connections.contains(handle) else { return }
        if connection.isHeld {
            // It is not watched for anything that could be read: this is the end of it, and would be told again and again.
            if readiness.isOver { close(connection, reason: "connection_lost") }
        } else if readiness.promisesRead {
            readable(connection)
        }
    }

    /// Reads on where a connection was stopped for fairness.
    private func resumeReads() {
        guard !readLater.isEmpty else { return }
        let connections = readLater
        readLater.removeAll(keepingCapacity: true)
        for connection in connections {
            connection.readsLater = false
            if self.connections.contains(connection.handle) { readable(connection) }
        }
    }

    private func fire(_ event: TimerEvent) {
        switch event.kind {
        case TimerKind.connection:
            if let connection = connections[Handle(packed: event.payload)] { connectionTimer(connection) }
        case TimerKind.channel:
            if let channel = channels[Handle(packed: event.payload)] { channelTimer(channel) }
        case TimerKind.exchange:
            if let exchange = exchanges[Handle(packed: event.payload)] { exchangeTimer(exchange) }
        case TimerKind.flow:
            if let connection = connections[Handle(packed: event.payload)] { flowTimer(connection) }
        // What is held is looked at when the turn flushes.
        case TimerKind.bundles: heldTimer = nil
        case TimerKind.layers: lookAtLayers()
        case TimerKind.presence: releasePresence()
        case TimerKind.speakers: speakersTimer(RoomNumber(event.payload))
        case TimerKind.news: tellNews()
        case TimerKind.drain: goOnDraining()
        case TimerKind.listener:
            resumeListener(Int(event.payload))
        default:
            housekeeping()
        }
    }

    // MARK: Messages between loops

    /// Posts to another loop, or to this one: then it is handled within the turn.
    ///
    /// - Returns: false when the other loop's box and this one's for it are full, and the message is lost.
    @discardableResult
    func post(_ message: LoopMessage, to loop: Int) -> Bool {
        if loop == index {
            inbox.append(message)
        } else if LoopPlace.isForeign(loop) {
            return postAway(message, to: loop)
        } else if !outbox.post(message, to: loop) {
            counters.requestErrors["mailbox_overflow", default: 0] &+= 1
            return false
        }
        return true
    }

    /// Empties the box, unless mail is left from the turn before: that goes first, so that mail keeps its order.
    private func takeMail() {
        mailWaits = !mail.isEmpty
        if mail.isEmpty { shared.mailboxes[index].drain(into: &mail) }
    }

    /// Handles mail for as long as a turn may take with it; the rest has its turn in the next. Whoever sends more than a loop can do waits, not everybody.
    private func handleMail() {
        let end = MonotonicClock.now().advanced(byMilliseconds: EventLoop.mailMillisecondsPerTurn)
        while mailPlace < mail.count {
            handle(mail[mailPlace])
            mailPlace += 1
            if mailPlace.isMultiple(of: EventLoop.messagesPerLook), MonotonicClock.now() >= end { break }
        }
        guard mailPlace == mail.count else {
            mailWaits = true
            return
        }
        mail.removeAll(keepingCapacity: true)
        mailPlace = 0
    }

    /// Handles what is in the inbox, and what that posts to this loop itself, for as long as a turn may take with it.
    func drainInbox() {
        let end = MonotonicClock.now().advanced(byMilliseconds: EventLoop.mailMillisecondsPerTurn)
        while inboxPlace < inbox.count {
            handle(inbox[inboxPlace])
            inboxPlace += 1
            if inboxPlace.isMultiple(of: EventLoop.messagesPerLook), MonotonicClock.now() >= end { return }
        }
        inbox.removeAll(keepingCapacity: true)
        inboxPlace = 0
    }

    private func handle(_ message: LoopMessage) {
        switch message {
        case .join, .leave, .publish, .unpublish, .moderate, .review, .evict, .describe, .present, .withdraw, .speech: handleAtHome(message)
        case .joined, .published, .unpublished, .waiting, .admitted, .removed, .memberEvent, .roomEvent, .presence, .streamAdded, .streamEnded,
            .memberChanged, .memberPresented, .roomEnded, .speakers:
            handleForMembers(message)
        case .resume(let claim): resume(claim)
        case .arrive(let connection, let claim): arrive(connection, claim)
        case .described(let claim, let joined): described(claim, joined)
        case .reception(let room, let stream, let loop, let aggregate): received(room, stream, from: loop, aggregate)
        case .interest(let room, let stream, let interest, let layers, let audio, let isWanted, let imported):
            if let imported { importStream(room, imported) }
            setInterest(room, stream, interest, layers, audio, isWanted)
        case .keyFrameWanted(let room, let stream, let spatial): wantKeyFrame(room, stream, spatial)
        case .ladder(let room, let stream, let ladder): setLadder(room, stream, ladder)
        case .pairing(let mail): pairing(mail)
        case .audioSession(let ask): audioSession(ask)
        case .audioNews(let news): audioNews(news)
        case .cluster(let mail): cluster(mail)
        case .place, .away: preconditionFailure("a message for the gateway reached a loop")
        case .audioWork: preconditionFailure("work for a thread that works on sound reached a loop")
        case .toSession(let token, let news): tell(token, news)
        case .httpAnswer(let token, let answer): answered(token, answer)
        case .adminQuery(let query, let ticket): answerAdmin(query, ticket)
        case .adminFinding(let token, let finding): found(token, finding)
        case .reload(let context): reload(context)
        case .tokens(let verifier): adopt(verifier)
        case .web(let files): web = files
        case .surveyLive(let round): surveyLive(round: round)
        case .live(let event): tellLive(event)
        case .policy(let policy): adopt(policy)
        case .drain(let deadline): drain(deadline)
        case .cancelDrain: cancelDrain()
        case .stop: isStopping = true
        }
    }
}
