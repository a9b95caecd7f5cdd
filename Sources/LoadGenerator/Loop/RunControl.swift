import LoadReport
import Synchronization

/// What the run's main thread tells its loops, and they it.
final class RunControl: Sendable {
    /// Nanoseconds of the machine's clock.
    let beganAt: UInt64
    /// The measured window: `UInt64.max` as long as it has no beginning, or no end.
    private let windowBegin = Atomic<UInt64>(.max)
    private let windowEnd = Atomic<UInt64>(.max)
    private let closing = Atomic<Bool>(false)
    private let statuses: Mutex<[LoopStatus]>

    init(beganAt: UInt64, loops: Int) {
        self.beganAt = beganAt
        statuses = Mutex([LoopStatus](repeating: LoopStatus(), count: loops))
    }

    var window: Range<UInt64> {
        let begin = windowBegin.load(ordering: .acquiring)
        return begin..<max(begin, windowEnd.load(ordering: .acquiring))
    }

    /// Nothing is published from here on.
    var stopsAt: UInt64 { windowEnd.load(ordering: .acquiring) }
    /// Everything is counted: sessions may end.
    var mayClose: Bool { closing.load(ordering: .acquiring) }

    func beginWindow(at begin: UInt64, until end: UInt64) {
        windowEnd.store(end, ordering: .releasing)
        windowBegin.store(begin, ordering: .releasing)
    }

    /// Ends early.
    func stop(at instant: UInt64) {
        if instant < windowEnd.load(ordering: .acquiring) { windowEnd.store(instant, ordering: .releasing) }
    }

    func close() { closing.store(true, ordering: .releasing) }

    func tell(_ loop: Int, _ update: (inout sending LoopStatus) -> Void) { statuses.withLock { update(&$0[loop]) } }

    /// The loops' states, and the seconds that they have finished since the last call.
    func look() -> [LoopStatus] {
        statuses.withLock { statuses in
            defer { for place in statuses.indices { statuses[place].finished.removeAll() } }
            return statuses
        }
    }
}

/// What one loop has come to.
struct LoopStatus: Sendable {
    enum Phase: Sendable, Equatable {
        case playing
        /// Nothing is published any more, and what was to come has come.
        case settled
        case ended
    }

    var phase = Phase.playing
    /// Clients that have got to their room once, or have failed: all of them when the ramp is over.
    var reached = 0
    var failed = 0
    var connected = 0
    var framesSent = 0
    var framesReceived = 0
    /// Seconds that are over, for the timeline.
    var finished: [LoadReport.TimelineSecond] = []
}
