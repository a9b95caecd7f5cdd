/// How much of a stream is queued, in positions that count its frames: the first that enters has 0, whatever becomes of it.
///
/// A relay reads it off a subscription's account: `head` is what was delivered or dropped, `tail` what entered.
package struct QueueLevel: Hashable, Sendable {
    /// The next frame to go out.
    package var head: UInt64
    /// Behind the last frame that has entered.
    package var tail: UInt64
    /// Media in the queue.
    package var milliseconds: Double

    package init(head: UInt64 = 0, tail: UInt64 = 0, milliseconds: Double = 0) {
        self.head = head
        self.tail = tail
        self.milliseconds = milliseconds
    }

    package var frames: UInt64 { tail > head ? tail &- head : 0 }

    mutating func empty() {
        head = tail
        milliseconds = 0
    }
}

/// What a stream's owner wants of it, as with `AudioQueueStart` and its kin. Said at any time, executed by the loop that owns the stream.
package enum StreamIntention: Hashable, Sendable {
    /// - Parameter at: the media time to go on from, in units of the stream's timescale; `nil`: now, or where a pause has left off.
    case start(at: UInt32?)
    /// Fill up without playing; reports how much there is.
    case prime
    /// Keeps what is queued; ``start(at:)`` goes on.
    case pause
    /// Nothing more is played, and what is queued is dropped.
    case stopImmediately
    /// Nothing more enters; what is queued is played, then the stream stops. What is paused makes no sound: it stops at once.
    case stopDraining
    /// What is queued is played, whether it reaches the watermark or not; then the decoder starts afresh, and the stream goes on.
    case flush
    /// Silence now: what is queued is dropped; the stream is as it was otherwise.
    case reset
}

/// What the owner of a stream's queue does, in this order.
package enum TransportAction: Hashable, Sendable {
    /// Frames enter from here on, the configuration and the mark of a discontinuity first. `nil`: from the live edge.
    case open(at: UInt32?)
    /// None enters any more.
    case close
    /// Everything that is queued is dropped, each frame counted once.
    case drop
    /// Queued frames go out.
    case run
    /// Queued frames stay.
    case hold
    /// The configuration, and the mark of a discontinuity, go before the next frame.
    case resetDecoder
    /// What there is of a stream that was to be primed; once for each ``StreamIntention/prime``.
    case primed(QueueLevel)
    case state(StreamTransport.State)
}

