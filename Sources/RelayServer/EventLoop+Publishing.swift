import RelayBase
import RelayRooms
import Signalling

/// A stream of a publisher on this loop that is about to open.
struct OpeningKey: Hashable {
    let room: RoomNumber
    let stream: UInt32
}

/// How far it is: the room's home has answered, and so many other loops know the stream. Both come in any order.
struct Opening {
    struct Answer {
        let token: UInt64
        let requestID: UInt64
        let otherLoops: Int
    }

    var answer: Answer?
    var loopsThatKnow = 0
}

extension EventLoop {
    /// The room's home has answered a request to publish. The publisher hears of it only when every loop with members has asked for the stream or passed:
    /// so whoever has subscribed to all before gets the stream from its very first frame.
    func published(_ token: UInt64, _ requestID: UInt64, _ number: RoomNumber, _ result: Result<Published, Refusal>) {
        switch result {
        case .failure(let refusal):
            guard let channel = channels[Handle(packed: token)] else { return }
            channel.pendingPublishes -= 1
            refuse(channel, requestID, refusal)
        case .success(let published):
            let key = OpeningKey(room: number, stream: published.stream)
            openings[key, default: Opening()].answer = Opening.Answer(token: token, requestID: requestID, otherLoops: published.otherLoops)
            openWhenKnown(key)
        }
    }

    /// Another loop with members knows a stream of a publisher here.
    func streamKnown(_ number: RoomNumber, _ stream: UInt32) {
        let key = OpeningKey(room: number, stream: stream)
        openings[key, default: Opening()].loopsThatKnow += 1
        openWhenKnown(key)
    }

    private func openWhenKnown(_ key: OpeningKey) {
        guard let opening = openings[key], let answer = opening.answer, opening.loopsThatKnow == answer.otherLoops else { return }
        openings[key] = nil
        guard let channel = channels[Handle(packed: answer.token)] else { return }
        channel.pendingPublishes -= 1
        guard let membership = channel.membership, membership.room.number == key.room, let slot = membership.room.fanout.slot(of: key.stream) else {
            refuse(channel, answer.requestID, Refusal(RoomFault.notAMember))
            return
        }
        // Frames of ended streams may still be under way; a few of them are remembered.
        if membership.published.count >= 2 * limits.streamsPerParticipantMax { membership.published.removeAll { $0.hasEnded } }
        channel.hasPublished = true
        membership.published.append(PublishedStream(id: key.stream, slot: slot, lane: membership.room.fanout.streams[slot.index].lane))
        var reply = RelayMessage.Answer()
        reply.stream = key.stream
        send(channel, .ok(id: answer.requestID, reply))
    }
}
