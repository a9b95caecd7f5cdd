import CertificateAuthority
import Glibc
import Reactor
import RelayBase
import RelayRooms
import Signalling
import Synchronization

/// What the loops of one process share: immutable settings, mailboxes, rings, and what the accept path counts together.
final class Shared: Sendable {
    let configuration: ServerConfiguration
    let limits: Limits
    let node: String
    let loops: Int
    /// Threads that work on sound. Among mailboxes and rings they come behind the loops.
    let audioWorkers: Int
    /// The thread that speaks with other nodes, behind all of them; `nil` without a cluster.
    let gateway: Int?
    let mailboxes: [Mailbox<LoopMessage>]
    let wakes: [EventFD]
    /// `rings[from][to]`.
    let rings: [[MediaRing]]
    let admission: Admission
    let board: MetricsBoard
    let clusterBoard = ClusterBoard(count: 1, empty: ClusterCounters())
    let audioBoard: AudioBoard
    /// Overviews for administrators.
    let live: LiveDesk
    let log: Log
    let audit: Audit
    /// The authority that devices enrol with, if they do so here.
    let enrolment: EnrolmentWorker?
    let commands: SupervisorCommands
    let pairing: PairingState
    let pairWorker: PairWorker
    let resumeTickets: ResumeTickets
    let listenTickets = ListenTickets()
    let readiness = DrainState()
    let sessionIDs = SessionIDs()
    /// The AsyncAPI document of the control messages, under this relay's limits.
    let messageDescription: [UInt8]
    /// What clients' clocks are held against.
    let clock = SteadyClock.started()
    let endedLoops = Atomic<Int>(0)
    /// WebSockets of all loops: a draining loop ends with the last of them, because it may be home to rooms whose members are elsewhere.
    let webSockets = Atomic<Int>(0)

    private static let broadcastTriesMax = 5_000
    private static let mailboxMessagesMax = 1 << 16

    init(
        configuration: ServerConfiguration, pairing: PairingState, authority: CertificateAuthority?, log: Log, audit: Audit
    ) throws(SystemFault) {
        self.configuration = configuration
        self.log = log
        self.pairing = pairing
        self.audit = audit
        enrolment =
            if let authority, let enrolment = configuration.enrolment {
                try EnrolmentWorker(authority, configuration: enrolment, log: log)
            } else { nil }
        commands = try SupervisorCommands()
        limits = configuration.limits
        messageDescription = Array(ProtocolDescription(limits: configuration.limits).text.utf8)
        node = configuration.node
        loops = configuration.loops
        audioWorkers = configuration.audioWorkers
        live = try LiveDesk(loops: configuration.loops)
        let local = configuration.loops + configuration.audioWorkers
        gateway = configuration.cluster == nil ? nil : local
        let threads = gateway == nil ? local : local + 1
        var wakes: [EventFD] = []
        for _ in 0..<threads { wakes.append(try EventFD()) }
        self.wakes = wakes
        mailboxes = wakes.map { Mailbox(capacity: Shared.mailboxMessagesMax, wake: $0) }
        pairWorker = try PairWorker(
            path: pairing.grantFile, signer: pairing.signer, log: log, readiness: readiness, replies: mailboxes[PairDesk.loop])
        // A ring takes records of up to half its capacity: two of the largest frames. Untouched memory costs nothing.
        let ringBytes = configuration.loops > 1 || configuration.cluster != nil ? max(configuration.limits.videoFrameBytesMax * 4, 1 << 20) : 64
        let audioRingBytes = max(configuration.limits.audioFrameBytesMax * 8, 1 << 20)
        rings = (0..<threads).map { from in
            (0..<threads).map { to in
                // Workers get sound only; loops, and the gateway beside them, everything.
                let isWorker = { (place: Int) in place >= configuration.loops && place < local }
                let isAudio = isWorker(from) != isWorker(to)
                let isUsed = from != to && (isAudio || !isWorker(from))
                return MediaRing(capacity: isAudio ? audioRingBytes : isUsed ? ringBytes : 64)
            }
        }
        resumeTickets = ResumeTickets(parkedPerIdentityMax: configuration.limits.parkedSessionsPerIdentityMax)
        admission = Admission(limits: configuration.limits)
        board = MetricsBoard(count: configuration.loops, empty: LoopCounters())
        audioBoard = AudioBoard(count: configuration.audioWorkers, empty: AudioSnapshot())
    }

