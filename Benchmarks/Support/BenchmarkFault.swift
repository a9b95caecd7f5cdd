/// Why a measurement could not go on.
package struct BenchmarkFault: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

/// What command lines of benchmarks have in common.
package enum OptionValue {
    package static func number(_ option: String, _ text: String, _ range: ClosedRange<Int>) throws(BenchmarkFault) -> Int {
        guard let number = Int(text), range.contains(number) else {
            throw BenchmarkFault("\(option): a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}
