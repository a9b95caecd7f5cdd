import ClusterProtocol
import FoundationEssentials
import Glibc
import NATSTransport
import Reactor
import RelayBase
import RelayRooms
import Signalling
import Synchronization

/// The thread that speaks with the other nodes of a cluster: it carries what loops say to loops elsewhere, knows which nodes there are and which of them is home to
/// which room, and sees to it that rooms outlive their homes.
///
/// To the loops it is one more of them, with a mailbox and rings. What is decided, ``NodeTable``, ``RoomHomes`` and ``RoomCopy`` decide.
@safe
final class ClusterGateway {
    typealias Copy = RoomCopy<MemberProfile, RelayMessage.StreamInfo>

    /// Among mailboxes and rings.
    let index: Int
    let shared: Shared
    let settings: ClusterSettings
    let nats: NATSConnection
    let subjects: ClusterSubjects
    let start = UInt32.random(in: 0...UInt32.max)
    let incarnation = UInt64.random(in: 0...UInt64.max)
    var now: MonotonicInstant
    /// `nil` until the node has a number: until then it joins nobody to anything.
    var table: NodeTable?
    var membership = GatewayMembership()
    var homes = RoomHomes<RoomRequest>(own: 0)
    /// Rooms of other nodes with members here.
    var copies: [RoomNumber: Copy] = [:]
    var numbers: [RoomName: RoomNumber] = [:]
    /// Where rooms have members here that no copy is there of yet.
    var openedLoops: [RoomNumber: Set<Int>] = [:]
    /// Rooms that this node is home to.
    var ownRooms: [RoomName: RoomNumber] = [:]
    var ownNames: [RoomNumber: RoomName] = [:]
    /// Rooms that this node was home to and is about to let go of: who has them, and how, where this node gave them itself.
    var surrendering: [RoomName: (node: Int, entry: (revision: UInt64, epoch: UInt64)?)] = [:]
    /// Nodes that were heard of before this one had a number.
    var earlyStates: [NodeState] = []
    /// Joins that came before the node had a number.
    var early: [RoomRequest] = []
    /// Tokens of other nodes that are being looked into, by their digest.
    var claims: [String: PendingClaim] = [:]
    /// What the registry has been asked.
    var asked: [UInt64: RegistryQuestion] = [:]
    var nextQuestion: UInt64 = 1
    var media = GatewayMedia()
    var counters = ClusterCounters()
    let coder: NodeCoder
    private var ringsOut: RingWriter
    private var mail: [LoopMessage] = []
    private var events: [NATSEvent] = []
    private var outbox: Outbox
    private var isStopping = false

    static let heartbeatsPerLease: UInt64 = 4
    static let earlyMax = 1_024
    private static let outboxMessagesMax = 1 << 16

    init(shared: Shared, settings: ClusterSettings, index: Int) throws(SystemFault) {
        self.shared = shared
        self.settings = settings
        self.index = index
        now = MonotonicClock.now()
        coder = NodeCoder(loops: index)
        ringsOut = RingWriter(shared.rings[index], wakes: shared.wakes)
        outbox = Outbox(shared.mailboxes, messagesMax: ClusterGateway.outboxMessagesMax)
        subjects = ClusterSubjects(cluster: settings.name)
        nats = NATSConnection(NATSSettings(settings, name: shared.node), wake: shared.wakes[index])
    }

    func run() {
        // This node's own heartbeats are among what is watched.
        nats.watch(subjects.nodes, silenceMilliseconds: settings.leaseMilliseconds / 2)
        do throws(SystemFault) {
            try nats.start()
        } catch {
            shared.log.error("cluster_failed", [("fault", "\(error)")])
        }
        while !isStopping {
            wait()
            now = MonotonicClock.now()
            turn()
        }
        leave()
        nats.stop()
    }

    private func wait() {
        guard mail.isEmpty, events.isEmpty else { return }
        let due = membership.nextDue ?? now.advanced(byMilliseconds: 1_000)
        let current = MonotonicClock.now()
        let milliseconds = due > current ? Int32(clamping: min(due.milliseconds(since: current) + 1, 1_000)) : 0
        var descriptor = pollfd(fd: shared.wakes[index].descriptor.number, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&descriptor, 1, milliseconds)
        shared.wakes[index].reset()
    }

