/// Numbers and tables for people, without Foundation.
package enum Numbers {
    /// With so many digits behind the point, half away from zero, and thousands set apart: `12,345.7`.
    package static func fixed(_ value: Double, _ digits: Int = 0) -> String {
        guard value.isFinite, abs(value) < 1e15 else { return "none" }
        let digits = max(0, min(digits, 5))
        let scale = [1, 10, 100, 1_000, 10_000, 100_000][digits]
        guard let scaled = Int(exactly: (abs(value) * Double(scale)).rounded()) else { return "none" }
        let sign = value < 0 && scaled > 0 ? "-" : ""
        let fraction = digits == 0 ? "" : String(scaled % scale)
        let point = digits == 0 ? "" : "." + String(repeating: "0", count: digits - fraction.count)
        return sign + thousands(scaled / scale) + point + fraction
    }

    package static func thousands(_ value: Int) -> String {
        let digits = Array(String(value.magnitude))
        var text = value < 0 ? "-" : ""
        for (place, digit) in digits.enumerated() {
            if place > 0, (digits.count - place).isMultiple(of: 3) { text += "," }
            text.append(digit)
        }
        return text
    }

    /// With three digits that count, as far as they are behind the point: `0.012`, `1.23`, `12.3`, `123`, `1,235`.
    package static func significant(_ value: Double) -> String {
        let size = abs(value)
        return fixed(value, size >= 100 || size == 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3)
    }

    /// Microseconds as milliseconds.
    package static func milliseconds(_ microseconds: Int) -> String { significant(Double(microseconds) / 1_000) }

    package static func percent(_ share: Double, _ digits: Int = 1) -> String { "\(fixed(share * 100, digits)) %" }

    /// In KiB, MiB or GiB.
    package static func bytes(_ value: Double) -> String {
        if abs(value) < 1_048_576 { return "\(significant(value / 1_024)) KiB" }
        if abs(value) < 1_073_741_824 { return "\(significant(value / 1_048_576)) MiB" }
        return "\(significant(value / 1_073_741_824)) GiB"
    }

    /// `2026-11-30 23:59:59 UTC`, of milliseconds since 1970. Civil date from days after Howard Hinnant's algorithm.
    package static func date(unixMilliseconds: Int64) -> String {
        guard (0...253_402_300_799_999).contains(unixMilliseconds) else { return "at an unknown time" }
        let seconds = unixMilliseconds / 1_000
        let shifted = seconds / 86_400 + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let time = seconds % 86_400
        return "\(year)-\(two(month))-\(two(day)) \(two(time / 3_600)):\(two(time / 60 % 60)):\(two(time % 60)) UTC"
    }

    /// A table in Markdown with columns of one width, numbers to the right: it can go into a document as it stands.
    package static func table(_ header: [String], _ rows: [[String]]) -> String {
        let widths = header.indices.map { column in ([header] + rows).map { column < $0.count ? $0[column].count : 0 }.max() ?? 0 }
        func line(_ cells: [String]) -> String {
            let padded = widths.indices.map { column in
                let cell = column < cells.count ? cells[column] : ""
                let space = String(repeating: " ", count: widths[column] - cell.count)
                return column == 0 ? cell + space : space + cell
            }
            return "| " + padded.joined(separator: " | ") + " |"
        }
        let rule = widths.enumerated().map {
            $0.offset == 0 ? String(repeating: "-", count: max(1, $0.element)) : String(repeating: "-", count: max(1, $0.element - 1)) + ":"
        }
        return ([line(header), "| " + rule.joined(separator: " | ") + " |"] + rows.map(line)).joined(separator: "\n")
    }
}
