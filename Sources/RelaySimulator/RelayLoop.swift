import MediaProtocol
import RelayBase
import RelayRooms

/// One loop of the simulated relay: does with the pure core what `EventLoop` does with it, turn by turn, and nothing else.
@safe
final class RelayLoop {
    let index: Int
    unowned let world: Simulator
    let limits: Limits
    var sessions: Slab<RelaySession>
    var rooms = Slab<SimulatedRoom>()
    var roomHandles: [RoomNumber: Handle] = [:]
    var home: SimulatedRooms
    let budget: ByteBudget
    let egress: UnsafeMutableRawBufferPointer
    var dirtyRooms: [SimulatedRoom] = []
    var dirtySessions: [RelaySession] = []
    /// What other loops posted, and what this one posted to itself.
    var mailbox: [LoopMail] = []
    var inbox: [LoopMail] = []
    /// Connections with something for this turn.
    var readable: [SimulatedConnection] = []
    var writable: [SimulatedConnection] = []
    var broken: [SimulatedConnection] = []
    var flowing: [SimulatedConnection] = []
    var isHousekeepingDue = false
    var isLayerLookDue = false
    var layerLooks = 0
    var nextTurn: MonotonicInstant?
    var framesLostBetweenLoops = 0

    static let egressBytes = 16 << 10
    static let housekeepingMilliseconds: UInt64 = 250
    static let auditSteps = 20_000

    init(index: Int, world: Simulator, loops: Int, limits: Limits) {
        self.index = index
        self.world = world
        self.limits = limits
        sessions = Slab(capacityMax: limits.connectionsMax)
        home = SimulatedRooms(limits: limits, loop: index, loops: loops)
        budget = ByteBudget(bytesMax: limits.cacheBytesMax)
        unsafe egress = .allocate(byteCount: RelayLoop.egressBytes, alignment: 64)
    }

    deinit {
        unsafe egress.deallocate()
    }

    var now: MonotonicInstant { world.now }

    /// A turn of the loop: the order is `EventLoop.turn`'s.
    func turn() {
        for connection in writable { resumeWriting(connection) }
        writable.removeAll(keepingCapacity: true)
        for connection in readable { receive(connection) }
        readable.removeAll(keepingCapacity: true)
        for connection in broken { connectionBroken(connection) }
        broken.removeAll(keepingCapacity: true)
        let mail = mailbox
        mailbox.removeAll(keepingCapacity: true)
        drainRings()
        for message in mail { handle(message) }
        drainInbox()
        if isHousekeepingDue {
            isHousekeepingDue = false
            housekeeping()
        }
        if isLayerLookDue {
            isLayerLookDue = false
            lookAtLayers()
        }
        for connection in flowing where connection.session?.flow.timerAt.map({ $0 <= now }) == true { flowTimer(connection) }
        flowing.removeAll(keepingCapacity: true)
        flushDirty()
    }

    func drainInbox() {
        var place = 0
        while place < inbox.count {
            let message = inbox[place]
            place += 1
            handle(message)
        }
        inbox.removeAll(keepingCapacity: true)
    }

    func post(_ mail: LoopMail, to loop: Int) {
        if loop == index {
            inbox.append(mail)
        } else {
            world.loops[loop].mailbox.append(mail)
            world.wake(loop)
        }
    }

    private func handle(_ mail: LoopMail) {
        switch mail {
        case .join(let name, let address): joinAtHome(name, address)
        case .leave(let room, let participant): leaveAtHome(room, participant)
        case .publish(let room, let participant, let address, let offer): publishAtHome(room, participant, address, offer)
        case .unpublish(let room, let participant, let stream): unpublishAtHome(room, participant, stream)
        case .joined(let token, let joined): self.joined(token, joined)
        case .published(let address, let room, let request, let stream, let via):
            if address.loop == index { published(address.token, room, request, stream) } else { passPublished(address, room, request, stream, via) }
        case .participantsChanged(let room): tell(room, .participantsChanged, [], except: nil)
        case .streamAdded(let room, let entry): streamAdded(room, entry)
        case .streamEnded(let room, let stream): streamEnded(room, stream)
        case .interest(let room, let stream, let interest, let layers, let isWanted): setInterest(room, stream, interest, layers, isWanted)
        case .keyFrameWanted(let room, let stream, let spatial): wantKeyFrame(room, stream, spatial)
        case .ladder(let room, let stream, let ladder): setLadder(room, stream, ladder)
        case .resume(let address, let connection, let marks): resume(address, world.connections[connection], marks)
        }
    }

    func markDirty(_ room: SimulatedRoom) {
        guard !room.isDirty else { return }
        room.isDirty = true
        dirtyRooms.append(room)
    }

    func room(_ number: RoomNumber) -> SimulatedRoom? {
        roomHandles[number].flatMap { rooms[$0] }
    }

    func session(_ token: UInt64) -> RelaySession? {
        sessions[Handle(packed: token)]
    }

    func send(_ session: RelaySession, _ notice: RelayNotice, _ words: [UInt32] = []) {
        guard !session.hasEnded, !session.isParked else { return }
        session.control.append(notice.encoded(words))
        dirtySessions.append(session)
    }

    private func housekeeping() {
        var steps = RelayLoop.auditSteps
        for handle in rooms.handles {
            guard let room = rooms[handle] else { continue }
            room.fanout.tidy(now: now)
            let unaccounted = room.fanout.audit(steps: &steps)
            world.require(unaccounted == 0, "loop \(index): the audit found \(unaccounted) frames in no counter, or in two")
            requestKeyFrames(room)
        }
        endParked()
        for handle in sessions.handles {
            guard let session = sessions[handle], !session.isParked, session.isBlocked || session.flow.isHeld else { continue }
            if now.milliseconds(since: session.lastProgress) >= limits.stallMillisecondsMax { world.closeFromRelay(session.connection) }
        }
    }
}
