import MediaProtocol
import RelayBase
package import RelayRooms

/// A whole relay with its clients and their links, run in virtual time from one seed.
///
/// Nothing in it knows of clocks, hashing or threads: the same scenario gives the same run on every machine. A run ends with its statistics or with the first
/// invariant that did not hold.
package final class Simulator {
    let scenario: Scenario
    private(set) var now = MonotonicInstant(nanoseconds: 1_000_000_000)
    private var queue = EventQueue()
    private(set) var loops: [RelayLoop] = []
    var rings: [[SimulatedRing]] = []
    private(set) var clients: [SimulatedClient] = []
    private(set) var connections: [SimulatedConnection] = []
    private var paths: [TCPPath] = []
    private var pathConnection: [Int] = []
    private var generator: SeededGenerator
    private var trace = Trace()
    private let printsTrace: ((String) -> Void)?
    private(set) var fault: SimulationFault?
    var digest = RunDigest()
    /// By room and stream: what was published.
    private var streams: [UInt64: StreamTruth] = [:]
    var keyFrameRequests: [UInt64: MonotonicInstant] = [:]

    /// Publishers have stopped, and links are good.
    private(set) var isHealed = false
    /// Nobody comes any more.
    private(set) var isEnding = false

    /// Where the frames of all who have left went.
    var account = FrameAccount()
    var framesPublished = 0
    var framesDelivered = 0
    var framesRefused = 0
    var framesLostBetweenLoops = 0
    var bytesSent: UInt64 = 0
    var events = 0

    /// - Parameter trace: is given every line of the run's trace as it is made.
    package init(_ scenario: Scenario, trace: ((String) -> Void)? = nil) {
        self.scenario = scenario
        printsTrace = trace
        let seeds = SeededGenerator(seed: scenario.seed)
        generator = seeds.split(2)
        rings = Array(repeating: Array(repeating: SimulatedRing(bytesMax: scenario.ringBytes), count: scenario.loops), count: scenario.loops)
        loops = (0..<scenario.loops).map { RelayLoop(index: $0, world: self, loops: scenario.loops, limits: scenario.limits) }
        clients = scenario.clients.enumerated().map { index, plan in
            SimulatedClient(index: index, world: self, plan: plan, generator: seeds.split(100 + UInt64(index)))
        }
    }

    /// Whether a subscriber on a good link may lose no frame.
    var isLossless: Bool { !scenario.isTight }

    // MARK: Running

    /// Runs to the end.
    ///
    /// - Throws: the first invariant that did not hold.
    package func run() throws(SimulationFault) -> SimulationResult {
        for client in clients {
            schedule(.connect(client: client.index), at: now.advanced(byMilliseconds: client.plan.comesAfterMilliseconds))
            client.scheduleAct()
        }
        for loop in loops { schedule(.housekeeping(loop: loop.index), at: now.advanced(byMilliseconds: 1 + UInt64(loop.index) * 70)) }
        for loop in loops { schedule(.layerLook(loop: loop.index), at: now.advanced(byMilliseconds: 37 + UInt64(loop.index) * 30)) }
        let end = now.advanced(byMilliseconds: UInt64(scenario.seconds) * 1_000)
        schedule(.check, at: now)
        schedule(.heal, at: end)
        schedule(.leaveAll, at: end.advanced(byMilliseconds: Simulator.drainMilliseconds))
        let close = end.advanced(byMilliseconds: Simulator.drainMilliseconds + Simulator.leaveMilliseconds)
        while fault == nil, let instant = queue.nextInstant, instant <= close, let (at, event) = queue.popFirst() {
            now = at
            events += 1
            perform(event)
        }
        if fault == nil { checkNothingIsLeft() }
        if let fault { throw fault }
        return SimulationResult(
            digest: digest.value, account: account, events: events, framesPublished: framesPublished, framesDelivered: framesDelivered,
            framesRefused: framesRefused,
            framesLostBetweenLoops: framesLostBetweenLoops, bytesSent: bytesSent)
    }

    /// How long everything that waits has to come out once nothing new comes in, and how long everybody has to leave.
    private static let drainMilliseconds: UInt64 = 8_000
    private static let leaveMilliseconds: UInt64 = 4_000

    private func perform(_ event: SimulatedEvent) {
        switch event {
        case .turn(let loop):
            guard loops[loop].nextTurn == now else { return }
            loops[loop].nextTurn = nil
            loops[loop].turn()
        case .housekeeping(let loop):
            loops[loop].isHousekeepingDue = true
            wake(loop)
            schedule(event, at: now.advanced(byMilliseconds: RelayLoop.housekeepingMilliseconds))
        case .layerLook(let loop):
            loops[loop].isLayerLookDue = true
            wake(loop)
            schedule(event, at: now.advanced(byMilliseconds: RelayLoop.layerLookMilliseconds))
        case .arrived(let path, let byteCount): arrived(path, byteCount)
        case .acknowledged(let path, let byteCount): acknowledged(path, byteCount)
        case .broken(let connection):
            loops[connections[connection].loop].broken.append(connections[connection])
            wake(connections[connection].loop)
        case .flow(let connection):
            loops[connections[connection].loop].flowing.append(connections[connection])
            wake(connections[connection].loop)
        case .frame(let client, let publication): clients[client].frameDue(UInt32(publication))
        case .read(let client):
            clients[client].isReadScheduled = false
            clients[client].read()
        case .act(let client): clients[client].act()
        case .connect(let client): clients[client].connect()
        case .check:
            checkAccounts()
            schedule(.check, at: now.advanced(byMilliseconds: 500))
        case .heal: heal()
        case .leaveAll: leaveAll()
        }
    }

    func schedule(_ event: SimulatedEvent, at instant: MonotonicInstant) {
        queue.schedule(event, at: instant)
    }

    /// A loop has something to do: it comes to it within a fraction of a millisecond, as a thread does that must be woken.
    func wake(_ loop: Int) {
        guard loops[loop].nextTurn == nil else { return }
        let at = now.advanced(byNanoseconds: generator.draw(5_000...400_000))
        loops[loop].nextTurn = at
        schedule(.turn(loop: loop), at: at)
    }

    // MARK: Connections

    func connect(_ client: SimulatedClient) -> SimulatedConnection {
        let plan = client.plan
        let id = connections.count
        // A reconnection may come to another loop.
        let loop = client.isSteady ? plan.loop : generator.draw(0...(loops.count - 1))
        let down = path(plan.down, connection: id, receiveBufferBytes: plan.receiveBufferBytes)
        let up = path(plan.up, connection: id, receiveBufferBytes: 256 << 10)
        let connection = SimulatedConnection(id: id, client: client.index, loop: loop, down: down, up: up)
        connections.append(connection)
        require(loops[loop].accept(connection), "loop \(loop) has no place for a connection")
        note("connects", client.index, id, loop)
        return connection
    }

    private func path(_ profile: LinkProfile, connection: Int, receiveBufferBytes: Int) -> TCPPath {
        let path = TCPPath(
            id: paths.count, world: self, profile: isHealed ? .best : profile, receiveBufferBytes: receiveBufferBytes,
            generator: generator.split(UInt64(10_000 + paths.count)))
        paths.append(path)
        pathConnection.append(connection)
        return path
    }

    private func arrived(_ path: Int, _ byteCount: Int) {
        let connection = connections[pathConnection[path]]
        guard !connection.isGone, paths[path].arrive(byteCount) else { return }
        if paths[path] === connection.down {
            clients[connection.client].read()
        } else {
            connection.arriveUp(byteCount)
            guard connection.session != nil else { return }
            loops[connection.loop].readable.append(connection)
            wake(connection.loop)
        }
    }

    private func acknowledged(_ path: Int, _ byteCount: Int) {
        let connection = connections[pathConnection[path]]
        guard !connection.isGone, paths[path].acknowledge(byteCount) else { return }
        if paths[path] === connection.down {
            guard connection.session?.isBlocked == true else { return }
            loops[connection.loop].writable.append(connection)
            wake(connection.loop)
        } else {
            connection.pushUp()
        }
    }

    /// The client's end breaks: what was under way is lost, and the relay hears of it when the reset arrives.
    func breakConnection(_ connection: SimulatedConnection) {
        connection.isGone = true
        if isEnding || !clients[connection.client].lost(connection) { clients[connection.client].disconnected() }
        schedule(
            .broken(connection: connection.id), at: max(now, connection.up.outageEnd).advanced(byNanoseconds: connection.up.profile.delayNanoseconds))
    }

    /// Whether a session may wait for its client.
    func mayPark(_ connection: SimulatedConnection) -> Bool {
        clients[connection.client].plan.resumes && !isEnding && !connection.isRefused
    }

    /// The relay's end gives up: the client hears of it, and comes again.
    func closeFromRelay(_ connection: SimulatedConnection) {
        guard !connection.isGone else { return }
        note("closed by the relay", connection.client, connection.id, 0)
        require(!clients[connection.client].isSteady, "client \(connection.client) was closed for having stalled, and has not")
        connection.isGone = true
        connection.isRefused = true
        clients[connection.client].disconnected()
        schedule(.broken(connection: connection.id), at: now)
        schedule(.connect(client: connection.client), at: now.advanced(byMilliseconds: 1_000))
    }

    // MARK: The end

    private func heal() {
        note("heals", 0, 0, 0)
        checkNobodyStarves()
        isHealed = true
        for connection in connections where !connection.isGone {
            for path in [connection.down, connection.up] {
                path.profile = .best
                path.endOutage()
            }
        }
        for client in clients {
            client.readsBytesPerSecond = nil
            client.readsAgainAt = now
            client.read()
        }
    }

    private func leaveAll() {
        note("everybody leaves", 0, 0, 0)
        isEnding = true
        checkDrained()
        for client in clients {
            // Half of them say so, and half just go.
            if client.index.isMultiple(of: 2) {
                client.say(.leave)
            } else if let connection = client.connection {
                breakConnection(connection)
            }
        }
    }

    // MARK: What is known of streams

    func stream(_ room: UInt32, _ stream: UInt32) -> StreamTruth? {
        streams[UInt64(room) << 32 | UInt64(stream)]
    }

    func published(_ header: MediaHeader, _ room: UInt32, isLayered: Bool) {
        framesPublished += 1
        let key = UInt64(room) << 32 | UInt64(header.stream.rawValue)
        streams[key, default: StreamTruth(first: header.sequence, isLayered: isLayered)].last = header.sequence
    }

    /// A publisher's frame has come to its loop: whatever lies between it and the one before of its layer never will.
    func came(_ room: UInt32, _ header: MediaHeader) {
        let key = UInt64(room) << 32 | UInt64(header.stream.rawValue)
        streams[key]?.noteArrival(header, at: now)
        guard streams[key]?.isLayered == false else { return }
        if streams[key]?.lastCame == nil { streams[key]?.firstCame = header.sequence }
        if let last = streams[key]?.lastCame, header.sequence != last &+ 1 { streams[key]?.holes.append((last, header.sequence)) }
        streams[key]?.lastCame = header.sequence
    }

    /// Whether a frame of a stream without layers follows another, of those that came to the relay.
    func follows(_ header: MediaHeader, _ last: UInt32, _ room: UInt32) -> Bool {
        header.sequence == last &+ 1
            || stream(room, header.stream.rawValue)?.holes.contains { $0.before == last && $0.behind == header.sequence } == true
    }

    // MARK: Faults

    func note(_ what: StaticString, _ a: Int, _ b: Int, _ c: Int) {
        let line = TraceLine(at: sinceBegin, what: what, a: a, b: b, c: c)
        trace.add(line)
        if let printsTrace { printsTrace(line.text) }
    }

    private var sinceBegin: MonotonicInstant { MonotonicInstant(nanoseconds: now.nanoseconds - 1_000_000_000) }

    /// The first condition that does not hold ends the run.
    func require(_ condition: Bool, _ invariant: @autoclosure () -> String) {
        guard !condition, fault == nil else { return }
        fault = SimulationFault(
            seed: scenario.seed, seconds: scenario.seconds, at: sinceBegin, invariant: invariant(), lastEvents: trace.texts)
    }
}

