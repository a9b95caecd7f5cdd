import Glibc
package import LoadReport
import Reactor
import RelayBase
import RelayClient
import Synchronization

/// Plays a scenario, or a process's part of one, to its end: bounded in time, with a report whatever happens.
package struct LoadRun {
    package struct Options: Sendable {
        package var part = 1
        package var parts = 1
        package var loops = 1
        /// The relay's process, where it is on this machine: its CPU time and memory are in the report then.
        package var relayPID: Int32?

        package init() {}
    }

    /// Half a minute beyond what the pace of the beginning allows: who is not there by then is not waited for.
    private static let rampSlackNanoseconds: UInt64 = 30_000_000_000
    private static let lookMicroseconds: UInt32 = 50_000

    private let scenario: LoadScenario
    private let target: LoadTarget
    private let options: Options
    private let share: LoadShare

    package init(_ scenario: LoadScenario, _ target: LoadTarget, _ options: Options = Options()) {
        self.scenario = scenario
        self.target = target
        self.options = options
        share = LoadShare(part: options.part, parts: options.parts, loops: options.loops)
    }

    /// Plays.
    ///
    /// - Parameters:
    ///   - isInterrupted: asked some times a second: true ends the run early, in order.
    ///   - show: told what there is to be seen, some times a second.
    /// - Throws: what keeps it from beginning.
    package func play(isInterrupted: () -> Bool, show: (LiveView) -> Void) throws -> LoadReport {
        LoadRun.raiseDescriptorLimit()
        let seats = share.seats(scenario)
        let start = MonotonicClock.now()
        let control = RunControl(beganAt: start.nanoseconds, loops: options.loops)
        var report = LoadReport(scenario: LoadRun.describe(scenario))
        report.demands = scenario.limits
        report.clients.wanted = seats.count
        // Parts that run at the same time see one relay: the first looks at it.
        let look = options.part == 1 ? target.identities.first.map { RelayLook(options: target.options, context: $0) } : nil
        var play = Play(
            control: control, view: LiveView(scenario: scenario.name, wanted: seats.count), seconds: scenario.seconds,
            relay: RelayWatch(pid: options.part == 1 ? options.relayPID : nil, look: look))
        let threads = try startThreads(control)
        let rampEnd = start.nanoseconds + UInt64(Double(scenario.clientCount) / scenario.rampPerSecond * 1e9) + LoadRun.rampSlackNanoseconds
        play.ramp(until: rampEnd, seats.count, isInterrupted, show)
        report.startedUnixMilliseconds = Int64(clamping: WallClock.now())
        play.measure(isInterrupted, show)
        let measured = control.window
        report.wallSeconds = Double(min(measured.upperBound, MonotonicClock.now().nanoseconds) - measured.lowerBound) / 1e9
        play.relay.end()
        play.wait(for: [.settled, .ended], show)
        play.relay.settled()
        let connected = play.view.connected
        control.close()
        play.wait(for: [.ended], show)
        let tallies = try threads.map { try $0.join() }
        play.finish(&report, connections: connected)
        LoadRun.fill(&report, tallies, measured, (options.part, options.parts))
        report.machine = LoadRun.machine
        if play.wasInterrupted {
            report.notes.append("It was ended early, by a signal, in place of the \(LoadRun.figure(scenario.seconds)) s that the scenario measures.")
        }
        report.judge()
        return report
    }

    private func startThreads(_ control: RunControl) throws -> [LoopRunner] {
        try (0..<options.loops).map { try LoopRunner($0, scenario, share, target, control) }
    }

    /// As many connections as the process may have: the bound that shells set is below what loads need.
    private static func raiseDescriptorLimit() {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard unsafe getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
        limit.rlim_cur = limit.rlim_max
        _ = unsafe setrlimit(resource, &limit)
    }

    private static var machine: String {
        var names = utsname()
        unsafe uname(&names)
        let release = unsafe withUnsafeBytes(of: &names.release) { bytes in unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) }
        return "\(sysconf(Int32(_SC_NPROCESSORS_ONLN))) cores, Linux \(release)"
    }

    /// The main thread's side of the run.
    private struct Play {
        let control: RunControl
        var view: LiveView
        let seconds: Double
        var relay: RelayWatch
        var timeline: [Int64: LoadReport.TimelineSecond] = [:]
        var wasInterrupted = false
        private var lastSecond: Int64 = 0

        init(control: RunControl, view: LiveView, seconds: Double, relay: RelayWatch) {
            self.control = control
            self.view = view
            self.seconds = seconds
            self.relay = relay
        }

        mutating func ramp(until end: UInt64, _ wanted: Int, _ isInterrupted: () -> Bool, _ show: (LiveView) -> Void) {
            view.phase = .beginning
            while MonotonicClock.now().nanoseconds < end, !wasInterrupted {
                let statuses = step(isInterrupted, show)
                // A loop that has ended by now has failed: there is nothing to wait for.
                if statuses.reduce(0, { $0 + $1.reached + $1.failed }) >= wanted || statuses.contains(where: { $0.phase == .ended }) { break }
            }
        }

        mutating func measure(_ isInterrupted: () -> Bool, _ show: (LiveView) -> Void) {
            view.phase = .measuring
            relay.begin()
            let begin = MonotonicClock.now().nanoseconds
            control.beginWindow(at: begin, until: wasInterrupted ? begin : begin + UInt64(seconds * 1e9))
            view.measuredFrom = begin
            view.measuredSeconds = seconds
            while MonotonicClock.now().nanoseconds < control.stopsAt {
                if step(isInterrupted, show).contains(where: { $0.phase == .ended }) { control.stop(at: MonotonicClock.now().nanoseconds) }
            }
        }

        mutating func wait(for phases: [LoopStatus.Phase], _ show: (LiveView) -> Void) {
            view.phase = .ending
            while !step({ false }, show).allSatisfy({ phases.contains($0.phase) }) {}
        }

        private mutating func step(_ isInterrupted: () -> Bool, _ show: (LiveView) -> Void) -> [LoopStatus] {
            usleep(LoadRun.lookMicroseconds)
            let statuses = control.look()
            for status in statuses { for second in status.finished { take(second) } }
            view.take(statuses, now: MonotonicClock.now().nanoseconds, seconds: timeline)
            let second = Int64(WallClock.now() / 1_000)
            if second != lastSecond {
                if lastSecond != 0, let used = relay.second() {
                    timeline[lastSecond, default: .init(unixSecond: lastSecond)].relayCPUSeconds = used.cpuSeconds
                    timeline[lastSecond]?.relayRSSBytes = used.rssBytes
                    view.relayCPU = used.cpuSeconds
                    view.relayRSSBytes = used.rssBytes
                }
                lastSecond = second
            }
            show(view)
            if isInterrupted(), !wasInterrupted {
                wasInterrupted = true
                control.stop(at: MonotonicClock.now().nanoseconds)
            }
            return statuses
        }

        private mutating func take(_ second: LoadReport.TimelineSecond) {
            guard var known = timeline[second.unixSecond] else {
                timeline[second.unixSecond] = second
                return
            }
            known.clientsConnected += second.clientsConnected
            known.framesSent += second.framesSent
            known.framesDelivered += second.framesDelivered
            known.latency.merge(second.latency)
            timeline[second.unixSecond] = known
        }

        func finish(_ report: inout LoadReport, connections: Int) {
            report.timeline = timeline.values.sorted { $0.unixSecond < $1.unixSecond }
            report.relay = relay.figures(connections: connections)
            report.frames.droppedByReason = relay.droppedByReason
        }
    }
}

/// A loop on its thread.
private final class LoopRunner {
    private final class Outcome: Sendable {
        let value = Mutex<Result<LoopTally, any Error>?>(nil)
    }

    private let thread: LoopThread
    private let outcome = Outcome()

    init(_ number: Int, _ scenario: LoadScenario, _ share: LoadShare, _ target: LoadTarget, _ control: RunControl) throws {
        let outcome = outcome
        thread = try LoopThread(name: "load-\(number)") {
            let result = Result { try LoadLoop(number: number, scenario, share, target, control).run() }
            outcome.value.withLock { $0 = result }
            // Whoever waits for it must not wait for one that has failed.
            control.tell(number) { $0.phase = .ended }
        }
    }

    func join() throws -> LoopTally {
        thread.join()
        return try outcome.value.withLock { $0 }?.get() ?? LoopTally()
    }
}
