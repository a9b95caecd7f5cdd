import Reactor
import RelayBase
import RelayRooms
import Signalling

/// What a changed policy does to who is in a room already.
extension EventLoop {
    /// Of a turn, for sessions that are looked at anew: many of them under a long policy take a while, and media waits meanwhile.
    private static let reviewNanosecondsPerTurn: UInt64 = 1_000_000

    /// Takes a policy over, and has every session of this loop looked at anew. Rooms of pairs are not subject to it.
    func adopt(_ policy: AccessPolicy) {
        guard policy != self.policy else { return }
        self.policy = policy
        policyGeneration += 1
        pairPolicyChanged()
        renewHolds()
        reviews = Array(channels.handles)
    }

    /// Looks at some of the sessions; whoever is left has its turn in the next.
    func reviewSome() {
        let end = MonotonicClock.now().advanced(byNanoseconds: EventLoop.reviewNanosecondsPerTurn)
        repeat {
            guard let handle = reviews.popLast() else { return }
            if let channel = channels[handle] { review(channel) }
        } while MonotonicClock.now() < end
    }

    /// Asks the policy again whether, and as what, a session may be where it is: after the policy or its principal has changed.
    func review(_ channel: Channel) {
        switch channel.state {
        case .awaitingHello, .ready, .joining: return
        case .inRoom(let membership):
            guard !membership.room.name.isPair else { return }
            guard let admission = reviewed(channel, in: membership.room.name, membership.admission) else {
                expel(channel, from: membership.room.name)
                return
            }
            membership.limitBitRate(admission.settings.bitRateMax, now: now)
            tellHome(membership.home, membership.room.number, membership.participant, membership.admission, admission)
            membership.admission = admission
        case .waiting(let place, let before):
            guard !place.name.isPair else { return }
            guard let admission = reviewed(channel, in: place.name, before) else {
                expel(channel, from: place.name)
                return
            }
            tellHome(place.home, place.room, place.participant, before, admission)
            channel.state = .waiting(place, admission)
        }
    }

    /// The role that the policy gave, as long as it still does; else the one that it gives now.
    private func reviewed(_ channel: Channel, in room: RoomName, _ before: RoomAdmission) -> RoomAdmission? {
        guard let principal = channel.principal else { return nil }
        if let same = try? policy.admission(of: principal, to: room, asking: before.role) { return same }
        return try? policy.admission(of: principal, to: room, asking: nil)
    }

    private func tellHome(_ home: Int, _ room: RoomNumber, _ participant: ParticipantID, _ before: RoomAdmission, _ now: RoomAdmission) {
        guard before.role != now.role || before.publish != now.publish else { return }
        post(.review(room, participant, roleBefore: before.role, now), to: home)
    }

    private func expel(_ channel: Channel, from room: RoomName) {
        leaveRoom(channel, reason: .removed)
        send(channel, .roomRemoved(.init(room: room.text, reason: .policy)))
        audit("join", channel, .refused(Refusal.notAllowed.code), [("room", room.text), ("because", "policy")])
    }
}