/// What was published of a stream, and what of it came to the relay.
struct StreamTruth {
    let first: UInt32
    let isLayered: Bool
    var last: UInt32
    var firstCame: UInt32?
    var lastCame: UInt32?
    /// Frames that were lost with their publisher's connection lie between these.
    var holes: [(before: UInt32, behind: UInt32)] = []
    /// By spatial layer.
    private var arrivals: [ArrivalMemory] = []

    init(first: UInt32, isLayered: Bool) {
        self.first = first
        self.isLayered = isLayered
        last = first
    }

    mutating func noteArrival(_ header: MediaHeader, at instant: MonotonicInstant) {
        let spatial = Int(header.layer.spatial)
        while arrivals.count <= spatial { arrivals.append(ArrivalMemory()) }
        arrivals[spatial].note(header.sequence, at: instant)
    }

    /// When a frame came to its publisher's loop; `nil`: so long ago that it is not known any more.
    func arrival(of header: MediaHeader) -> MonotonicInstant? {
        let spatial = Int(header.layer.spatial)
        return spatial < arrivals.count ? arrivals[spatial].arrival(of: header.sequence) : nil
    }
}

/// What a run did.
package struct SimulationResult: Sendable, Equatable {
    /// A fingerprint of all that clients received, and when.
    package let digest: UInt64
    /// Where the frames of all subscribers went.
    package let account: FrameAccount
    package let events: Int
    package let framesPublished: Int
    package let framesDelivered: Int
    package let framesRefused: Int
    package let framesLostBetweenLoops: Int
    package let bytesSent: UInt64
}
