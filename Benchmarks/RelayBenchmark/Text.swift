import Glibc

/// Numbers and tables for people.
enum Text {
    /// Prints at once, whatever standard output is: the parts take minutes.
    static func out(_ text: String) {
        print(text)
        fflush(nil)
    }

    /// `1,234,567`.
    static func thousands(_ value: Double) -> String {
        var text = ""
        let digits = String(Int(value.rounded()))
        for (place, digit) in digits.enumerated() {
            if place > 0, (digits.count - place).isMultiple(of: 3), digits.dropFirst(place - 1).first != "-" { text += "," }
            text.append(digit)
        }
        return text
    }

    /// With so many digits after the point.
    static func fixed(_ value: Double, _ places: Int) -> String {
        guard places > 0 else { return String(Int(value.rounded())) }
        var scale = 1.0
        for _ in 0..<places { scale *= 10 }
        let whole = Int((abs(value) * scale).rounded())
        let fraction = String(whole % Int(scale))
        let sign = value < 0 && whole > 0 ? "-" : ""
        return "\(sign)\(whole / Int(scale)).\(String(repeating: "0", count: places - fraction.count))\(fraction)"
    }

    /// A table in Markdown, so that it can go into a document as it stands.
    static func table(_ header: [String], _ rows: [[String]]) -> String {
        let widths = header.indices.map { column in ([header] + rows).map { $0[column].count }.max() ?? 0 }
        func line(_ cells: [String]) -> String {
            let padded = cells.indices.map { column in
                let space = String(repeating: " ", count: widths[column] - cells[column].count)
                return column == 0 ? cells[column] + space : space + cells[column]
            }
            return "| " + padded.joined(separator: " | ") + " |"
        }
        let rule = widths.enumerated().map {
            $0.offset == 0 ? String(repeating: "-", count: $0.element) : String(repeating: "-", count: max(1, $0.element - 1)) + ":"
        }
        return ([line(header), "| " + rule.joined(separator: " | ") + " |"] + rows.map(line)).joined(separator: "\n")
    }

    static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return 0 }
        let middle = sorted.count / 2
        return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }
}
