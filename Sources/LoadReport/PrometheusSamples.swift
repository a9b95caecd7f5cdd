/// What a metrics endpoint says, in Prometheus' text format, as far as a load generator needs it.
package struct PrometheusSamples: Sendable {
    /// By name and labels as they stand in the text.
    private var values: [String: [(labels: String, value: Double)]] = [:]

    /// Lines that are none are passed over.
    package init(_ text: some StringProtocol) {
        for line in text.split(whereSeparator: \.isNewline) where !line.hasPrefix("#") {
            guard let space = line.lastIndex(of: " "), let value = Double(line[line.index(after: space)...]) else { continue }
            let name = line[..<space].prefix { $0 != "{" && $0 != " " }
            let labels = line[name.endIndex..<space]
            values[String(name), default: []].append((String(labels), value))
        }
    }

    /// The sum of all series of a name; `nil` where there is none.
    package subscript(_ name: String) -> Double? {
        values[name]?.reduce(0) { $0 + $1.value }
    }

    /// The series of a name by the value of one label; those that have it in common are added up.
    package func byLabel(_ name: String, _ label: String) -> [String: Double] {
        var found: [String: Double] = [:]
        for (labels, value) in values[name] ?? [] {
            guard let text = Self.value(of: label, in: labels) else { continue }
            found[text, default: 0] += value
        }
        return found
    }

    /// The buckets of a histogram in order of their bounds, each with how many values do not exceed it; the last has no bound (infinity).
    package func histogram(_ name: String) -> [(bound: Double, count: Double)] {
        byLabel(name + "_bucket", "le").compactMap { text, count in
            (text == "+Inf" ? Double.infinity : Double(text)).map { (bound: $0, count: count) }
        }.sorted { $0.bound < $1.bound }
    }

    /// How many values of a histogram came since `earlier`, by bucket.
    package func histogram(_ name: String, since earlier: PrometheusSamples) -> [(bound: Double, count: Double)] {
        let before = earlier.byLabel(name + "_bucket", "le")
        return histogram(name).map { bucket in
            let known = before.first { bucket.bound == ($0.key == "+Inf" ? .infinity : Double($0.key)) }?.value ?? 0
            return (bucket.bound, max(0, bucket.count - known))
        }
    }

    /// The bound that a share of a histogram's values does not exceed; `nil` for an empty one or where only the bucket without bound has it.
    package static func quantile(_ quantile: Double, of buckets: [(bound: Double, count: Double)]) -> Double? {
        guard let total = buckets.last?.count, total > 0 else { return nil }
        let bound = buckets.first { $0.count >= total * quantile }?.bound
        return bound.flatMap { $0.isFinite ? $0 : nil }
    }

    /// Without undoing escapes: the labels that are asked for have none.
    private static func value(of label: String, in labels: String) -> String? {
        for part in labels.dropFirst().dropLast().split(separator: ",") {
            let sides = part.split(separator: "=", maxSplits: 1)
            if sides.count == 2, sides[0] == label { return String(sides[1].dropFirst().dropLast()) }
        }
        return nil
    }
}
