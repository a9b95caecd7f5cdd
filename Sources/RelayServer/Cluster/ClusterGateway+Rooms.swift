import ClusterProtocol
import NATSTransport
import RelayBase
import RelayRooms
import Signalling

/// Rooms: which node is home to each, and what this node knows of those of others.
extension ClusterGateway {
    /// After this node was cut off others may not have been heard yet: they are not taken for gone.
    private var isAlive: (Int) -> Bool { { [table, now] node in table.map { $0.isAlive(node) || !$0.mayJudge(now: now) } ?? false } }

    func mayBeAlive(_ node: Int) -> Bool { isAlive(node) }

    // MARK: Joins

    func place(_ request: RoomRequest) {
        guard table != nil else {
            if early.count < ClusterGateway.earlyMax { early.append(request) } else { refuse([request]) }
            return
        }
        perform(homes.place(request.name, request, isAlive: isAlive))
    }

    private func refuse(_ requests: [RoomRequest]) {
        for request in requests {
            let (answer, loop) = request.refusal
            if !LoopPlace.isForeign(loop) {
                post(answer, to: loop)
            } else if let message = NodeMessage(answer) {
                send(message, to: loop)
            }
        }
    }

    func perform(_ step: RoomHomes<RoomRequest>.Step) {
        switch step {
        case .wait: return
        case .refuse(let requests): refuse(requests)
        case .create(let name, let home):
            guard membership.isConnected, let value = coder.encode(home) else { return perform(homes.unreachable(name)) }
            ask(.create(name)) { [nats, subjects] in nats.create(subjects.rooms, key: subjects.key(of: name), value: value, request: $0) }
        case .look(let name):
            guard membership.isConnected else { return perform(homes.unreachable(name)) }
            ask(.look(name)) { [nats, subjects] in nats.get(subjects.rooms, key: subjects.key(of: name), request: $0) }
        case .take(let name, let home, let revision):
            guard membership.isConnected, let value = coder.encode(home) else { return perform(homes.unreachable(name)) }
            ask(.take(name, epoch: home.epoch)) { [nats, subjects] in
                nats.update(subjects.rooms, key: subjects.key(of: name), value: value, revision: revision, request: $0)
            }
        case .erase(let name, let revision):
            ask(.erase) { [nats, subjects] in nats.delete(subjects.rooms, key: subjects.key(of: name), revision: revision, request: $0) }
        case .here(let name, let requests, let moved): here(name, requests, moved: moved)
        case .there(let name, let requests, let node):
            for request in requests { send(request.message, to: LoopPlace.of(LoopPlace.gateway, on: node)) }
            // A copy whose home is another by now: that home says where it is, and hears who is here.
            if let number = numbers[name], let copy = copies[number], let table, LoopPlace.node(of: copy.home) != node || requests.isEmpty {
                send(.cluster(.askHome(number, name, node: table.own)), to: LoopPlace.of(LoopPlace.gateway, on: node))
            }
        case .lost(let name, let requests, let node):
            for request in requests { send(request.message, to: LoopPlace.of(LoopPlace.gateway, on: node)) }
            surrendering[name] = (node, nil)
            if let number = ownRooms[name] { post(.cluster(.surrender(number)), to: shared.home(of: name)) }
        }
    }

    /// This node is home to a room.
    private func here(_ name: RoomName, _ requests: [RoomRequest], moved: Bool) {
        let loop = shared.home(of: name)
        if moved, let number = numbers[name], let copy = copies.removeValue(forKey: number) {
            numbers[name] = nil
            counters.roomsTaken &+= 1
            let gone = Set((copy.room.members + copy.room.waiting).map { LoopPlace.node(of: $0.address.loop) }).filter { $0 != 0 && !isAlive($0) }
            post(.cluster(.restore(copy.room, gone: gone.sorted())), to: loop)
        } else if requests.isEmpty, let number = ownRooms[name] {
            // After the node was cut off: who is in the room is asked anew everywhere.
            post(.cluster(.announceHome(number, to: [])), to: loop)
        }
        for request in requests {
            post(request.forLoop, to: loop)
        }
    }

    // MARK: What the registry answers

    func created(_ name: RoomName, _ result: Result<KeyValueAnswer, KeyValueFault>) {
        switch result {
        case .success(let answer): perform(homes.created(name, revision: answer.revision))
        case .failure(.exists), .failure(.conflict): perform(homes.exists(name))
        case .failure: perform(homes.unreachable(name))
        }
    }

    func found(_ name: RoomName, _ result: Result<KeyValueAnswer, KeyValueFault>) {
        switch result {
        case .success(let answer):
            guard let value = answer.value, let home = coder.decode(RoomHome.self, value) else { return perform(homes.unreachable(name)) }
            perform(homes.found(name, home, revision: answer.revision, isAlive: isAlive))
        case .failure(.missing): perform(homes.absent(name))
        case .failure: perform(homes.unreachable(name))
        }
    }

