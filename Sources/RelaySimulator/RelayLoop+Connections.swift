import MediaProtocol
import RelayBase
import RelayRooms

/// What clients say: after `EventLoop+Session`.
extension RelayLoop {
    // MARK: In

    func accept(_ connection: SimulatedConnection) -> Bool {
        // The slab names the session, and the session must know its name.
        let wishes = world.clients[connection.client].plan.wishes
        guard let handle = sessions.insert(RelaySession(token: 0, connection: connection, wishes: wishes)) else { return false }
        let session = RelaySession(token: handle.packed, connection: connection, wishes: wishes)
        session.lastProgress = now
        sessions[handle] = session
        connection.session = session
        return true
    }

    func receive(_ connection: SimulatedConnection) {
        while let message = connection.nextMessage() {
            guard let session = connection.session, !session.hasEnded else { continue }
            perform(session, message)
        }
    }

    private func perform(_ session: RelaySession, _ message: ClientMessage) {
        switch message {
        case .frame(let bytes): mediaMessage(session, bytes)
        case .resume(let address, let marks): beginResume(session, address, marks)
        case .join(let room):
            guard case .outside = session.place, let name = RoomName("room-\(room)", bytesMax: limits.roomNameBytesMax) else { return }
            session.place = .joining
            post(.join(name, address(of: session)), to: room % world.loops.count)
        case .leave:
            guard session.membership != nil else { return }
            leaveRoom(session)
            send(session, .left)
        case .publish(let offer):
            guard let membership = session.membership else {
                send(session, .publishFailed, [offer.request])
                return
            }
            post(.publish(membership.room.number, membership.participant, address(of: session), offer), to: membership.room.home)
        case .unpublish(let stream):
            guard let membership = session.membership else { return }
            post(.unpublish(membership.room.number, membership.participant, stream: stream), to: membership.room.home)
        case .subscribeToAll, .subscribe, .unsubscribe, .unsubscribeFromAll: performSubscription(session, message)
        case .hold(let stream, let isHeld): hold(session, stream, isHeld)
        case .requestKeyFrame(let stream):
            guard let room = session.membership?.room, let slot = room.fanout.slot(of: stream), room.fanout.streams[slot.index].lane == .video else {
                return
            }
            room.fanout.wantKeyFrame(slot)
            markDirty(room)
        }
    }

    private func performSubscription(_ session: RelaySession, _ message: ClientMessage) {
        guard let membership = session.membership else { return }
        let room = membership.room
        let subscriber = Int(membership.subscriber.index)
        var slots: [StreamSlot] = []
        switch message {
        case .subscribeToAll:
            membership.subscribesToAll = true
            slots = room.fanout.openSlots.filter { room.routes[$0.index].entry.publisher != membership.participant }
        case .subscribe(let stream), .unsubscribe(let stream):
            if let slot = room.fanout.slot(of: stream), room.routes[slot.index].entry.publisher != membership.participant { slots = [slot] }
        case .unsubscribeFromAll:
            membership.subscribesToAll = false
            slots = room.fanout.subscribed(subscriber)
        default: return
        }
        switch message {
        case .unsubscribe, .unsubscribeFromAll:
            for slot in slots { room.fanout.unsubscribe(subscriber, slot) }
            releaseInterest(room)
            send(session, .unsubscribed, room.fanout.subscribed(subscriber).map { room.fanout.streams[$0.index].id })
        default:
            send(session, .subscribed, slots.map { room.fanout.streams[$0.index].id })
            subscribe(membership, slots)
        }
        markDirty(room)
    }

    private func address(of session: RelaySession) -> MemberAddress {
        MemberAddress(loop: index, token: session.token)
    }
}
