import Glibc
import LoadGenerator
import LoadReport
import Reactor
import RelayBase

/// What is seen of a run, and Ctrl-C.
final class LoadTerminal {
    private let isQuiet: Bool
    private let isTerminal = isatty(STDOUT_FILENO) == 1
    private var shownAt: UInt64 = 0
    private var lines = 0
    private var isInterrupted = false

    init(isQuiet: Bool) {
        self.isQuiet = isQuiet
    }

    func play(_ run: LoadRun) throws -> LoadReport {
        try SignalReceiver.block([SIGINT, SIGTERM])
        let signals = try SignalReceiver([SIGINT, SIGTERM])
        let report: LoadReport
        do {
            report = try run.play(
                isInterrupted: { [self] in
                    while let signal = try? signals.next(calls: .linux) {
                        if isInterrupted { exit(128 + signal) }
                        isInterrupted = true
                    }
                    return isInterrupted
                }, show: show)
        } catch {
            erase()
            throw CommandFailure(code: .failure, message: Console.plain("\(error)"))
        }
        erase()
        return report
    }

    /// A block that is written over on a terminal, a line otherwise; each second.
    private func show(_ view: LiveView) {
        let now = MonotonicClock.now().nanoseconds
        guard !isQuiet, now - shownAt >= 1_000_000_000 else { return }
        shownAt = now
        guard isTerminal else {
            Console.out(view.line)
            return
        }
        erase()
        let block = view.block
        Console.out(block.joined(separator: "\n"))
        lines = block.count
    }

    private func erase() {
        guard lines > 0 else { return }
        Console.text("\u{1B}[\(lines)A\u{1B}[J")
        lines = 0
    }
}