    func taken(_ name: RoomName, epoch: UInt64, _ result: Result<KeyValueAnswer, KeyValueFault>) {
        switch result {
        case .success(let answer): perform(homes.taken(name, epoch: epoch, revision: answer.revision))
        case .failure(.conflict), .failure(.exists), .failure(.missing): perform(homes.exists(name))
        case .failure: perform(homes.unreachable(name))
        }
    }

    // MARK: What loops of this node say

    func handleOwn(_ mail: ClusterMail) {
        switch mail {
        case .opened(let number, let name, let loop):
            numbers[name] = copies[number] == nil ? numbers[name] : number
            if copies[number] != nil { copies[number]?.opened(loop.wrappedValue) } else { openedLoops[number, default: []].insert(loop.wrappedValue) }
        case .dropped(let number, let loop): dropped(number, loop.wrappedValue)
        case .emptied(let name, let joins): emptied(name, joins: joins)
        case .began(let number, let name):
            ownRooms[name] = number
            ownNames[number] = name
        case .offer(let number, let name, let nodes): offer(number, name, nodes)
        case .surrendered(let room): surrendered(room)
        case .ticket(let digest, let ticket): keep(digest, ticket)
        case .ticketEnded(let digest): erase(digest)
        case .claim(let claim): self.claim(claim)
        case .adopt(let adoption): place(.adopt(adoption))
        default: counters.lost("misdirected")
        }
    }

    private func dropped(_ number: RoomNumber, _ loop: Int) {
        openedLoops[number]?.remove(loop)
        if openedLoops[number]?.isEmpty == true { openedLoops[number] = nil }
        copies[number]?.dropped(loop)
        guard let copy = copies[number], !copy.isWanted else { return }
        copies[number] = nil
        numbers[copy.room.name] = nil
        homes.forget(copy.room.name)
    }

    private func emptied(_ name: RoomName, joins: Int) {
        let wasHere = homes.isHere(name)
        let step = homes.emptied(name, joins: joins)
        if wasHere, !homes.isHere(name) {
            if let number = ownRooms.removeValue(forKey: name) { ownNames[number] = nil }
            post(.cluster(.letGo(name, joins: joins)), to: shared.home(of: name))
        }
        perform(step)
    }

    /// A room that this node was home to belongs to another: it is a copy here now, and the new home hears who of it is here.
    private func surrendered(_ room: Rooms.Room) {
        ownRooms[room.name] = nil
        ownNames[room.number] = nil
        guard let (node, entry) = surrendering.removeValue(forKey: room.name), let table else { return }
        let gateway = LoopPlace.of(LoopPlace.gateway, on: node)
        post(.cluster(.moved(room.number, home: Place(wrappedValue: gateway))), to: shared.home(of: room.name))
        if let entry { send(.cluster(.handOver(room, revision: entry.revision, epoch: entry.epoch)), to: gateway) }
        let hasMembers = room.members.contains { !LoopPlace.isForeign($0.address.loop) }
        if hasMembers {
            var copy = Copy(room, home: LoopPlace.of(LoopPlace.gateway, on: node))
            for loop in openedLoops.removeValue(forKey: room.number) ?? [] { copy.opened(loop) }
            copies[room.number] = copy
            numbers[room.name] = room.number
        }
        if entry == nil { send(.cluster(.askHome(room.number, room.name, node: table.own)), to: gateway) }
    }

    /// The node goes away: a room that others have members of goes to one of them.
    private func offer(_ number: RoomNumber, _ name: RoomName, _ nodes: [Int]) {
        guard membership.isConnected, surrendering[name] == nil, let heir = table?.heir(among: nodes),
            let (revision, home) = homes.revision(of: name),
            let value = coder.encode(RoomHome(node: heir, epoch: home.epoch &+ 1))
        else { return }
        surrendering[name] = (heir, nil)
        ask(.give(name, to: heir, epoch: home.epoch &+ 1)) { [nats, subjects] in
            nats.update(subjects.rooms, key: subjects.key(of: name), value: value, revision: revision, request: $0)
        }
    }

    func given(_ name: RoomName, to node: Int, epoch: UInt64, _ result: Result<KeyValueAnswer, KeyValueFault>) {
        guard case .success(let answer) = result, let number = ownRooms[name] else {
            surrendering[name] = nil
            return
        }
        surrendering[name] = (node, (answer.revision, epoch))
        homes.gave(name, to: node)
        post(.cluster(.surrender(number)), to: shared.home(of: name))
    }

    // MARK: What other nodes' gateways say

    /// What follows a room to its new home.
    func passToHome(_ message: NodeMessage) {
        guard let loopMessage = message.forLoop, let number = loopMessage.roomAtHome, let name = ownNames[number] else {
            return counters.lost("misdirected")
        }
        post(loopMessage, to: shared.home(of: name))
    }

    /// Another node gives this one a room.
    private func takeOver(_ room: Rooms.Room, revision: UInt64, epoch: UInt64) {
        homes.given(room.name, revision: revision, epoch: epoch)
        copies[room.number] = nil
        numbers[room.name] = nil
        counters.roomsTaken &+= 1
        post(.cluster(.restore(room, gone: [])), to: shared.home(of: room.name))
    }

