import RelayBase
import RelayRooms
import Signalling
import TLSTransport

/// A loop's dealings with other nodes. What is said to them goes through the gateway; where somebody is says whether it is another node.
extension EventLoop {
    /// A thread that works on sound, among mailboxes and rings.
    func isWorker(_ place: Int) -> Bool { place >= shared.loops && place < shared.loops + shared.audioWorkers }

    func tellGateway(_ mail: ClusterMail) {
        if let gateway = shared.gateway { post(.cluster(mail), to: gateway) }
    }

    /// To a loop or the gateway of another node.
    func postAway(_ message: LoopMessage, to place: Int) -> Bool {
        guard let gateway = shared.gateway, let message = NodeMessage(message) else { return false }
        return post(.away(to: place, message), to: gateway)
    }

    /// A join, for the home of its room: this node's own, or whichever node in the cluster has it.
    func postJoin(_ request: JoinRequest) {
        if let gateway = shared.gateway {
            post(.place(request), to: gateway)
        } else {
            post(.join(request), to: shared.home(of: request.name))
        }
    }

    /// Where a room's news go: each loop with members, and of other nodes all loops at once.
    ///
    /// In a cluster the room's own loop is among them, and the first: other loops get streams of other nodes through it.
    func audience(of room: Rooms.Room) -> [Int] {
        guard shared.gateway != nil else { return room.loops }
        var places = [index]
        for loop in room.loops {
            let place = LoopPlace.isForeign(loop) ? LoopPlace.of(LoopPlace.every, on: LoopPlace.node(of: loop)) : loop
            if !places.contains(place) { places.append(place) }
        }
        return places
    }

    // MARK: Streams of other nodes

    /// The loop that gets the streams of other nodes for all loops of this one.
    private func importer(of name: RoomName) -> Int { shared.home(of: name) }

    /// A stream as this loop has it: where it is another node's, it comes from the loop that gets it for all.
    func importing(_ entry: StreamEntry, _ room: LocalRoom) -> StreamEntry {
        guard LoopPlace.isForeign(entry.address.loop), importer(of: room.name) != index else { return entry }
        var entry = entry
        entry.imported = ImportedStream(origin: entry.address, room: room.name)
        entry.address = MemberAddress(loop: importer(of: room.name), token: entry.address.token)
        return entry
    }

    /// A stream as a worker for sound is told of it: where this loop gets it from another node, it comes from this loop.
    func forWorker(_ entry: StreamEntry, _ room: LocalRoom) -> StreamEntry {
        guard LoopPlace.isForeign(entry.address.loop) else { return entry }
        var entry = entry
        entry.imported = ImportedStream(origin: entry.address, room: room.name)
        entry.address = MemberAddress(loop: index, token: entry.address.token)
        return entry
    }

    /// Another thread here wants a stream that this loop gets for all.
    func importStream(_ number: RoomNumber, _ entry: StreamEntry) {
        guard let imported = entry.imported, importer(of: imported.room) == index else { return }
        // With members here this loop hears of every stream, and before the others do: what it does not know has ended.
        if let room = room(number), !room.members.isEmpty { return }
        guard let room = room(number) ?? makeRoom(number, imported.room, home: index) else { return }
        var entry = entry
        entry.address = imported.origin
        entry.imported = nil
        addStream(room, entry)
    }

    /// What other loops want of a stream of another node has changed: that goes on to its publisher's node.
    func followImport(_ room: LocalRoom, _ slot: StreamSlot) {
        guard LoopPlace.isForeign(room.routes[slot.index].entry.address.loop) else { return }
        if room.fanout.streams[slot.index].subscribers == 0, room.routes[slot.index].remote.isEmpty {
            releaseInterest(room)
        } else {
            requestInterest(room, slot)
        }
        if room.members.isEmpty, !room.isImporting { dropRoom(room) }
    }

    /// Media may have been lost on the way from other nodes: what comes from there is asked for anew, and begins as for a newcomer.
    func renewImports(from node: Int?) {
        for handle in rooms.handles {
            guard let room = rooms[handle] else { continue }
            for slot in room.fanout.openSlots where room.routes[slot.index].isRequested {
                let place = room.routes[slot.index].entry.address.loop
                guard LoopPlace.isForeign(place), node == nil || node == LoopPlace.node(of: place) else { continue }
                withdrawInterest(room, room.routes[slot.index])
                room.routes[slot.index].isRequested = false
                requestInterest(room, slot)
            }
        }
    }

