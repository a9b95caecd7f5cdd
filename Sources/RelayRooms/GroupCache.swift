import RelayBase

/// A spatial layer's frames from its last key frame on, framed as messages: what a late joiner is given first.
///
/// Empty when no key frame has come, and when the group outgrew its bounds in bytes or age: a group that is old says more about the past than a
/// joiner can make up for.
struct GroupCache: ~Copyable {
    private var messages = ByteQueue()
    private(set) var frames: UInt64 = 0
    private(set) var startedAt = MonotonicInstant.zero

    var isEmpty: Bool { frames == 0 }
    var byteCount: Int { messages.count }
    var readable: UnsafeRawBufferPointer { unsafe messages.readable }

    func isFresh(_ now: MonotonicInstant, millisecondsMax: UInt64) -> Bool {
        frames > 0 && now.milliseconds(since: startedAt) <= millisecondsMax
    }

    /// Takes a frame in, or forgets everything when it may not grow so far.
    ///
    /// - Parameters:
    ///   - start: of a key frame, when it came to the relay.
    ///   - bytesMax: what the group may be, this frame included.
    mutating func add(
        _ frame: UnsafeRawBufferPointer, isKey: Bool, since start: MonotonicInstant, now: MonotonicInstant, bytesMax: Int, millisecondsMax: UInt64,
        budget: ByteBudget
    ) {
        if isKey {
            forget(budget)
            startedAt = start
        } else if frames == 0 {
            return
        }
        let byteCount = MessageFraming.headerByteCount(payload: frame.count) + frame.count
        guard now.milliseconds(since: startedAt) <= millisecondsMax, messages.count + byteCount <= bytesMax, budget.take(byteCount) else {
            forget(budget)
            return
        }
        unsafe MessageFraming.append(frame, to: &messages)
        frames += 1
    }

    mutating func forget(_ budget: ByteBudget) {
        budget.give(messages.count)
        messages.removeAll()
        messages.releaseIfEmpty()
        frames = 0
    }
}
