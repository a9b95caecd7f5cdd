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
        membership.playbacks[place].buffered = (0, 0)
        guard room.fanout.isPrimed(subscriber, slot), primed(membership, place).frames == 0 else {
            answerPrime(channel, membership, place)
            return
        }
    }

    /// Whether what a prime waits for is there, or is waited for no longer. A buffer of the relay's fills up as long as it is given time.
    func isPrimeDue(_ membership: Membership, _ place: Int) -> Bool {
        guard let prime = membership.playbacks[place].prime else { return false }
        if prime.until <= now { return true }
        let slot = membership.playbacks[place].slot
        guard let paced = membership.room.deliveries?.paced.first(where: { $0.slot == slot }) else { return primed(membership, place).frames > 0 }
        let interest = RemoteInterest(loop: index, room: membership.room.handle, slot: slot)
        post(
            .audioWork(.ready(membership.room.number, stream: paced.entry.info.stream, interest)), to: deliveries(of: membership.room).worker)
        return false
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
        if membership.room.fanout.streams[slot.index].isDerived {
            let buffered = membership.playbacks[place].buffered
            return RelayMessage.Primed(frames: buffered.frames, milliseconds: Double(buffered.milliseconds))
        }
        let ready = membership.room.fanout.ready(subscriber, slot, now: now)
        return RelayMessage.Primed(frames: ready.frames, milliseconds: Double(ready.milliseconds))
    }
}