    private func turn() {
        // Frames go before the messages that were posted after them.
        shared.mailboxes[index].drain(into: &mail)
        drainRings()
        let letters = mail
        mail.removeAll(keepingCapacity: true)
        for letter in letters { handle(letter) }
        nats.takeEvents(into: &events)
        let news = events
        events.removeAll(keepingCapacity: true)
        for event in news { handle(event) }
        keepMembership()
        expireClaims()
        sendMedia()
        ringsOut.wake()
        outbox.retry()
        shared.clusterBoard.publish(snapshot(), at: 0)
    }

    func post(_ message: LoopMessage, to loop: Int) {
        if !outbox.post(message, to: loop) { counters.lost("mailbox") }
    }

    func postToEveryLoop(_ message: LoopMessage, first: Int? = nil) {
        if let first { post(message, to: first) }
        for loop in 0..<shared.loops where loop != first { post(message, to: loop) }
    }

    /// Room in the ring to a thread of this node.
    func write(_ record: RingRecord, _ frame: UnsafeRawBufferPointer, to loop: Int) -> Bool {
        guard let room = unsafe ringsOut.reserve(record, byteCount: frame.count, to: loop) else { return false }
        unsafe room.copyMemory(from: frame)
        ringsOut.commit(to: loop)
        return true
    }

    // MARK: From this node's loops

    private func handle(_ message: LoopMessage) {
        switch message {
        case .stop: isStopping = true
        case .place(let request): place(.join(request))
        // For loops: they are told to all threads.
        case .reload, .policy, .tokens, .web: break
        case .away(let place, let message): send(message, to: place)
        case .cluster(let mail): handleOwn(mail)
        case .drain: beginDraining(true)
        case .cancelDrain: beginDraining(false)
        default: counters.lost("misdirected")
        }
    }

    // MARK: To other nodes

    /// To a loop of another node, or to that node's gateway.
    func send(_ message: NodeMessage, to place: Int) {
        let node = LoopPlace.node(of: place)
        // An answer goes to whoever has asked: a node that was cut off asks before it is heard of again. A request goes to a node that will answer.
        guard membership.isConnected, mayBeAlive(node) || message.refused == nil else {
            counters.lost("unreachable")
            refuse(message)
            return
        }
        guard let bytes = coder.encode(NodeEnvelope(loop: LoopPlace.loop(of: place), message: message)) else {
            counters.lost("encoding")
            return
        }
        switch nats.publish(subjects.control(of: node), bytes) {
        case .sent: counters.messagesOut &+= 1
        case .notConnected, .full, .tooLarge:
            counters.lost("not_sent")
            refuse(message)
        }
    }

    private func refuse(_ message: NodeMessage) {
        guard let (answer, loop) = message.refused, !LoopPlace.isForeign(loop) else { return }
        post(answer, to: loop)
    }

    // MARK: From NATS

    private func handle(_ event: NATSEvent) {
        switch event {
        case .connected(let server): connected(server)
        case .disconnected(let reason): disconnected(reason)
        case .message(let subject, let payload): received(subject, payload)
        case .nobody(let reply): nobody(reply)
        case .overflowed(let count): counters.lost("overflow", count)
        case .keyValue(let change): changed(change)
        case .watching: watched()
        case .answered(let request, let result): answered(request, result)
        }
    }

    private func received(_ subject: String, _ payload: [UInt8]) {
        guard let table else { return }
        if subject == subjects.media(of: table.own) {
            receiveMedia(payload)
            return
        }
        guard let envelope = coder.decode(payload) else {
            counters.lost("malformed")
            return
        }
        counters.messagesIn &+= 1
        note(envelope.message)
        switch envelope.loop {
        case LoopPlace.gateway:
            switch envelope.message {
            case .join(let request): place(.join(request))
            case .cluster(let mail): handleForeign(mail)
            default: passToHome(envelope.message)
            }
        case LoopPlace.every:
            if let message = envelope.message.forLoop { postToEveryLoop(message, first: firstLoop(for: envelope.message)) }
        case 0..<shared.loops:
            if let message = envelope.message.forLoop { post(message, to: envelope.loop) } else { counters.lost("malformed") }
        default: counters.lost("misdirected")
        }
    }
}
