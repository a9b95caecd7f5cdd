import RelayBase
import RelayRooms
import Signalling

/// What a home loop keeps of its rooms' dealings with other nodes.
struct ClusterHome {
    /// Nobody else can have become home to this node's rooms.
    var holdsLease = true
    /// The node goes away.
    var givesRooms = false
    /// Rooms that have changed since other nodes were given them as they stand, and when they are due.
    var changed: Set<RoomNumber> = []
    var replicatedAt: [RoomNumber: MonotonicInstant] = [:]
    /// By room, the latest roll call, and who has come since it went out: their loops may have answered before they knew.
    var rolls: [RoomNumber: (round: UInt64, since: Set<ParticipantID>)] = [:]
    /// Members whose node is gone: until when they may come back on another.
    var absent: [Absence] = []
    /// Of each name that joins came for: how many, and how many there were when the gateway was told that nobody is left.
    var names: [RoomName: (joins: Int, told: Int)] = [:]
    /// Sessions of this loop that go on elsewhere: their rooms' homes hear so from there.
    var moving: [Absence] = []
    /// Where rooms went that this loop was home to: what still comes for them goes on there. The newest are kept.
    var moved: [(room: RoomNumber, home: Int)] = []

    struct Absence {
        let room: RoomNumber
        let participant: ParticipantID
        let until: MonotonicInstant
    }

    static let movedMax = 4_096
    /// Bytes a second that a room may cost by being given away whole.
    static let membersPerSecond: UInt64 = 2_000
    static let replicaMillisecondsMin: UInt64 = 250

    mutating func note(_ room: RoomNumber, movedTo home: Int) {
        moved.removeAll { $0.room == room }
        if moved.count == ClusterHome.movedMax { moved.removeFirst() }
        moved.append((room, home))
    }
}

/// Rooms whose home is this loop and that span nodes: other nodes with members have a copy of each, a moment old at most, so that one of them can take it over.
extension EventLoop {
    /// Somebody is where the home says from now on.
    func notePlace(_ number: RoomNumber, _ participant: ParticipantID) {
        if shared.gateway != nil { clusterHome.rolls[number]?.since.insert(participant) }
    }

    /// A session of this loop goes on elsewhere.
    func noteMoving(_ membership: Membership) {
        let until = now.advanced(byMilliseconds: limits.resumeMilliseconds)
        clusterHome.moving.removeAll { now >= $0.until }
        clusterHome.moving.append(ClusterHome.Absence(room: membership.room.number, participant: membership.participant, until: until))
    }

    /// A room has changed: other nodes with members get it as it stands, soon.
    func noteChange(_ number: RoomNumber) {
        guard shared.gateway != nil else { return }
        if let room = home.rooms[number] {
            if room.loops.contains(where: LoopPlace.isForeign) { clusterHome.changed.insert(number) }
        }
    }

    /// The first member of another node: it has the room before it hears anything of it.
    func replicateFirst(_ room: Rooms.Room, to member: Rooms.Member) {
        let place = member.address.loop
        guard LoopPlace.isForeign(place) else { return }
        let node = LoopPlace.node(of: place)
        guard !room.members.contains(where: { $0.id != member.id && LoopPlace.node(of: $0.address.loop) == node }) else { return }
        replicate(room, to: [node])
    }

    private func replicate(_ room: Rooms.Room, to nodes: [Int]) {
        for node in nodes {
            post(.cluster(.replica(room, home: Place(wrappedValue: index))), to: LoopPlace.of(LoopPlace.gateway, on: node))
        }
    }

    /// Gives other nodes what has changed, large rooms less often.
    func replicateChanged() {
        guard !clusterHome.changed.isEmpty else { return }
        for number in clusterHome.changed {
            guard let room = home.rooms[number] else {
                clusterHome.changed.remove(number)
                clusterHome.replicatedAt[number] = nil
                clusterHome.rolls[number] = nil
                continue
            }
            let pause = max(ClusterHome.replicaMillisecondsMin, UInt64(room.members.count) * 1_000 / ClusterHome.membersPerSecond)
            if let last = clusterHome.replicatedAt[number], now.milliseconds(since: last) < pause { continue }
            clusterHome.changed.remove(number)
            clusterHome.replicatedAt[number] = now
            replicate(room, to: foreignNodes(of: room))
        }
    }

