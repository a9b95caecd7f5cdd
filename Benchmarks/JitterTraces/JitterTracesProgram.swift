import Glibc
import JitterBuffer

/// The program of `Deploy/dev jitter`.
enum JitterTracesProgram {
    static let help = """
        Usage: jitter-traces compare [--traces FOLDER] [--plots FOLDER] [NAME]…
               jitter-traces record --emulator PATH --into FOLDER [NAME]…
               jitter-traces convert IN OUT [--ssrc N] [--timescale HZ]

          compare   plays traces to this project's jitter buffer, libspeexdsp's, the best single delay and the oracle;
                    prints tables, and draws plots (SVG) into --plots
          record    records traces over emulated links; needs root and /dev/net/tun
          convert   makes a trace of a file of rtpdump or a pcap with RTP
        """

    /// - Returns: the exit code.
    static func run(_ arguments: [String]) -> Int32 {
        var rest = arguments[...]
        do {
            switch rest.popFirst() {
            case "compare": return try compare(&rest)
            case "record": return try record(&rest)
            case "convert": return try convert(&rest)
            default:
                say(help)
                return arguments.isEmpty || arguments.contains("--help") ? 0 : 64
            }
        } catch {
            say("jitter-traces: \(error)", to: 2)
            return 1
        }
    }

    /// Takes `--name VALUE` out of the arguments.
    static func option(_ name: String, of arguments: inout ArraySlice<String>) throws(TraceFault) -> String? {
        guard let place = arguments.firstIndex(of: name) else { return nil }
        guard place + 1 < arguments.endIndex else { throw TraceFault("\(name) lacks its value") }
        let value = arguments[place + 1]
        arguments.removeSubrange(place...place + 1)
        return value
    }

    private static func compare(_ arguments: inout ArraySlice<String>) throws(TraceFault) -> Int32 {
        let folder = try option("--traces", of: &arguments)
        let plots = try option("--plots", of: &arguments)
        let profile = try option("--profile", of: &arguments) ?? "balanced"
        guard let profile = JitterProfile.allCases.first(where: { "\($0)" == profile }) else { throw TraceFault("--profile: \(JitterProfile.allCases)") }
        let recorded = try folder.map { path throws(TraceFault) in try TraceFile.folder(path) } ?? []
        let traces = (recorded + Generators.all.map { Generators.trace($0) }).filter { arguments.isEmpty || arguments.contains($0.name) }
        let tables = ComparisonTables(comparisons: traces.map { Comparison($0, profile: profile) })
        say("\(tables.players)\n\n\(tables.goals)\n\n\(tables.summary)")
        if let plots {
            for comparison in tables.comparisons {
                let name = "\(comparison.trace.origin.rawValue)-\(comparison.trace.name)"
                try FileBytes.write(Plot.overTime(comparison), to: "\(plots)/\(name).svg")
            }
            try FileBytes.write(Plot.summary(tables.comparisons), to: "\(plots)/summary.svg")
            say("\nPlots: \(plots)")
        }
        return tables.holds ? 0 : 1
    }

    private static func record(_ arguments: inout ArraySlice<String>) throws -> Int32 {
        guard let emulator = try option("--emulator", of: &arguments), let folder = try option("--into", of: &arguments) else {
            throw TraceFault("--emulator and --into are needed")
        }
        // What is recorded is the link, not who else wants the processor.
        var parameter = sched_param(sched_priority: 50)
        guard unsafe sched_setscheduler(0, SCHED_FIFO, &parameter) == 0 else { throw TraceFault("the right to run at once is needed: errno \(errno)") }
        for recording in Recording.all where arguments.isEmpty || arguments.contains(recording.name) {
            let trace = try Recorder.record(recording, emulator: emulator, name: "jt\(getpid())")
            try FileBytes.write(TraceText.write(trace), to: "\(folder)/\(trace.name).trace")
            say("\(trace.name): \(trace.packets.count) packets, \(trace.packets.count { $0.received == nil }) lost")
        }
        return 0
    }

    private static func convert(_ arguments: inout ArraySlice<String>) throws(TraceFault) -> Int32 {
        let source = try number("--ssrc", &arguments)
        let timescale = try number("--timescale", &arguments)
        guard arguments.count == 2, let from = arguments.first, let to = arguments.last else { throw TraceFault("convert IN OUT") }
        if let timescale, !(1_000...192_000).contains(timescale) { throw TraceFault("--timescale: 1000 to 192000") }
        let trace = try TraceFile.read(from, source: source, timescale: timescale)
        try FileBytes.write(TraceText.write(trace), to: to)
        say("\(trace.name): \(trace.packets.count) packets, \(trace.packets.count { $0.received == nil }) lost, \(trace.note)")
        return 0
    }

    private static func number(_ name: String, _ arguments: inout ArraySlice<String>) throws(TraceFault) -> UInt32? {
        guard let text = try option(name, of: &arguments) else { return nil }
        guard let value = UInt32(text) else { throw TraceFault("\(name): a whole number") }
        return value
    }

    static func say(_ text: String, to descriptor: Int32 = 1) {
        let bytes = Array((text + "\n").utf8)
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress.map { unsafe $0 + written }, bytes.count - written) }
            guard count > 0 else { return }
            written += count
        }
    }
}