    /// A member is at another address: its streams come from there.
    func memberMoved(_ number: RoomNumber, _ participant: ParticipantID, to address: MemberAddress) {
        guard let room = room(number) else { return }
        for slot in room.fanout.openSlots where room.routes[slot.index].entry.publisher == participant {
            guard !room.fanout.streams[slot.index].isDerived else { continue }
            let before = room.routes[slot.index]
            var entry = before.entry
            entry.address = address
            entry.imported = nil
            room.routes[slot.index].entry = importing(entry, room)
            guard room.routes[slot.index].entry.address != before.entry.address else { continue }
            if before.isRequested { withdrawInterest(room, before) }
            room.routes[slot.index].isRequested = false
            if room.fanout.streams[slot.index].subscribers > 0 || !room.routes[slot.index].remote.isEmpty { requestInterest(room, slot) }
        }
    }

    // MARK: Mail

    func cluster(_ mail: ClusterMail) {
        switch mail {
        case .numbered(let node, let start):
            home.number(asNode: node, startingAt: start) { name in
                RoomNumber(SHA256Digest(hashing: Array(name.text.utf8)).bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
            }
        case .lease(let isHeld): clusterHome.holdsLease = isHeld
        case .nodesGone(let nodes): nodesGone(nodes)
        case .reconnected: renewImports(from: nil)
        case .renewImports(let node): renewImports(from: node)
        case .restore(let room, let gone): restoreAtHome(room, gone: gone)
        case .surrender(let number): surrenderAtHome(number)
        case .announceHome(let number, let nodes): announceHome(number, to: nodes)
        case .homeMoved(let number, let home, let round): homeMoved(number, to: home.wrappedValue, round)
        case .roll(let number, let loop, let round, let entries, let moving):
            rollAtHome(number, from: loop.wrappedValue, round, entries, moving: moving)
        case .memberMoved(let number, let participant, let address): memberMoved(number, participant, to: address)
        case .letGo(let name, let joins): released(name, joins: joins)
        case .release(let claim, let token, let node): releaseSession(claim, token, to: node)
        case .claimed(let claim, let result): claimed(claim, result)
        case .adopt(let adoption): adoptAtHome(adoption)
        case .moved(let number, let place): clusterHome.note(number, movedTo: place.wrappedValue)
        case .giveRooms:
            clusterHome.givesRooms = true
            offerRooms()
        // For gateways: another node that sends them to a loop is told nothing by it.
        case .replica, .surrendered, .standing, .opened, .dropped, .emptied, .askHome, .began, .offer, .handOver, .ticket, .ticketEnded, .claim,
            .released, .probe:
            return
        }
    }

    /// The room has another home: it is told who of the room is here.
    private func homeMoved(_ number: RoomNumber, to place: Int, _ round: UInt64) {
        // Nobody is an answer too: whoever was here may have left unheard.
        let room = room(number)
        room?.home = place
        clusterHome.moving.removeAll { now >= $0.until }
        let moving = clusterHome.moving.filter { $0.room == number }.map(\.participant)
        post(.cluster(.roll(number, from: Place(wrappedValue: index), round: round, room.map(roll) ?? [], moving: moving)), to: place)
    }

    private func roll(of room: LocalRoom) -> [RollEntry] {
        room.members.compactMap { _, handle in channels[handle].flatMap { channel in channel.membership.map { rollEntry(channel, $0) } } }
    }

    /// A member as this loop knows it.
    func rollEntry(_ channel: Channel, _ membership: Membership) -> RollEntry {
        let (room, participant) = (membership.room, membership.participant)
        let profile = MemberProfile(
            identity: channel.identity, displayName: membership.displayName, presentation: channel.audio?.presentation ?? MemberPresentation())
        let address = address(of: channel)
        let member = Rooms.Member(
            id: participant, address: address, identity: channel.identity?.name ?? "", profile: profile, role: membership.role,
            publishable: membership.admission.publish, muted: membership.muted)
        let streams = membership.published.compactMap { stream -> Rooms.Stream? in
            guard !stream.hasEnded, room.fanout.isOpen(stream.slot) else { return nil }
            let entry = room.routes[stream.slot.index].entry
            return Rooms.Stream(id: stream.id, publisher: participant, address: address, lane: entry.lane, description: entry.info)
        }
        return RollEntry(member: member, streams: streams)
    }
}
