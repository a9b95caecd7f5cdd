import Glibc
import LinkNetwork
import Reactor

/// The program: scenarios one after the other, then the table.
enum RealTimeProgram {
    /// - Returns: the exit code.
    static func run(_ arguments: [String]) -> Int32 {
        do {
            let options = try RealTimeOptions(arguments)
            if options.wantsHelp {
                say(RealTimeOptions.help)
                return 0
            }
            signal(SIGPIPE, SIG_IGN)
            Instruments.hurry()
            try Certificates.make(options)
            var outcomes: [Outcome] = []
            var faults = 0
            for scenario in options.scenarios {
                say("playing \(scenario.rawValue): \(scenario.summary)")
                do {
                    let played = try scenario.play(options)
                    for outcome in played {
                        say("  \(outcome.variant): \(outcome.measure): \(outcome.measured) \(outcome.bound) \(outcome.verdict.rawValue)")
                    }
                    outcomes += played
                } catch {
                    say("  could not be played: \(error)")
                    faults += 1
                }
            }
            let table = Report.table(outcomes)
            say("\n\(Report.machine)\n\n\(table)")
            if let file = options.keep { try Report.keep(outcomes, in: file) }
            if faults > 0 { return 2 }
            return outcomes.contains { $0.verdict == .fails } ? 1 : 0
        } catch {
            say("real-time: \(error)")
            return 2
        }
    }

    static func say(_ text: String) {
        let bytes = Array((text + "\n").utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe write(1, $0.baseAddress, $0.count) }
    }
}
