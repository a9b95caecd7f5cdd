import RelayBase

/// What was outstanding at one moment, to be told later when the peer had all of it.
struct FlowMark: Sendable, Equatable {
    var at = MonotonicInstant.zero
    var ackedBytes: UInt64 = 0
    /// What ``FlowSample/ackedBytes`` is to reach.
    var target: UInt64 = 0
    /// Nothing was under way before: the first acknowledgement is a round trip off.
    var isFromIdle = true
    /// It has been late already: its rest tells how the link drains.
    var wasLate = false

    init() {}

    init(_ sample: FlowSample, isFromIdle: Bool) {
        at = sample.now
        ackedBytes = sample.ackedBytes
        target = sample.ackedBytes + UInt64(max(0, sample.outstandingBytes))
        self.isFromIdle = isFromIdle
    }
}

/// The marks of the last round trip or so, some way apart: whichever falls due first tells of a queue.
struct RecentMarks: Sendable {
    private var marks: InlineArray<8, FlowMark> = InlineArray(repeating: FlowMark())
    private var count = 0
    private var next = 0

    mutating func note(_ mark: FlowMark, apartNanoseconds: UInt64) {
        if count > 0, mark.at.nanoseconds(since: marks[(next + 7) % 8].at) < apartNanoseconds { return }
        marks[next] = mark
        next = (next + 1) % 8
        count = min(count + 1, 8)
    }

    /// The newest mark that is at least that old.
    func newest(before now: MonotonicInstant, microseconds: UInt64) -> FlowMark? {
        for step in 1...8 where step <= count {
            let mark = marks[(next + 8 - step) % 8]
            if now.nanoseconds(since: mark.at) / 1_000 >= microseconds { return mark }
        }
        return nil
    }
}
