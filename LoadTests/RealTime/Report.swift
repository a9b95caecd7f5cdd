import BenchmarkSupport

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
        "\(Machine.date), \(Machine.description); load of the last 1 and 5 minutes at the end: \(Machine.load)"
    }

    /// Replaces what stands between the marks of `file`.
    static func keep(_ outcomes: [Outcome], in file: String) throws {
        guard SmallFile.keep("\(machine)\n\n\(table(outcomes))", in: file, between: begin, and: end) else {
            throw ScenarioFault("\(file) cannot be written, or has no place for the table")
        }
    }
}
