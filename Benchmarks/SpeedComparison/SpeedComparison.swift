import BenchmarkSupport
import Glibc

/// Measures the loads at all servers in turns, and prints what came of it.
struct SpeedComparison {
    private let options: SpeedOptions
    private let surroundings: Connection.Surroundings
    private let relay: ServerProcess
    private let others: [ServerProcess]

    /// - Returns: the exit code.
    static func run(_ arguments: [String]) -> Int32 {
        do {
            let options = try SpeedOptions(arguments)
            if options.wantsHelp {
                Text.out(SpeedOptions.help)
                return 0
            }
            return try SpeedComparison(options).run() ? 0 : 1
        } catch {
            Text.out("speed: \(error)")
            return 2
        }
    }

    private init(_ options: SpeedOptions) throws {
        self.options = options
        let core = "\(options.serverCore)"
        // First the relay: its certificates serve all.
        relay = try ServerProcess(.relay, options, cores: core)
        others = try [ServerKind.floor, .peer].filter(options.servers.contains).map { try ServerProcess($0, options, cores: core) }
        surroundings = try Connection.Surroundings(state: options.folder + "/state")
    }

    private func run() throws -> Bool {
        Text.out("\(Machine.description); load of the last 1 and 5 minutes: \(Machine.load); \(options.runs) runs in turns\n")
        var results: [LoadResult] = []
        var generators: [Generator] = []
        for load in options.loads {
            if generators.first?.shape != load.shape {
                generators = []
                let servers = ([relay] + others).filter { options.servers.contains($0.kind) && load.isFor($0.kind) }
                generators = try servers.map { try Generator(load.shape, $0, surroundings) }
            }
            let result = try load.loopsRatioMin == nil ? measure(load, generators, results) : measureLoops(load, generators)
            Text.out(result.details + "\n")
            results.append(result)
        }
        let verdicts = results.flatMap(\.verdicts)
        let table = Verdict.table(verdicts)
        Text.out(table)
        if options.keeps { try keep(table, results) }
        return verdicts.allSatisfy { $0.holds != false }
    }

    private func measure(_ load: SpeedLoad, _ generators: [Generator], _ earlier: [LoadResult]) throws -> LoadResult {
        var result = LoadResult(load)
        result.own =
            earlier.first {
                $0.load.shape.transport == .http1 && $0.load.pattern == load.pattern && $0.load.messageBytes == load.messageBytes
            }?.servers[.relay]?.messagesPerSecond
        let seconds = load.isPaced ? options.seconds * 2 : options.seconds
        for generator in generators { _ = try generator.run(load, seconds: 0.3) }
        for _ in 0..<options.runs {
            for generator in generators {
                // What the one before has left behind in caches is not this one's.
                _ = try generator.run(load, seconds: 0.1)
                result.append(try generator.run(load, seconds: seconds), of: generator.server.kind)
            }
        }
        return result
    }

    /// One loop and two. The generator needs a core as well, so two loops cannot show on two cores what they deliver in a second: what they deliver in a second of
    /// processor time is measured, and two such seconds pass in one second of two cores.
    private func measureLoops(_ load: SpeedLoad, _ generators: [Generator]) throws -> LoadResult {
        let cores = "\(options.serverCore),\(options.generatorCore)"
        let twoLoops = try ServerProcess(.relay, options.inFolder("two-loops"), loops: 2, cores: cores)
        let state = try Connection.Surroundings(state: options.inFolder("two-loops").folder + "/state")
        guard let one = generators.first(where: { $0.server.kind == .relay }) else { throw BenchmarkFault("loops are the relay's") }
        let two = try Generator(load.shape, twoLoops, state)
        var result = LoadResult(load)
        for generator in [one, two] { _ = try generator.run(load, seconds: 0.5) }
        for _ in 0..<options.runs {
            result.append(try one.run(load, seconds: options.seconds), of: .relay)
            result.appendTwoLoops(try two.run(load, seconds: options.seconds))
        }
        twoLoops.stop()
        return result
    }

    private func keep(_ table: String, _ results: [LoadResult]) throws(BenchmarkFault) {
        let text = """
            \(Machine.date), \(Machine.description), load \(Machine.load), release build; medians of \(options.runs) runs in turns of \
            \(Text.fixed(options.seconds, 1)) s (conferences \(Text.fixed(options.seconds * 2, 1)) s)

            \(LoadResult.table(results))

            \(table)
            """
        let (start, end) = ("<!-- speed: written by Deploy/dev bench speed -->", "<!-- speed: end -->")
        guard SmallFile.keep(text, in: "Sources/PERFORMANCE.md", between: start, and: end) else {
            throw BenchmarkFault("Sources/PERFORMANCE.md could not be written, or lacks the markers")
        }
    }
}

extension SpeedOptions {
    /// The same for a server with files of its own.
    fileprivate func inFolder(_ name: String) -> SpeedOptions {
        var options = self
        options.folder += "/" + name
        _ = unsafe mkdir(options.folder, 0o700)
        return options
    }
}
