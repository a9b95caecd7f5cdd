import Glibc
import Reactor
import RelayBase

/// The thread that makes overviews: it asks every loop for its share, puts them together, and posts what came of it to all. So a loop does no more than
/// to look at what is its own, once every two seconds, and only while somebody watches.
struct LiveWorker {
    private static let intervalMilliseconds: UInt64 = 2_000
    /// Whoever begins to watch is told at once, but not all the others with it again and again.
    private static let intervalMillisecondsMin: UInt64 = 250
    /// What rates are measured over where nothing was measured of late.
    private static let firstIntervalMilliseconds: UInt64 = 100
    /// A loop that does not answer within that is left as it was.
    private static let surveyMillisecondsMax: UInt64 = 250

    private let shared: Shared
    private let desk: LiveDesk
    private var rounds: UInt64 = 0

    init(_ shared: Shared) {
        self.shared = shared
        desk = shared.live
    }

    mutating func run() {
        var before: LiveSurvey?
        while !desk.isStopping {
            let arrivals = desk.arrivalCount
            guard desk.watchers > 0 else {
                before = nil
                pause(until: .distantFuture) { desk.watchers > 0 && desk.arrivalCount != arrivals }
                continue
            }
            let earlier: LiveSurvey
            if let before {
                earlier = before
            } else {
                earlier = survey()
                pause(until: MonotonicClock.now().advanced(byMilliseconds: LiveWorker.firstIntervalMilliseconds)) { false }
            }
            let survey = survey()
            let event = LiveEvent("overview", data: LiveOverview(setting(), survey, since: earlier).json)
            // A full mailbox is a loop that has more than enough to do: its watchers hear the next.
            for loop in 0..<shared.loops { _ = shared.mailboxes[loop].post(.live(event)) }
            before = survey
            pause(until: survey.at.advanced(byMilliseconds: LiveWorker.intervalMillisecondsMin)) { false }
            pause(until: survey.at.advanced(byMilliseconds: LiveWorker.intervalMilliseconds)) { desk.arrivalCount != arrivals }
        }
    }

    private mutating func survey() -> LiveSurvey {
        rounds += 1
        let round = rounds
        for loop in 0..<shared.loops { _ = shared.mailboxes[loop].post(.surveyLive(round: round)) }
        pause(until: MonotonicClock.now().advanced(byMilliseconds: LiveWorker.surveyMillisecondsMax)) {
            desk.board.snapshot().allSatisfy { $0.round == round }
        }
        return LiveSurvey(shares: desk.board.snapshot(), at: MonotonicClock.now(), processorNanoseconds: CPUUsage.ofProcess().totalNanoseconds)
    }

    private func setting() -> LiveOverview.Setting {
        let readiness = shared.readiness
        return LiveOverview.Setting(
            node: shared.node, version: shared.configuration.version,
            uptimeSeconds: Double(MonotonicClock.now().milliseconds(since: desk.startedAt)) / 1_000, time: Double(WallClock.now()),
            isDraining: readiness.isDraining, stale: readiness.stale.map(\.rawValue) + (readiness.grantsAreUnsaved ? ["grants"] : []),
            residentBytes: (try? MemoryUsage.ofProcess(calls: .linux))?.residentBytes ?? 0)
    }

    /// Sleeps until an instant, until something is so, or until the end.
    private func pause(until deadline: MonotonicInstant, unless isSo: () -> Bool) {
        while !desk.isStopping, !isSo() {
            let now = MonotonicClock.now()
            guard now < deadline else { return }
            let milliseconds = deadline == .distantFuture ? -1 : Int32(clamping: deadline.milliseconds(since: now) + 1)
            var descriptor = pollfd(fd: desk.wake.descriptor.number, events: Int16(POLLIN), revents: 0)
            _ = unsafe poll(&descriptor, 1, milliseconds)
            desk.wake.reset()
        }
    }
}
