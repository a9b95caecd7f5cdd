import LoadReport
import MediaProtocol
import Reactor
import RelayBase
import RelayClient
import Signalling

/// Plays the clients of one thread: opens them at their time, sends what is due, counts what comes, lets happen what the scenario has happen.
final class LoadLoop {
    /// What is to be done at its time. Clients by their place; a task for a session that is over meanwhile is none.
    enum Task {
        case open(Int)
        case publish(Int, UInt32, stream: Int)
        case happen(event: Int)
        case readAgain(Int, UInt32)
        case endInterruption(Int, UInt32)
        case comeBack(Int, UInt32)
        /// A resumable session has something to do: another try.
        case turn(Int, UInt32)
    }

    /// Connections that are being made at once: more would only wait for each other.
    private static let openingMax = 128
    /// The loop looks around at least so often.
    private static let turnNanoseconds: UInt64 = 20_000_000
    private static let statusNanoseconds: UInt64 = 100_000_000
    private static let closeNanosecondsMax: UInt64 = 4_000_000_000
    static let maskSeed: UInt64 = 0x5E60E

    let number: Int
    let scenario: LoadScenario
    let target: LoadTarget
    let control: RunControl
    let loop: ClientLoop
    private let timer: AbsoluteTimer
    let clients: [LoadClient]
    var tally = LoopTally()
    var tasks = DueQueue<Task>()
    var generator: SeededGenerator
    /// By group and stream.
    private var turns: [[SpeakerTurns?]]
    /// How often each event has happened and will.
    var paces: [EventPace] = []
    var hasPlannedEvents = false
    var window: Range<UInt64>
    var second: LoadReport.TimelineSecond
    private var payload: [UInt8]
    private var opening = 0
    private var isPublishing = true
    /// False from when everything is counted.
    private(set) var isCounting = true
    private var statusAt: UInt64 = 0
    var now: UInt64

    init(number: Int, _ scenario: LoadScenario, _ share: LoadShare, _ target: LoadTarget, _ control: RunControl) throws {
        self.number = number
        self.scenario = scenario
        self.target = target
        self.control = control
        loop = try ClientLoop()
        timer = try AbsoluteTimer()
        try loop.watch(timer.descriptor)
        clients = share.seats(scenario).filter { $0.loop == number }.enumerated().map { LoadClient($1, place: $0) }
        generator = SeededGenerator(seed: UInt64(share.part) << 32 | UInt64(number))
        turns = scenario.groups.enumerated().map { place, group in
            group.publishes.enumerated().map { stream, plan in
                plan.turns.map { SpeakerTurns($0, members: group.count, seed: UInt64(place) << 8 | UInt64(stream)) }
            }
        }
        let largest = scenario.groups.flatMap(\.publishes).flatMap(\.layers).map { max($0.bytes, $0.keyBytes) }.max() ?? 0
        var filling = SeededGenerator(seed: LoadLoop.maskSeed)
        payload = (0..<max(largest, LayerPlan.bytesMin)).map { _ in UInt8.random(in: 0...255, using: &filling) }
        now = MonotonicClock.now().nanoseconds
        window = control.window
        second = LoadReport.TimelineSecond(unixSecond: Int64(WallClock.now() / 1_000))
        for (place, client) in clients.enumerated() {
            tasks.add(.open(place), due: control.beganAt + LoadShare.beginning(of: client.seat, scenario))
        }
    }

    // MARK: The run

    /// Plays to the end.
    func run() throws -> LoopTally {
        while control.stopsAt > now { try turn(until: control.stopsAt) }
        stopPublishing()
        let settled = now + UInt64(scenario.settleSeconds * 1e9)
        while now < settled { try turn(until: settled) }
        finishCounting()
        tellStatus(.settled)
        while !control.mayClose { try turn(until: now + LoadLoop.turnNanoseconds) }
        try closeAll()
        tally.processorSeconds = Double(CPUUsage.ofThread().totalNanoseconds) / 1e9
        tellStatus(.ended)
        return tally
    }

    private func turn(until end: UInt64) throws {
        var wake = min(end, now + LoadLoop.turnNanoseconds)
        if let due = tasks.nextDue, due < wake { wake = due }
        // epoll counts milliseconds: too coarse for frames that are to leave when they are due.
        timer.set(to: MonotonicInstant(nanoseconds: wake))
        try loop.poll(until: MonotonicInstant(nanoseconds: wake + 1_000_000))
        while let (session, event) = loop.nextEvent() { take(session, event) }
        now = MonotonicClock.now().nanoseconds
        window = control.window
        if !hasPlannedEvents, window.lowerBound != .max { planEvents() }
        while let (due, task) = tasks.take(by: now) { perform(task, due) }
        if now >= statusAt {
            statusAt = now + LoadLoop.statusNanoseconds
            endSecond()
            tellStatus(.playing)
        }
    }

