import Glibc

/// Numbers and tables for people.
package enum Text {
    /// Prints at once, whatever standard output is: the parts take minutes.
    package static func out(_ text: String) {
        print(text)
        fflush(nil)
    }

    /// `1,234,567`.
    package static func thousands(_ value: Double) -> String {
        guard value.isFinite, abs(value) < 1e15 else { return "–" }
        let digits = String(Int(abs(value).rounded()))
        var text = ""
        for (place, digit) in digits.enumerated() {
            if place > 0, (digits.count - place).isMultiple(of: 3) { text += "," }
            text.append(digit)
        }
        return (value <= -0.5 ? "-" : "") + text
    }

    /// `164 k`, `2.36 M`: three digits are what a measurement is good for.
    package static func short(_ value: Double) -> String {
        switch abs(value) {
        case ..<1_000: fixed(value, 0)
        case ..<10_000: fixed(value / 1_000, 2) + " k"
        case ..<100_000: fixed(value / 1_000, 1) + " k"
        case ..<1_000_000: fixed(value / 1_000, 0) + " k"
        default: fixed(value / 1_000_000, 2) + " M"
        }
    }

    /// With so many digits after the point.
    package static func fixed(_ value: Double, _ places: Int) -> String {
        var scale = 1.0
        for _ in 0..<places { scale *= 10 }
        guard value.isFinite, abs(value) * scale < 1e15 else { return "–" }
        let whole = Int((abs(value) * scale).rounded())
        let sign = value < 0 && whole > 0 ? "-" : ""
        guard places > 0 else { return sign + String(whole) }
        let fraction = String(whole % Int(scale))
        return "\(sign)\(whole / Int(scale)).\(String(repeating: "0", count: places - fraction.count))\(fraction)"
    }

    /// A table in Markdown, so that it can go into a document as it stands. The first `leftColumns` columns are words, the others numbers.
    package static func table(_ header: [String], _ rows: [[String]], leftColumns: Int = 1) -> String {
        let widths = header.indices.map { column in ([header] + rows).map { $0[column].count }.max() ?? 0 }
        func line(_ cells: [String]) -> String {
            let padded = cells.indices.map { column in
                let space = String(repeating: " ", count: widths[column] - cells[column].count)
                return column < leftColumns ? cells[column] + space : space + cells[column]
            }
            return "| " + padded.joined(separator: " | ") + " |"
        }
        let rule = widths.enumerated().map {
            $0.offset < leftColumns ? String(repeating: "-", count: $0.element) : String(repeating: "-", count: max(1, $0.element - 1)) + ":"
        }
        return ([line(header), "| " + rule.joined(separator: " | ") + " |"] + rows.map(line)).joined(separator: "\n")
    }
}

/// Several measurements of one thing.
package struct Samples: Sendable {
    package private(set) var values: [Double] = []

    package init(_ values: [Double] = []) {
        self.values = values
    }

    package mutating func append(_ value: Double) { values.append(value) }

    package var isEmpty: Bool { values.isEmpty }
    package var lowest: Double { values.min() ?? .nan }
    package var highest: Double { values.max() ?? .nan }

    package var median: Double {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return .nan }
        let middle = sorted.count / 2
        return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }

    package static func median(_ values: [Double]) -> Double { Samples(values).median }

    /// This one divided by `other`, run by run: what disturbed the machine during one run disturbed both.
    package func divided(by other: Samples) -> Samples {
        Samples(zip(values, other.values).map { $0 / $1 })
    }
}