/// The states of a stream that plays, apart from its queue: intentions and the queue's level go in, ``TransportAction`` come out.
///
/// The queue may be a player's, or a subscriber's cursor into a log that a relay shares between all. Nothing here waits for it.
package struct StreamTransport: Hashable, Sendable {
    /// Raw values are the wire's.
    package enum State: String, CaseIterable, Sendable {
        case stopped
        /// Not filled up to the watermark yet, or starved.
        case waiting
        case playing
        case paused
    }

    /// Intentions that wait for the loop at most.
    package static let intentionsMax = 8

    /// How much is filled up before anything plays. 0: what comes is passed on, and an empty queue is no want.
    package let watermarkMilliseconds: Double
    package private(set) var state: State = .stopped

    private var pending: [StreamIntention] = []
    /// Frames enter.
    private var isOpen = false
    private var wantsToPlay = false
    /// The watermark was reached, and the queue has not run empty since.
    private var isFilled = false
    private var isPriming = false
    private var isRunning = false
    /// The stream stops when everything before it has gone.
    private var drainMark: UInt64?
    /// The decoder starts afresh when everything before it has gone.
    private var flushMark: UInt64?

    package init(watermarkMilliseconds: Double = 0) {
        self.watermarkMilliseconds = watermarkMilliseconds
    }

    /// Notes what is wanted. Touches no queue and waits for nothing.
    ///
    /// - Returns: false, and nothing changes, when ``intentionsMax`` wait already.
    package mutating func intend(_ intention: StreamIntention) -> Bool {
        guard pending.count < StreamTransport.intentionsMax else { return false }
        pending.append(intention)
        return true
    }

    /// Executes what was intended, in order, and looks at the queue. Called by the owner between frames: after intentions, and when the level changed.
    ///
    /// - Parameter actions: appended to; they concern the queue as `level` tells of it.
    package mutating func advance(_ level: QueueLevel, into actions: inout [TransportAction]) {
        var level = level
        for intention in pending { execute(intention, &level, &actions) }
        pending.removeAll(keepingCapacity: true)
        settle(level, &actions)
    }

    // MARK: Intentions

    private mutating func execute(_ intention: StreamIntention, _ level: inout QueueLevel, _ actions: inout [TransportAction]) {
        switch intention {
        case .start(let time): start(at: time, &level, &actions)
        case .prime: prime(level, &actions)
        case .pause:
            endPriming(level, &actions)
            wantsToPlay = false
        case .stopImmediately: stop(&level, &actions)
        case .stopDraining:
            guard wantsToPlay else { return stop(&level, &actions) }
            guard isOpen else { return }
            isOpen = false
            drainMark = level.tail
            actions.append(.close)
        case .flush:
            guard isOpen || drainMark != nil else { return }
            flushMark = level.tail
        case .reset: reset(&level, &actions)
        }
    }

    private mutating func start(at time: UInt32?, _ level: inout QueueLevel, _ actions: inout [TransportAction]) {
        endPriming(level, &actions)
        wantsToPlay = true
        guard time != nil || !isOpen else { return }
        if time != nil, isOpen || drainMark != nil { drop(&level, &actions) }
        drainMark = nil
        isOpen = true
        actions.append(.open(at: time))
    }

    private mutating func prime(_ level: QueueLevel, _ actions: inout [TransportAction]) {
        endPriming(level, &actions)
        isPriming = true
        guard !isOpen, drainMark == nil else { return }
        isOpen = true
        actions.append(.open(at: nil))
    }

    private mutating func endPriming(_ level: QueueLevel, _ actions: inout [TransportAction]) {
        guard isPriming else { return }
        isPriming = false
        actions.append(.primed(level))
    }

    private mutating func stop(_ level: inout QueueLevel, _ actions: inout [TransportAction]) {
        guard isOpen || drainMark != nil else { return }
        endPriming(level, &actions)
        if isOpen { actions.append(.close) }
        drop(&level, &actions)
        isOpen = false
        wantsToPlay = false
        drainMark = nil
    }

    private mutating func reset(_ level: inout QueueLevel, _ actions: inout [TransportAction]) {
        guard isOpen || drainMark != nil else { return }
        drop(&level, &actions)
        if isOpen { actions.append(.resetDecoder) }
    }

    private mutating func drop(_ level: inout QueueLevel, _ actions: inout [TransportAction]) {
        actions.append(.drop)
        level.empty()
        isFilled = false
        flushMark = nil
    }

    // MARK: The queue's level

    private mutating func settle(_ level: QueueLevel, _ actions: inout [TransportAction]) {
        if let mark = flushMark, level.head >= mark {
            flushMark = nil
            actions.append(.resetDecoder)
        }
        if let mark = drainMark, level.head >= mark {
            drainMark = nil
            wantsToPlay = false
        }
        fill(level)
        if isPriming, isFilled || !isOpen { endPriming(level, &actions) }
        let runs = wantsToPlay && isFilled
        let next: State =
            if !isOpen && drainMark == nil { .stopped } else if runs { .playing } else if wantsToPlay || isPriming { .waiting } else { .paused }
        if next == .stopped { isFilled = false }
        if runs != isRunning {
            isRunning = runs
            if runs { actions.append(.run) } else if next != .stopped { actions.append(.hold) }
        }
        guard next != state else { return }
        state = next
        actions.append(.state(next))
    }

    private mutating func fill(_ level: QueueLevel) {
        if watermarkMilliseconds <= 0 {
            isFilled = true
        } else if level.frames == 0 {
            isFilled = false
        } else if level.milliseconds >= watermarkMilliseconds || flushMark != nil || drainMark != nil {
            isFilled = true
        }
    }
}