    private func perform(_ task: Task, _ due: UInt64) {
        switch task {
        case .open(let place): open(place)
        case .publish(let place, let generation, let stream):
            if clients[place].generation == generation { publish(place, stream, due) }
        case .happen(let event): happen(event)
        case .readAgain(let place, let generation):
            if clients[place].generation == generation { readAgain(clients[place]) }
        case .endInterruption(let place, let generation):
            if clients[place].generation == generation { endInterruption(clients[place]) }
        case .comeBack(let place, let generation):
            if clients[place].generation == generation { comeBack(place) }
        case .turn(let place, let generation):
            if clients[place].generation == generation { turnResumable(place) }
        }
    }

    // MARK: Opening

    private func open(_ place: Int) {
        let client = clients[place]
        guard isPublishing, client.state == .waiting || client.state == .away else { return }
        guard opening < LoadLoop.openingMax else {
            tasks.add(.open(place), due: now + 5_000_000)
            return
        }
        var options = target.options
        options.tag = place
        options.ignoresParticipants = true
        if target.usesRelayClock { options.timeExchangeMilliseconds = 2_000 }
        let context = target.identities[client.seat.index % target.identities.count]
        client.openedAt = now
        do {
            if scenario.groups[client.seat.group].resumes {
                client.line = .resumable(
                    try ResumableSession(loop, options, context, generator: SeededGenerator(seed: UInt64(client.seat.index))))
            } else {
                client.line = .plain(try loop.open(options, context))
            }
            client.state = .opening
            opening += 1
        } catch {
            fail(client, "\(error)")
        }
    }

    /// The connection is open, or will not be.
    func openingEnded(_ client: LoadClient) {
        if client.state == .opening { opening -= 1 }
    }

    // MARK: Publishing

    /// Begins to publish what was granted.
    func begin(_ plan: StreamPlan, _ stream: UInt32, _ place: Int) {
        let client = clients[place]
        // Not all at once: each somewhere within its interval.
        let interval = UInt64(1e9 / plan.framesPerSecond)
        let published = PublishedStream(plan, stream: stream, start: now + UInt64.random(in: 0..<max(1, interval), using: &generator))
        let header = MediaHeader(kind: .configuration, stream: published.stream, sequence: 0, timestamp: 0)
        if unsafe client.session?.sendFrame(header, payload: payload.span.bytes.extracting(first: 0)) == true { tally.sentInAll += 1 }
        client.outgoing.append((published, PublishedTotal(seat: client.seat.index)))
        tasks.add(.publish(place, client.generation, stream: client.outgoing.count - 1), due: published.nextDue)
    }

    private func publish(_ place: Int, _ index: Int, _ due: UInt64) {
        let client = clients[place]
        guard isPublishing, due < control.stopsAt, client.outgoing.indices.contains(index) else { return }
        defer { tasks.add(.publish(place, client.generation, stream: index), due: client.outgoing[index].stream.nextDue) }
        let isAble = client.isLost || (client.state == .present || client.state == .joining) && client.session != nil
        guard isAble, !client.isInterrupted, knowsTime(client) else {
            client.outgoing[index].stream.skip(to: max(now, due + 1))
            return
        }
        if let silentUntil = silence(client, index, due) {
            client.outgoing[index].stream.skip(to: silentUntil)
            return
        }
        let isMeasured = window.contains(due)
        if client.isLost {
            if isMeasured { tally.notSentByLost += 1 }
        } else if let session = client.session {
            send(client, index, due, session, isMeasured)
        }
        client.outgoing[index].total.wasDue(at: due, number: client.outgoing[index].stream.number)
        tally.lateness.record(microseconds: Int((now - min(now, due)) / 1_000))
        client.outgoing[index].stream.advance()
    }

    private func send(_ client: LoadClient, _ index: Int, _ due: UInt64, _ session: ClientSession, _ isMeasured: Bool) {
        let stamp = FrameStamp(dueNanoseconds: stamped(due, client), number: client.outgoing[index].stream.number)
        stamp.write(into: &payload)
        for layer in 0..<client.outgoing[index].stream.layerCount where client.outgoing[index].stream.isWanted(layer) {
            let frame = client.outgoing[index].stream.frame(layer)
            let length = frame.bytes - MediaHeader.byteCount
            if unsafe session.sendFrame(frame.header, payload: payload.span.bytes.extracting(first: length)) {
                client.outgoing[index].stream.sent(layer)
                tally.sentInAll += 1
                second.framesSent += 1
                if isMeasured { tally.sent += 1 }
            } else if isMeasured {
                tally.notSent += 1
            }
        }
    }

