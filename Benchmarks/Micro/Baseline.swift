import BenchmarkSupport
import FoundationEssentials

/// Ratios of an earlier run, kept in the repository: a ratio to a floor of the same run holds on other machines as well, which nanoseconds do not.
struct Baseline {
    /// A ratio that is higher by so much is told.
    static let tolerance = 1.25

    private(set) var ratios: [String: Double] = [:]

    init() {}

    /// - Throws: a fault that names the file when it is there and cannot be understood.
    init(path: String) throws(BenchmarkFault) {
        guard let text = SmallFile.text(path) else { return }
        do {
            ratios = try JSONDecoder().decode([String: Double].self, from: Data(text.utf8))
        } catch {
            throw BenchmarkFault("\(path) is not a list of ratios: \(error)")
        }
    }

    /// A ratio that is none (a floor that took no time) is not kept.
    mutating func set(_ name: String, _ ratio: Double) {
        if ratio.isFinite { ratios[name] = ratio }
    }

    func write(to path: String) throws(BenchmarkFault) {
        let lines = ratios.sorted { $0.key < $1.key }.map { "    \"\($0.key)\": \(Text.fixed($0.value, 3))" }
        guard SmallFile.replace(path, with: "{\n\(lines.joined(separator: ",\n"))\n}\n") else { throw BenchmarkFault("\(path) could not be written") }
    }
}