    func handleForeign(_ mail: ClusterMail) {
        switch mail {
        case .replica(let room, let home): replace(room, home: home.wrappedValue)
        case .standing(let room, let home): stand(room, home: home.wrappedValue)
        case .askHome(let number, let name, let node):
            if homes.isHere(name) { post(.cluster(.announceHome(number, to: [node])), to: shared.home(of: name)) }
        case .released(let claim, let record): released(claim, record)
        case .probe: break
        case .adopt(let adoption): place(.adopt(adoption))
        case .handOver(let room, let revision, let epoch): takeOver(room, revision: revision, epoch: epoch)
        default: counters.lost("misdirected")
        }
    }

    private func replace(_ room: Rooms.Room, home: Int) {
        guard !homes.isHere(room.name) else { return }
        homes.heard(room.name, at: LoopPlace.node(of: home))
        if copies[room.number] != nil {
            copies[room.number]?.replace(room, home: home)
        } else {
            var copy = Copy(room, home: home)
            for loop in openedLoops.removeValue(forKey: room.number) ?? [] { copy.opened(loop) }
            copies[room.number] = copy
        }
        numbers[room.name] = room.number
    }

    /// The room as it stands at its home: what clients here have not heard of it is told.
    private func stand(_ room: Rooms.Room, home: Int) {
        guard copies[room.number] != nil else {
            if openedLoops[room.number] != nil { replace(room, home: home) }
            return
        }
        homes.heard(room.name, at: LoopPlace.node(of: home))
        let differences = copies[room.number]?.stand(room, home: home) ?? []
        let number = room.number
        let first = shared.home(of: room.name)
        for difference in differences {
            counters.repairs &+= 1
            switch difference {
            case .came(let member):
                let message = RelayMessage.participantJoined(member.participant).encoded
                postToEveryLoop(.presence(number, .none, message: message, except: member.id), first: first)
            case .left(let id):
                let message = RelayMessage.participantLeft(participant: id.value, reason: .lost).encoded
                postToEveryLoop(.presence(number, .none, message: message, except: id), first: first)
            case .added(let stream):
                let entry = StreamEntry(stream)
                postToEveryLoop(.streamAdded(number, entry, message: RelayMessage.streamPublished(entry.info).encoded), first: first)
            case .ended(let stream):
                let message = RelayMessage.streamEnded(stream: stream).encoded
                postToEveryLoop(.streamEnded(number, stream: stream, message: message, isForced: false), first: first)
            case .changed(let member):
                let message = RelayMessage.participantChanged(
                    .init(participant: member.id.value, role: member.role, muted: member.muted.streamKinds)
                ).encoded
                postToEveryLoop(.memberChanged(number, member.id, role: member.role, muted: member.muted, message: message), first: first)
            case .locked(let isLocked):
                let message = RelayMessage.roomLocked(.init(locked: isLocked)).encoded
                postToEveryLoop(.roomEvent(number, message: message, except: nil), first: first)
            case .moved(let id, let address): postToEveryLoop(.cluster(.memberMoved(number, id, address)), first: first)
            }
        }
    }

    // MARK: What goes by

    /// Of messages on their way to loops here, what clients hear of a room is noted.
    func note(_ message: NodeMessage) {
        switch message {
        case .presence(let number, .came(let participant), _, _): copies[number]?.came(participant)
        case .presence(let number, .left(let participant), _, _): copies[number]?.left(participant)
        case .streamAdded(let number, let entry, _): copies[number]?.added(entry.info.stream)
        case .streamEnded(let number, let stream, _, _): copies[number]?.ended(stream)
        default: break
        }
    }

    /// The loop that is to hear of a room first: it gets streams of other nodes for the others.
    func firstLoop(for message: NodeMessage) -> Int? {
        let number: RoomNumber? =
            switch message {
            case .streamAdded(let number, _, _), .streamEnded(let number, _, _, _): number
            case .cluster(.memberMoved(let number, _, _)): number
            default: nil
            }
        return number.flatMap { copies[$0] }.map { shared.home(of: $0.room.name) }
    }
}

/// What is for the home of a room, wherever that turns out to be.
enum RoomRequest: Sendable {
    case join(JoinRequest)
    case adopt(Adoption)

    var name: RoomName {
        switch self {
        case .join(let request): request.name
        case .adopt(let adoption): adoption.name
        }
    }

    var message: NodeMessage {
        switch self {
        case .join(let request): .join(request)
        case .adopt(let adoption): .cluster(.adopt(adoption))
        }
    }

    /// The same for a home here.
    var forLoop: LoopMessage {
        switch self {
        case .join(let request): .join(request)
        case .adopt(let adoption): .cluster(.adopt(adoption))
        }
    }

    /// What is said where no home can be asked, and to which loop.
    var refusal: (LoopMessage, Int) {
        switch self {
        case .join(let request):
            (.joined(token: request.address.token, requestID: request.requestID, .failure(.clusterUnavailable)), request.address.loop)
        case .adopt(let adoption): (.described(adoption.claim, nil), adoption.claim.newcomer.loop)
        }
    }
}
