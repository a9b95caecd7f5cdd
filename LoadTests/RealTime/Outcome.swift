/// One measured line of the table.
struct Outcome {
    enum Verdict: String {
        case holds
        case fails = "FAILS"
        /// There is no bound: told for the reader's understanding.
        case told = "-"
    }

    let scenario: String
    /// Congestion control, HTTP version: what differs between the runs of one scenario.
    let variant: String
    let measure: String
    let measured: String
    let bound: String
    let verdict: Verdict

    init(_ scenario: Scenario, _ variant: String, _ measure: String, _ measured: String, bound: String, _ holds: Bool) {
        self.scenario = scenario.rawValue
        self.variant = variant
        self.measure = measure
        self.measured = measured
        self.bound = bound
        verdict = holds ? .holds : .fails
    }

    init(_ scenario: Scenario, _ variant: String, told measure: String, _ measured: String) {
        self.scenario = scenario.rawValue
        self.variant = variant
        self.measure = measure
        self.measured = measured
        bound = ""
        verdict = .told
    }

    /// A value in milliseconds that must not exceed a bound. What could not be measured fails.
    init(_ scenario: Scenario, _ variant: String, _ measure: String, milliseconds: Double, atMost bound: Double) {
        self.init(scenario, variant, measure, Text.milliseconds(milliseconds), bound: "≤ \(Text.milliseconds(bound))", milliseconds <= bound)
    }

    init(_ scenario: Scenario, _ variant: String, _ measure: String, count: Int, atMost bound: Int) {
        self.init(scenario, variant, measure, "\(count)", bound: "≤ \(bound)", count <= bound)
    }
}

/// Numbers and tables for people.
enum Text {
    static func fixed(_ value: Double, _ digits: Int) -> String {
        guard value.isFinite, abs(value) < 1e12 else { return "none" }
        var scale = 1.0
        for _ in 0..<digits { scale *= 10 }
        let scaled = Int((abs(value) * scale).rounded())
        let whole = scaled / Int(scale)
        let sign = value < 0 && scaled != 0 ? "-" : ""
        guard digits > 0 else { return "\(sign)\(whole)" }
        let rest = "\(scaled % Int(scale))"
        return "\(sign)\(whole)." + String(repeating: "0", count: digits - rest.count) + rest
    }

    static func milliseconds(_ value: Double) -> String { "\(fixed(value, value < 10 ? 1 : 0)) ms" }

    static func kibibytes(_ bytes: Int) -> String { "\(fixed(Double(bytes) / 1_024, 0)) KiB" }

    /// A table in Markdown, its columns padded for the terminal.
    static func table(_ head: [String], _ rows: [[String]]) -> String {
        let widths = head.indices.map { column in ([head] + rows).map { $0[column].count }.max() ?? 0 }
        func line(_ cells: [String]) -> String {
            "| " + cells.indices.map { cells[$0].padded(to: widths[$0]) }.joined(separator: " | ") + " |"
        }
        return ([line(head), line(widths.map { String(repeating: "-", count: $0) })] + rows.map(line)).joined(separator: "\n")
    }
}

extension String {
    func padded(to width: Int) -> String { self + String(repeating: " ", count: Swift.max(0, width - count)) }
}