    /// Posts to every loop, waiting for full mailboxes: never from a loop's own thread.
    func broadcast(_ message: LoopMessage) {
        for (loop, mailbox) in mailboxes.enumerated() {
            var tries = 0
            while mailbox.post(message) == .full, tries < Shared.broadcastTriesMax {
                tries += 1
                usleep(1_000)
            }
            if tries == Shared.broadcastTriesMax { log.error("loop_does_not_answer", [("loop", "\(loop)")]) }
        }
    }

    /// How much more the relay would take, in percent.
    var balancerWeight: Int {
        var sum = LoopCounters()
        for loop in board.snapshot() { sum.add(loop) }
        return BalancerWeight.percent(busyShare: sum.busyShare, connections: sum.connections, of: limits.connectionsMax)
    }

    var isReady: Bool { !readiness.isDraining && (gateway == nil || readiness.clusterNumber != 0) }

    /// The worker that has everything of a room that is heard: its place among mailboxes and rings.
    func audioWorker(of room: RoomNumber) -> Int {
        // Numbers come in steps of the number of loops: their bits are spread first.
        loops + Int((room.value &* 0x9E37_79B9_7F4A_7C15) >> 32) % audioWorkers
    }

    /// The loop that holds a room's control state: FNV-1a of its name, the same on every loop.
    func home(of name: RoomName) -> Int {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in name.text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return Int(hash % UInt64(loops))
    }
}

/// Whether the relay takes new work; read by `/readyz`.
final class DrainState: Sendable {
    private let draining = Atomic<Bool>(false)

    var isDraining: Bool { draining.load(ordering: .acquiring) }

    /// Parts whose files could not be taken over, a bit each: the relay runs on with what it had.
    private let staleParts = Atomic<UInt32>(0)

    var stale: [ReloadPart] {
        let bits = staleParts.load(ordering: .acquiring)
        return ReloadPart.allCases.enumerated().filter { bits >> UInt32($0.offset) & 1 == 1 }.map(\.element)
    }

    func set(_ part: ReloadPart, isStale: Bool) {
        guard let place = ReloadPart.allCases.firstIndex(of: part) else { return }
        let bit = UInt32(1) << UInt32(place)
        if isStale { staleParts.bitwiseOr(bit, ordering: .releasing) } else { staleParts.bitwiseAnd(~bit, ordering: .releasing) }
    }

    private let staples = Atomic<Int>(0)
    /// OCSP responses that are past their nextUpdate, or could not be taken over.
    var staleStaples: Int { staples.load(ordering: .acquiring) }

    func setStaleStaples(_ count: Int) {
        staples.store(count, ordering: .releasing)
    }

    /// The ledger of grants could not be written: what has happened since would be lost with the process.
    private let unsavedGrants = Atomic<Bool>(false)

    var grantsAreUnsaved: Bool { unsavedGrants.load(ordering: .acquiring) }

    func setGrantsAreUnsaved(_ areUnsaved: Bool) {
        unsavedGrants.store(areUnsaved, ordering: .releasing)
    }

    private let clusterDegraded = Atomic<Bool>(false)
    /// The node is one of several and cannot reach the others.
    var clusterIsDegraded: Bool { clusterDegraded.load(ordering: .acquiring) }

    func set(clusterIsDegraded: Bool) { clusterDegraded.store(clusterIsDegraded, ordering: .releasing) }

