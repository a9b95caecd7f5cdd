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
///
/// In memory of its own, which a connection that has had one or two things to say hardly takes.
struct RecentMarks: Sendable {
    private static let marksMax = 8

    private var marks: [FlowMark] = []
    private var count = 0
    private var next = 0

    /// The memory stays.
    mutating func removeAll() {
        count = 0
        next = 0
    }

    mutating func note(_ mark: FlowMark, apartNanoseconds: UInt64) {
        if count > 0, mark.at.nanoseconds(since: marks[place(before: 1)].at) < apartNanoseconds { return }
        if next < marks.count { marks[next] = mark } else { marks.append(mark) }
        next = (next + 1) % RecentMarks.marksMax
        count = min(count + 1, RecentMarks.marksMax)
    }

    /// The newest mark that is at least that old.
    func newest(before now: MonotonicInstant, microseconds: UInt64) -> FlowMark? {
        for step in 1...RecentMarks.marksMax where step <= count {
            let mark = marks[place(before: step)]
            if now.nanoseconds(since: mark.at) / 1_000 >= microseconds { return mark }
        }
        return nil
    }

    private func place(before step: Int) -> Int { (next + RecentMarks.marksMax - step) % RecentMarks.marksMax }
}