    private func foreignNodes(of room: Rooms.Room) -> [Int] {
        Set(room.loops.filter(LoopPlace.isForeign).map(LoopPlace.node)).sorted()
    }

    // MARK: Names

    func noteJoin(_ name: RoomName) {
        if shared.gateway != nil { clusterHome.names[name, default: (0, -1)].joins += 1 }
    }

    /// The gateway hears of rooms that nobody is left in. It lets go of a name if no join is under way that this loop has not seen.
    func tellEmptied() {
        if clusterHome.rolls.count > home.rooms.count { clusterHome.rolls = clusterHome.rolls.filter { home.rooms[$0.key] != nil } }
        guard clusterHome.names.count > home.rooms.count else { return }
        for (name, seen) in clusterHome.names where seen.joins != seen.told && home.room(named: name) == nil {
            clusterHome.names[name]?.told = seen.joins
            tellGateway(.emptied(name, joins: seen.joins))
        }
    }

    func released(_ name: RoomName, joins: Int) {
        if clusterHome.names[name]?.joins == joins { clusterHome.names[name] = nil }
    }

    /// What comes for a room that has gone to another home follows it there. Answers whether it does.
    func passOnMoved(_ message: LoopMessage, _ number: RoomNumber) -> Bool {
        guard home.rooms[number] == nil, let place = clusterHome.moved.last(where: { $0.room == number })?.home else { return false }
        return post(message, to: place)
    }

    // MARK: Taking over and giving up

    func restoreAtHome(_ room: Rooms.Room, gone: [Int]) {
        guard let restored = home.restore(room) else { return }
        for member in restored.members {
            _ = home.changeProfile(room.number, member.id) { $0.encode(as: member.id) }
        }
        for member in restored.waiting {
            _ = home.changeProfile(room.number, member.id) { $0.encode(as: member.id) }
        }
        clusterHome.moved.removeAll { $0.room == room.number }
        clusterHome.names[room.name] = clusterHome.names[room.name] ?? (0, -1)
        tellGateway(.began(room.number, room.name))
        markAbsent(in: restored, gone)
        announceHome(room.number, to: [])
        noteChange(room.number)
    }

    func surrenderAtHome(_ number: RoomNumber) {
        guard let room = home.surrender(number) else { return }
        clusterHome.absent.removeAll { $0.room == number }
        clusterHome.names[room.name] = nil
        tellGateway(.surrendered(room))
    }

    /// The node goes away: rooms that other nodes have members of go there, while their members here go on as before.
    func offerRooms() {
        guard clusterHome.givesRooms else { return }
        for room in home.rooms.values {
            let nodes = foreignNodes(of: room)
            if !nodes.isEmpty { tellGateway(.offer(room.number, room.name, nodes: nodes)) }
        }
    }

    /// Every node with members, and these besides, hears where the home of a room is.
    func announceHome(_ number: RoomNumber, to nodes: [Int]) {
        guard let room = home.rooms[number] else { return }
        let round = (clusterHome.rolls[number]?.round ?? 0) + 1
        clusterHome.rolls[number] = (round, [])
        let own = (0..<shared.loops).map { $0 }
        let others = Set(foreignNodes(of: room) + nodes).map { LoopPlace.of(LoopPlace.every, on: $0) }
        for place in own + others.sorted() { post(.cluster(.homeMoved(number, home: Place(wrappedValue: index), round: round)), to: place) }
    }

    // MARK: Who is there

    func nodesGone(_ nodes: [Int]) {
        for room in home.rooms.values { markAbsent(in: room, nodes) }
        for handle in rooms.handles {
            guard let room = rooms[handle] else { continue }
            for slot in room.fanout.openSlots where !room.routes[slot.index].remote.isEmpty {
                room.routes[slot.index].remote.removeAll { nodes.contains(LoopPlace.node(of: $0.interest.loop)) }
                tellDemand(room, slot)
            }
        }
    }