    private let clusterNode = Atomic<Int>(0)
    /// The node's number in its cluster; 0: it has none yet, and takes nobody into a room.
    var clusterNumber: Int { clusterNode.load(ordering: .acquiring) }

    func set(clusterNumber: Int) { clusterNode.store(clusterNumber, ordering: .releasing) }

    private let refusedCongestionControls = Atomic<Int>(0)
    /// Listening sockets that did not take the configured congestion control.
    var congestionControlsRefused: Int { refusedCongestionControls.load(ordering: .acquiring) }

    /// - Returns: how many there are now.
    func countRefusedCongestionControl() -> Int { refusedCongestionControls.add(1, ordering: .acquiringAndReleasing).newValue }

    func setDraining(_ isDraining: Bool) {
        draining.store(isDraining, ordering: .releasing)
    }
}

/// Counts connections and handshakes in flight over all loops. Touched when a connection comes, is shaken hands with, and goes; never per frame.
final class Admission: Sendable {
    enum Refusal: String, Sendable {
        case connectionsMax = "connections_max"
        case connectionsPerAddressMax = "connections_per_address_max"
        case handshakesInFlightMax = "handshakes_in_flight_max"
        case handshakesInFlightPerAddressMax = "handshakes_in_flight_per_address_max"
    }

    private struct Counts {
        var connections = 0
        var handshakes = 0
    }

    private struct State {
        var total = Counts()
        var byAddress: [AddressKey: Counts] = [:]
    }

    private let limits: Limits
    private let state = Locked(State())

    init(limits: Limits) {
        self.limits = limits
    }

    /// Counts a new connection and its handshake in, or says which bound forbids it.
    func admit(_ address: AddressKey) -> Refusal? {
        state.withLock { state in
            let own = state.byAddress[address] ?? Counts()
            if state.total.connections >= limits.connectionsMax { return .connectionsMax }
            if own.connections >= limits.connectionsPerAddressMax { return .connectionsPerAddressMax }
            if state.total.handshakes >= limits.handshakesInFlightMax { return .handshakesInFlightMax }
            if own.handshakes >= limits.handshakesInFlightPerAddressMax { return .handshakesInFlightPerAddressMax }
            state.total.connections += 1
            state.total.handshakes += 1
            state.byAddress[address] = Counts(connections: own.connections + 1, handshakes: own.handshakes + 1)
            return nil
        }
    }

    /// Counts a connection, whose handshake is under way, for the client that a proxy's header names instead of for the proxy; or says which bound
    /// forbids it, and then it is counted as it was.
    func move(from proxy: AddressKey, to client: AddressKey) -> Refusal? {
        state.withLock { state in
            guard proxy != client else { return nil }
            let own = state.byAddress[client] ?? Counts()
            if own.connections >= limits.connectionsPerAddressMax { return .connectionsPerAddressMax }
            if own.handshakes >= limits.handshakesInFlightPerAddressMax { return .handshakesInFlightPerAddressMax }
            state.byAddress[proxy]?.connections -= 1
            state.byAddress[proxy]?.handshakes -= 1
            if state.byAddress[proxy]?.connections == 0 { state.byAddress[proxy] = nil }
            state.byAddress[client] = Counts(connections: own.connections + 1, handshakes: own.handshakes + 1)
            return nil
        }
    }

    func handshakeEnded(_ address: AddressKey) {
        state.withLock { state in
            state.total.handshakes -= 1
            state.byAddress[address]?.handshakes -= 1
        }
    }

    func connectionEnded(_ address: AddressKey) {
        state.withLock { state in
            state.total.connections -= 1
            state.byAddress[address]?.connections -= 1
            if state.byAddress[address]?.connections == 0 { state.byAddress[address] = nil }
        }
    }
}

/// Names of sessions: 128 bits from the system's generator, so that nobody guesses another's.
final class SessionIDs: Sendable {
    func next() -> String { DrawnSecret(byteCount: 16).text }
}
