import BenchmarkSupport
import Glibc

/// The command line, and the table.
struct MicroProgram {
    private static let help = """
        Usage: Deploy/dev bench micro [NAME…] [OPTIONS]

        Times pieces of the relay, each beside a floor: the least that anybody would have to do in its place, measured in turns in the same run. Prints their
        ratio and compares it with Benchmarks/baseline.json. Exit status 1: a ratio is 1.25 times the kept one or more.

          NAME        only what has this in its name
          --rounds N  of work and floor in turns, of which the fastest count (40)
          --keep      puts the ratios into Benchmarks/baseline.json, and the table of all into Sources/PERFORMANCE.md
        """

    private var wanted: [String] = []
    private var rounds = 40
    private static let passes = 4
    private var keeps = false
    private var folder = ""
    private var baseline = "Benchmarks/baseline.json"

    /// - Returns: the exit code.
    static func run(_ arguments: [String]) -> Int32 {
        do {
            guard let program = try MicroProgram(arguments) else {
                Text.out(help)
                return 0
            }
            return try program.run() ? 0 : 1
        } catch {
            Text.out("micro: \(error)")
            return 2
        }
    }

    /// `nil`: help is wanted.
    private init?(_ arguments: [String]) throws(BenchmarkFault) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--help", "-h": return nil
            case "--keep": keeps = true
            case "--rounds":
                guard let number = rest.popFirst().flatMap({ Int($0) }), (4...1_000).contains(number) else {
                    throw BenchmarkFault("--rounds: 4 to 1000")
                }
                rounds = number
            case "--folder": folder = rest.popFirst() ?? ""
            case "--baseline": baseline = rest.popFirst() ?? ""
            default:
                guard !argument.hasPrefix("-") else { throw BenchmarkFault("\(argument) is unknown; see --help") }
                wanted.append(argument)
            }
        }
        guard !folder.isEmpty else { throw BenchmarkFault("start it by Deploy/dev bench micro") }
    }

    private func run() throws -> Bool {
        let all = try CodecMicros.all() + ControlMicros.all() + SealMicros.all(folder) + FanoutMicros.all(folder) + AudioMicros.all()
        let chosen = all.filter { micro in wanted.isEmpty || wanted.contains { micro.name.contains($0) } }
        guard !chosen.isEmpty else { throw BenchmarkFault("nothing has such a name") }
        var kept = try Baseline(path: baseline)
        Text.out("\(Machine.description); load of the last 1 and 5 minutes: \(Machine.load); the fastest of \(rounds) rounds in turns")
        var rows: [[String]] = []
        var slower = 0
        var results = chosen.map { MicroResult($0, milliseconds: 3) }
        // In passes over all of them, so that what disturbs the machine for a while spoils some rounds of each and not all of one.
        for pass in 0..<Self.passes {
            for place in results.indices { results[place].measure(rounds: (rounds + pass) / Self.passes) }
        }
        for (micro, result) in zip(chosen, results) {
            let ratio = result.ratio
            let before = kept.ratios[micro.name]
            let change = before.map { ratio / $0 }
            if let change, change >= Baseline.tolerance { slower += 1 }
            rows.append([
                micro.name, micro.unit, micro.floorName, Self.time(result.work.lowest), Self.time(result.floor.lowest), Text.fixed(ratio, 2),
                before.map { Text.fixed($0, 2) } ?? "–", change.map { Self.judged($0) } ?? "new",
            ])
            kept.set(micro.name, ratio)
        }
        Text.out(Text.table(["what", "per", "floor", "ns", "floor's ns", "ratio", "kept", ""], rows, leftColumns: 3))
        if keeps {
            try kept.write(to: baseline)
            if wanted.isEmpty { try keepTable(rows.map { Array($0.prefix(6)) }) }
        }
        return keeps || slower == 0
    }

    private func keepTable(_ rows: [[String]]) throws(BenchmarkFault) {
        let text = """
            \(Machine.date), \(Machine.description), load \(Machine.load), release build; the fastest of \(rounds) rounds in turns

            \(Text.table(["what", "per", "floor", "ns", "floor's ns", "ratio"], rows, leftColumns: 3))
            """
        let (start, end) = ("<!-- micro: written by Deploy/dev bench micro -->", "<!-- micro: end -->")
        guard SmallFile.keep(text, in: "Sources/PERFORMANCE.md", between: start, and: end) else {
            throw BenchmarkFault("Sources/PERFORMANCE.md could not be written, or lacks the markers")
        }
    }

    private static func time(_ nanoseconds: Double) -> String {
        nanoseconds < 100 ? Text.fixed(nanoseconds, 1) : Text.thousands(nanoseconds)
    }

    private static func judged(_ change: Double) -> String {
        change >= Baseline.tolerance ? "slower" : change <= 1 / Baseline.tolerance ? "faster" : "same"
    }
}