    private func markAbsent(in room: Rooms.Room, _ nodes: [Int]) {
        let until = now.advanced(byMilliseconds: limits.resumeMilliseconds)
        for member in room.members + room.waiting where nodes.contains(LoopPlace.node(of: member.address.loop)) {
            guard LoopPlace.isForeign(member.address.loop),
                !clusterHome.absent.contains(where: { $0.room == room.number && $0.participant == member.id })
            else { continue }
            clusterHome.absent.append(ClusterHome.Absence(room: room.number, participant: member.id, until: until))
        }
    }

    /// Whoever has not come back in time is out.
    func expireAbsent() {
        guard !clusterHome.absent.isEmpty else { return }
        let late = clusterHome.absent.filter { now >= $0.until }
        guard !late.isEmpty else { return }
        clusterHome.absent.removeAll { now >= $0.until }
        for absence in late {
            guard let departure = home.leave(absence.room, absence.participant) else { continue }
            announce(departure, .lost)
        }
    }

    /// A loop says who of a room is there. Its word counts for who is there; this home's for roles and what hosts have imposed.
    func rollAtHome(_ number: RoomNumber, from place: Int, _ round: UInt64, _ entries: [RollEntry], moving: [ParticipantID]) {
        guard let room = home.rooms[number] else { return }
        let present = Set(entries.map(\.member.id) + moving)
        let call = clusterHome.rolls[number] ?? (0, [])
        // Who has come since the call may be there by now; an older call's answer says nothing of who is not.
        for member in room.members where call.round == round && member.address.loop == place && !present.contains(member.id) {
            guard !call.since.contains(member.id) else { continue }
            if let departure = home.leave(number, member.id) { announce(departure, .lost) }
        }
        for entry in entries { readmitAtHome(number, entry, isRoll: true) }
        guard let room = home.rooms[number], LoopPlace.isForeign(place) else { return }
        let gateway = LoopPlace.of(LoopPlace.gateway, on: LoopPlace.node(of: place))
        post(.cluster(.standing(room, home: Place(wrappedValue: index))), to: gateway)
    }

    /// Takes a member in as its own loop knows it, new or at a new address.
    func readmitAtHome(_ number: RoomNumber, _ entry: RollEntry, isRoll: Bool) {
        clusterHome.absent.removeAll { $0.room == number && $0.participant == entry.member.id }
        let before = home.rooms[number]?.members.first { $0.id == entry.member.id }?.address
        let ended = home.rooms[number]?.streams.filter { stream in
            stream.publisher == entry.member.id && !entry.streams.contains { $0.id == stream.id }
        }
        // A roll that was called before it went elsewhere does not bring it back.
        if isRoll, before != entry.member.address, clusterHome.rolls[number]?.since.contains(entry.member.id) == true { return }
        guard let (room, isNew, streams) = home.readmit(number, entry.member, entry.streams) else { return }
        if !isRoll { notePlace(number, entry.member.id) }
        _ = home.changeProfile(number, entry.member.id) { $0.encode(as: entry.member.id) }
        if isNew {
            if let member = home.rooms[number]?.members.first(where: { $0.id == entry.member.id }) { announceArrival(of: member, in: room) }
        } else if before != entry.member.address {
            for place in audience(of: room) { post(.cluster(.memberMoved(number, entry.member.id, entry.member.address)), to: place) }
        }
        for stream in streams {
            let news = StreamEntry(stream)
            let message = RelayMessage.streamPublished(news.info).encoded
            for place in audience(of: room) { post(.streamAdded(number, news, message: message), to: place) }
        }
        for stream in ended ?? [] {
            if let (room, stream) = home.endStream(number, stream.id) {
                announceEnd(of: stream.id, in: room, and: entry.member.address.loop, isForced: false)
            }
        }
        noteChange(number)
    }
}

extension LoopMessage {
    /// The room that a message for its home is about, where it is about one that is there already.
    var roomAtHome: RoomNumber? {
        switch self {
        case .leave(let room, _, _), .unpublish(let room, _, _, _, _), .review(let room, _, _, _), .present(let room, _, _), .speech(let room, _, _),
            .withdraw(let room, _, _), .describe(let room, _, _):
            room
        case .publish(let request): request.room
        case .moderate(let request): request.room
        default: nil
        }
    }
}
