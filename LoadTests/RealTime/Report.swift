import Glibc

/// The table, on the terminal and in the document.
enum Report {
    private static let begin = "<!-- real-time: written by Deploy/dev real-time -->"
    private static let end = "<!-- real-time: end -->"

    static func table(_ outcomes: [Outcome]) -> String {
        Text.table(
            ["scenario", "variant", "what", "measured", "bound", ""],
            outcomes.map { [$0.scenario, $0.variant, $0.measure, $0.measured, $0.bound, $0.verdict.rawValue] })
    }

    /// What the figures were taken on, and beside which other work.
    static var machine: String {
        var names = utsname()
        _ = unsafe uname(&names)
        let release = unsafe withUnsafeBytes(of: &names.release) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        let load = FileText.read("/proc/loadavg").split(separator: " ").prefix(2).joined(separator: " ")
        return "\(today), \(sysconf(Int32(_SC_NPROCESSORS_ONLN))) cores, Linux \(release); load of the last 1 and 5 minutes at the end: \(load)"
    }

    private static var today: String {
        var now = time(nil)
        var parts = unsafe tm()
        _ = unsafe gmtime_r(&now, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return unsafe "\(parts.tm_year + 1_900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
    }

    /// Replaces what stands between the marks of `file`.
    static func keep(_ outcomes: [Outcome], in file: String) throws {
        let text = FileText.read(file)
        guard let first = text.firstRange(of: begin), let last = text.firstRange(of: end), first.upperBound <= last.lowerBound else {
            throw ScenarioFault("\(file) has no place for the table")
        }
        let section = "\n\(machine)\n\n\(table(outcomes))\n"
        let whole = text[..<first.upperBound] + section + text[last.lowerBound...]
        let descriptor = unsafe open(file, O_WRONLY | O_TRUNC | O_CLOEXEC)
        guard descriptor >= 0 else { throw ScenarioFault("\(file) cannot be written") }
        defer { close(descriptor) }
        let bytes = Array(whole.utf8)
        guard unsafe write(descriptor, bytes, bytes.count) == bytes.count else { throw ScenarioFault("\(file) cannot be written") }
    }
}
