import AudioSession
import RelayBase
import RelayRooms
import Signalling

/// `stream.prime` (audio-session semantics, section 6): what a stream would begin with is brought here, and its client is told how much there is.
extension EventLoop {
    /// Primes a stream. The answer waits a moment for what another loop has cached, or the publisher is asked for.
    func prime(_ channel: Channel, _ id: UInt64, _ membership: Membership, _ place: Int) {
        let room = membership.room
        let slot = membership.playbacks[place].slot
        let subscriber = Int(membership.subscriber.index)
        room.fanout.prime(subscriber, slot, now: now)
        followHold(room, [slot])
        let until = now.advanced(byMilliseconds: SubscribedStream.primeWaitMilliseconds)
        membership.playbacks[place].prime = (id, until)
        guard room.fanout.isPrimed(subscriber, slot), primed(membership, place).frames == 0 else {
            answerPrime(channel, membership, place)
            return
        }
    }

    /// Says what there is, where that is still to be said.
    func answerPrime(_ channel: Channel, _ membership: Membership, _ place: Int) {
        guard let prime = membership.playbacks[place].prime else { return }
        membership.playbacks[place].prime = nil
        var answer = RelayMessage.Answer()
        answer.playback = membership.playbacks[place].playback
        answer.primed = primed(membership, place)
        send(channel, .ok(id: prime.id, answer))
    }

    /// What could be played at once: what is queued, or of a held stream what it would begin with.
    func primed(_ membership: Membership, _ place: Int) -> RelayMessage.Primed {
        let slot = membership.playbacks[place].slot
        let subscriber = Int(membership.subscriber.index)
        guard membership.room.fanout.isSubscribed(subscriber, slot) else { return RelayMessage.Primed(frames: 0, milliseconds: 0) }
        guard membership.room.fanout.isHeld(subscriber, slot) else {
            return RelayMessage.Primed(frames: membership.room.fanout.queued(subscriber, slot).frames, milliseconds: 0)
        }
        let ready = membership.room.fanout.ready(subscriber, slot, now: now)
        return RelayMessage.Primed(frames: ready.frames, milliseconds: Double(ready.milliseconds))
    }
}