    /// Until when a stream is silent at `due`; `nil`: it speaks.
    private func silence(_ client: LoadClient, _ index: Int, _ due: UInt64) -> UInt64? {
        let group = client.seat.group
        guard turns[group].indices.contains(index), turns[group][index] != nil else { return nil }
        turns[group][index]?.advance(to: due - min(due, control.beganAt))
        guard turns[group][index]?.speaks(client.seat.member) == false else { return nil }
        let change = (turns[group][index]?.nextChange ?? 0).addingReportingOverflow(control.beganAt)
        return max(change.overflow ? .max : change.partialValue, due + 1)
    }

    private func knowsTime(_ client: LoadClient) -> Bool { !target.usesRelayClock || client.clockOffset != 0 }

    /// An instant of this machine as frames carry it.
    private func stamped(_ instant: UInt64, _ client: LoadClient) -> UInt64 { UInt64(bitPattern: Int64(bitPattern: instant) &+ client.clockOffset) }

    private func stopPublishing() {
        isPublishing = false
        for client in clients { endStreams(client) }
    }

    /// Says how many frames there were, to whoever hears them, and keeps it for this process.
    func endStreams(_ client: LoadClient) {
        for (stream, total) in client.outgoing {
            var total = total
            total.total = stream.number
            tally.published[StreamKey(room: client.seat.room, stream: stream.stream.rawValue)] = total
            guard stream.number > 0, client.state == .present || client.state == .joining, let session = client.session else { continue }
            FrameStamp(dueNanoseconds: stamped(now, client), number: stream.number, isLast: true).write(into: &payload)
            for layer in 0..<stream.layerCount where stream.isWanted(layer) {
                let length = FrameStamp.byteCount
                if unsafe session.sendFrame(stream.frame(layer).header, payload: payload.span.bytes.extracting(first: length)) {
                    tally.sentInAll += 1
                }
            }
        }
        client.outgoing.removeAll()
    }

    // MARK: The end

    private func finishCounting() {
        for client in clients {
            let isOwed = client.state == .present || client.isLost
            tally.clients.append(
                ClientResult(
                    seat: client.seat.index, room: client.seat.room, due: client.due - client.excused, delivered: client.delivered,
                    latency: client.latency,
                    hearsSince: isOwed && client.hearsSince != .max && !client.isInterrupted ? client.hearsSince : nil,
                    streams: isOwed ? client.incoming : []))
            recordJitter(client)
            client.incoming.removeAll()
        }
        isCounting = false
    }

    private func closeAll() throws {
        for client in clients {
            switch client.line {
            case .plain(let session)?: if !session.hasEnded { session.close() }
            case .resumable(let session)?: session.close()
            case nil: continue
            }
            client.state = .closing
        }
        let deadline = now + LoadLoop.closeNanosecondsMax
        while loop.sessionCount > 0, now < deadline { try turn(until: deadline) }
    }

    // MARK: Telling

    private func endSecond() {
        let wall = Int64(WallClock.now() / 1_000)
        if wall == second.unixSecond { return }
        second.clientsConnected = clients.count { $0.isConnected }
        let finished = second
        control.tell(number) { $0.finished.append(finished) }
        second = LoadReport.TimelineSecond(unixSecond: wall)
        if target.usesRelayClock { updateClocks() }
    }

    private func updateClocks() {
        let instant = MonotonicClock.now()
        for client in clients {
            guard let milliseconds = client.session?.relayMilliseconds(at: instant), milliseconds.magnitude < 1e15 else { continue }
            client.clockOffset = Int64(milliseconds * 1e6) &- Int64(bitPattern: instant.nanoseconds)
        }
    }

    private func tellStatus(_ phase: LoopStatus.Phase) {
        let reached = tally.reached
        let failed = tally.failedByReason.values.reduce(0, +)
        let connected = clients.count { $0.isConnected }
        let (sent, received) = (tally.sentInAll, tally.receivedInAll)
        control.tell(number) { status in
            if status.phase == .playing || phase != .playing { status.phase = phase }
            status.reached = reached
            status.failed = failed
            status.connected = connected
            status.framesSent = sent
            status.framesReceived = received
        }
    }
}
