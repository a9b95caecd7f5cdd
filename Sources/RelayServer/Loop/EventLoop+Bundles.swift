import Reactor
import RelayBase
import RelayRooms

/// Bundles: for who wishes it a busy loop holds frames for some milliseconds, so that they share a message, a record and a system call with others.
extension EventLoop {
    /// Timers come round in milliseconds: what is due sooner is not held.
    private static let timerNanoseconds: UInt64 = 1_000_000

    /// Whether what a subscriber is due waits for more: it is little, young, and the loop is busy. Nothing waits longer than was wished, nor for more
    /// than half of its deadline.
    func holds(_ channel: Channel, _ room: LocalRoom, _ subscriber: Int) -> Bool {
        let delay = load.delay(of: min(channel.wishes.bundleNanoseconds, room.fanout.shortestDeadline(subscriber) / 2))
        guard delay > EventLoop.timerNanoseconds, channel.control.isEmpty, channel.unfinished.isEmpty,
            let oldest = room.fanout.oldestPendingArrival(subscriber)
        else {
            channel.heldUntil = nil
            return false
        }
        let due = oldest.advanced(byNanoseconds: delay - EventLoop.timerNanoseconds)
        guard due > now, room.fanout.pendingLogBytes(subscriber) < EventLoop.egressBytes else {
            channel.heldUntil = nil
            return false
        }
        if channel.heldUntil == nil { held.append(channel.handle) }
        channel.heldUntil = due
        wakeForHeld(at: due)
        return true
    }

    /// Sends what was held long enough along with what this turn flushes.
    func releaseHeld() {
        guard !held.isEmpty else { return }
        var next = MonotonicInstant.distantFuture
        held.removeAll { handle in
            guard let channel = channels[handle], let due = channel.heldUntil else { return true }
            guard due <= now else {
                next = min(next, due)
                return false
            }
            channel.heldUntil = nil
            markDirty(channel)
            return true
        }
        if next != .distantFuture { wakeForHeld(at: next) }
    }

    private func wakeForHeld(at due: MonotonicInstant) {
        if let timer = heldTimer {
            guard due < timer.due else { return }
            timers.cancel(timer.id)
        }
        heldTimer = timers.schedule(at: due, TimerEvent(payload: 0, kind: TimerKind.bundles)).map { ($0, due) }
    }

    /// Ends the connection of a subscriber that the rest of a begun frame was lost for: nothing else that is sent would make sense to it.
    func endBroken(_ room: LocalRoom) {
        guard let token = room.fanout.brokenSubscriber, let channel = channels[Handle(packed: token)] else { return }
        loseMedia(channel)
        channel.closeReason = channel.closeReason ?? "cache_full"
        endTransport(channel, reason: "cache_full")
    }
}
