import Reactor

/// The latest that each of several threads has put up, for `/metrics` and administrators on whichever loop they are asked for.
final class SnapshotBoard<Snapshot: Sendable>: Sendable {
    private let board: Locked<[Snapshot]>

    init(count: Int, empty: Snapshot) {
        board = Locked(Array(repeating: empty, count: count))
    }

    func publish(_ snapshot: Snapshot, at place: Int) {
        board.withLock { $0[place] = snapshot }
    }

    func snapshot() -> [Snapshot] {
        board.withLock { $0 }
    }
}

typealias MetricsBoard = SnapshotBoard<LoopCounters>
typealias AudioBoard = SnapshotBoard<AudioSnapshot>
