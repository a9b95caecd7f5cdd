import AudioSession
import Reactor
import RelayBase
import RelayRooms
import Signalling
import TLSTransport
import WebSocketProtocol

/// What a loop finds among its own when an administrator asks.
extension EventLoop {
    func find(_ query: AdminQuery) -> AdminFinding {
        switch query {
        case .rooms(let page): .rooms(page.cut(home.rooms.values.map(AdminRoom.init), by: \.name, after: page.after))
        case .room(let name): .room(home.room(named: name).map(AdminRoom.init))
        case .participants(let name, let page): participants(name, page)
        case .streams(let name, let page): streams(name, page)
        case .endRoom(let name): end(name)
        case .removeParticipant(let name, let participant): end(name, participant)
        case .sessions(let page): .sessions(sessions(page))
        case .session(let id): .session(detail(id))
        case .endSession(let session): .ended(endSession(session))
        case .facts(let participants): facts(participants)
        case .receptions(let room, let streams): receptions(room, streams)
        }
    }

    // MARK: Rooms that the loop is home to

    private func participants(_ name: RoomName, _ page: AdminPage) -> AdminFinding {
        guard let room = home.room(named: name), let after = page.numberAfter else { return .participants(nil, addresses: []) }
        let entries = room.members.map { ($0, false) } + room.waiting.map { ($0, true) }
        let part = page.cut(entries, by: \.0.id.value, after: after)
        return .participants(part.map { AdminParticipant($0.0, waiting: $0.1) }, addresses: part.map(\.0.address))
    }

    private func streams(_ name: RoomName, _ page: AdminPage) -> AdminFinding {
        guard let room = home.room(named: name), let after = page.numberAfter else { return .streams(nil) }
        let part = page.cut(room.streams, by: \.id, after: after)
        return .streams(
            AdminStreamPart(
                room: room.number, streams: part.map { StreamEntry($0).info }, loops: part.map(\.address.loop),
                buffers: shared.audioBoard.buffers(of: room.number)))
    }

    private func end(_ name: RoomName) -> AdminFinding {
        guard home.room(named: name) != nil else { return .ended(false) }
        evictAtHome(name, nil, .admin)
        return .ended(true)
    }

    private func end(_ name: RoomName, _ participant: ParticipantID) -> AdminFinding {
        guard let room = home.room(named: name), (room.members + room.waiting).contains(where: { $0.id == participant }) else { return .ended(false) }
        evictAtHome(name, participant, .admin)
        return .ended(true)
    }

    // MARK: Sessions of the loop

    private func sessions(_ page: AdminPage) -> [AdminSession] {
        let all = channels.handles.compactMap { channels[$0] }.filter(isSession)
        // Only of those that are shown is more than the name worked out.
        return page.cut(all, by: \.sessionID, after: page.after).compactMap { channel in
            var shown = session(channel)
            shown?.add(channel.liveness)
            if let flow = channel.connection?.flow { shown?.add(flow) }
            return shown
        }
    }

    private func detail(_ id: String) -> AdminSession? {
        for handle in channels.handles {
            guard let channel = channels[handle], channel.sessionID == id, var shown = session(channel) else { continue }
            shown.add(channel.liveness)
            if let flow = channel.connection?.flow { shown.add(flow) }
            var account = channel.liveness.departed
            if let membership = channel.membership {
                account.add(membership.room.fanout.account(Int(membership.subscriber.index)).account)
                shown.reports = membership.reports.current(now: now).map(AdminReport.init)
            }
            shown.frames = AdminFrames(account)
            return shown
        }
        return nil
    }

    /// How the receivers have streams whose publishers are here.
    private func receptions(_ number: RoomNumber, _ streams: [UInt32]) -> AdminFinding {
        var receptions: [UInt32: RelayMessage.StreamQuality] = [:]
        guard let room = room(number) else { return .receptions([:]) }
        for slot in room.fanout.openSlots {
            let stream = room.fanout.streams[slot.index].id
            guard streams.contains(stream), let total = room.routes[slot.index].reception.total(now: now) else { continue }
            receptions[stream] = RelayMessage.StreamQuality(stream, total)
        }
        return .receptions(receptions)
    }

    /// One that has begun, and has not been ended: whose close frames are under way has.
    private func isSession(_ channel: Channel) -> Bool {
        channel.purpose == .session && channel.sessionID != "" && channel.closing.maySend
    }

    private func session(_ channel: Channel) -> AdminSession? {
        guard isSession(channel) else { return nil }
        var shown = AdminSession(
            session: channel.sessionID, identity: channel.identity, device: channel.device, address: "\(channel.clientAddress)",
            state: channel.isParked ? .parked : .connected, transport: channel.stream == nil ? .http1 : .http2,
            since: shared.clock.milliseconds(at: channel.openedAt).rounded(), room: channel.membership?.room.name.text,
            participant: channel.membership?.participant.value, loop: index)
        shown.audioSession = channel.audio.flatMap { audio in audio.snapshot.map { AdminAudioSession($0, audio.route.route) } }
        return shown
    }

    private func facts(_ participants: [(participant: UInt32, token: UInt64)]) -> AdminFinding {
        var facts: [UInt32: AdminSession] = [:]
        for (participant, token) in participants {
            if let channel = channels[Handle(packed: token)], let session = session(channel) { facts[participant] = session }
        }
        return .facts(facts)
    }

    private func endSession(_ id: String) -> Bool {
        for handle in channels.handles {
            guard let channel = channels[handle], channel.sessionID == id, !id.isEmpty else { continue }
            beginClose(channel, .policyViolation, reason: "admin", counted: "admin")
            return true
        }
        return false
    }
}

extension AdminRoom {
    init(_ room: Rooms.Room) {
        self.init(
            name: room.name.text, participants: room.members.count, waiting: room.waiting.count, streams: room.streams.count, locked: room.isLocked)
    }
}

extension AdminParticipant {
    init(_ member: Rooms.Member, waiting: Bool) {
        let shown = member.participant
        self.init(
            participant: shown.participant, identity: shown.identity, displayName: shown.displayName, role: member.role, waiting: waiting,
            muted: shown.muted, interrupted: shown.interrupted ?? false, held: shown.held ?? false, streams: member.streams.count,
            loop: member.address.loop)
    }
}
