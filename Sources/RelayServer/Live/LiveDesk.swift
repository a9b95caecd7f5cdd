import Reactor
import RelayBase
import Synchronization

/// Where the loops and the thread that makes overviews meet. Without anybody who watches nothing is done at all.
final class LiveDesk: Sendable {
    let board: SnapshotBoard<LiveShare>
    /// For the thread: somebody began to watch, a loop has answered, or it is over.
    let wake: EventFD
    let startedAt = MonotonicClock.now()
    private let watching = Atomic<Int>(0)
    private let arrivals = Atomic<UInt64>(0)
    private let stopping = Atomic<Bool>(false)

    init(loops: Int) throws(SystemFault) {
        board = SnapshotBoard(count: loops, empty: LiveShare())
        wake = try EventFD()
    }

    var watchers: Int { watching.load(ordering: .acquiring) }
    /// Moved on by each who begins to watch.
    var arrivalCount: UInt64 { arrivals.load(ordering: .acquiring) }
    var isStopping: Bool { stopping.load(ordering: .acquiring) }

    /// Counts one more who watches, of all loops; false when there are as many as may be.
    func admit(max: Int) -> Bool {
        guard watching.add(1, ordering: .acquiringAndReleasing).newValue <= max else {
            leave()
            return false
        }
        return true
    }

    /// One that was admitted will hear of what is made from now on, and there should be something soon.
    func begin() {
        arrivals.add(1, ordering: .acquiringAndReleasing)
        wake.signal()
    }

    func leave() {
        watching.subtract(1, ordering: .acquiringAndReleasing)
    }

    func stop() {
        stopping.store(true, ordering: .releasing)
        wake.signal()
    }
}
