import AudioEngine
import Glibc
import JitterBuffer

/// The program of `Deploy/dev jitter`.
enum JitterTracesProgram {
    static let help = """
        Usage: jitter-traces compare [--profile NAME] [--traces FOLDER] [--plots FOLDER] [NAME]…
               jitter-traces hear SPEECH.wav --into FOLDER [--traces FOLDER] [NAME]…
               jitter-traces record --emulator PATH --into FOLDER [NAME]…
               jitter-traces convert IN OUT [--ssrc N] [--timescale HZ]

          compare   plays traces to this project's jitter buffer, libspeexdsp's, the best single delay and the oracle;
                    prints tables, and draws plots (SVG) into --plots
          hear      plays speech (16 kHz, mono, 16 bits) through Opus, each trace and the buffer into a WAV file for each,
                    and the names, delays and concealment into a line for each: NAME MEAN-MS CONCEALED-PERCENT
          record    records traces over emulated links; needs root and /dev/net/tun
          convert   makes a trace of a file of rtpdump or a pcap with RTP
        """

    /// - Returns: the exit code.
    static func run(_ arguments: [String]) -> Int32 {
        var rest = arguments[...]
        do {
            switch rest.popFirst() {
            case "compare": return try compare(&rest)
            case "hear": return try hear(&rest)
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
        let traces = try traces(&arguments)
        let plots = try option("--plots", of: &arguments)
        let profile = try option("--profile", of: &arguments) ?? "balanced"
        guard let profile = JitterProfile.allCases.first(where: { "\($0)" == profile }) else {
            throw TraceFault("--profile: \(JitterProfile.allCases)")
        }
        let chosen = traces.filter { arguments.isEmpty || arguments.contains($0.name) }
        let tables = ComparisonTables(comparisons: chosen.map { Comparison($0, profile: profile) })
        let artefacts = StretchArtefacts.frequencies.map { StretchArtefacts(hertz: $0) }
        say("\(tables.players)\n\n\(tables.goals)\n\n\(StretchArtefacts.table(artefacts))\n\n\(tables.summary)")
        if let plots {
            for comparison in tables.comparisons {
                let name = "\(comparison.trace.origin.rawValue)-\(comparison.trace.name)"
                try FileBytes.write(Plot.overTime(comparison), to: "\(plots)/\(name).svg")
            }
            try FileBytes.write(Plot.summary(tables.comparisons), to: "\(plots)/summary.svg")
            say("\nPlots: \(plots)")
        }
        return tables.holds && artefacts.allSatisfy(\.holds) ? 0 : 1
    }

    /// Into the folder: `clean.wav`, `codec.wav` (no trace), `stretched.wav` (no codec, delay moved to and fro) and one for each trace.
    private static func hear(_ arguments: inout ArraySlice<String>) throws(TraceFault) -> Int32 {
        guard let folder = try option("--into", of: &arguments) else { throw TraceFault("--into is needed") }
        let traces = try traces(&arguments)
        guard let path = arguments.popFirst() else { throw TraceFault("a WAV file is needed") }
        let speech = try WaveAudio(path: path)
        guard speech.sampleRate == Hearing.sampleRate else { throw TraceFault("\(path): \(Hearing.sampleRate) Hz are needed") }
        func keep(_ name: String, _ samples: [Float], _ statistics: JitterStatistics? = nil) throws(TraceFault) {
            try WaveAudio(sampleRate: Hearing.sampleRate, samples: samples).write(to: "\(folder)/\(name).wav")
            guard let statistics else { return }
            let played = Double(max(1, statistics.samplesPlayed))
            let delay = Double(statistics.delaySampleMilliseconds) / max(1, played - Double(statistics.concealedSamples))
            say("\(name) \(Decimals.fixed(delay, 1)) \(Decimals.fixed(Double(statistics.concealedSamples) * 100 / played, 2))")
        }
        try keep("clean", speech.samples)
        let seconds = speech.samples.count / Hearing.sampleRate + 1
        let plain = Hearing.play(
            PlainDecoder.packets(speech.samples), over: Hearing.even(seconds: seconds), by: PlainDecoder(), JitterConfiguration(),
            adjust: Hearing.swing)
        try keep("stretched", plain.samples, plain.statistics)
        let packets = try Hearing.encode(speech.samples)
        for trace in [Hearing.even(seconds: seconds)] + traces where !trace.hasPauses && (arguments.isEmpty || arguments.contains(trace.name)) {
            guard let decoder = try? OpusFrameDecoder(sampleRate: Hearing.sampleRate, channels: 1) else { throw TraceFault("no decoder") }
            let heard = Hearing.play(packets, over: trace, by: decoder, JitterConfiguration())
            try keep(trace.name == "even" ? "codec" : "\(trace.origin.rawValue)-\(trace.name)", heard.samples, heard.statistics)
        }
        return 0
    }

    /// Those of `--traces`, and the generated ones.
    private static func traces(_ arguments: inout ArraySlice<String>) throws(TraceFault) -> [ArrivalTrace] {
        let folder = try option("--traces", of: &arguments)
        let recorded = try folder.map { path throws(TraceFault) in try TraceFile.folder(path) } ?? []
        return recorded + Generators.all.map { Generators.trace($0) }
    }

    private static func record(_ arguments: inout ArraySlice<String>) throws -> Int32 {
        guard let emulator = try option("--emulator", of: &arguments), let folder = try option("--into", of: &arguments) else {
            throw TraceFault("--emulator and --into are needed")
        }
        // What is recorded is the link, not who else wants the processor.
        var parameter = sched_param(sched_priority: 50)
        guard unsafe sched_setscheduler(0, SCHED_FIFO, &parameter) == 0 else {
            throw TraceFault("the right to run at once is needed: errno \(errno)")
        }
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
