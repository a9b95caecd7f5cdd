import Glibc

/// One axis of a plot: which values it spans, where they lie, and what is written beside it.
struct PlotAxis {
    enum Scale {
        case linear
        case logarithmic
    }

    let label: String
    let scale: Scale
    let low: Double
    let high: Double
    /// Values that get a line and a text.
    let ticks: [(value: Double, text: String)]

    /// From `low` to the first round number that is not below `high`.
    static func linear(_ label: String, low: Double = 0, high: Double) -> PlotAxis {
        let high = high > low && high.isFinite ? high : low + 1
        let step = roundStep(for: (high - low) / 5)
        let end = (high / step).rounded(.up) * step
        let count = Int(((end - low) / step).rounded())
        let digits = step >= 1 ? 0 : step >= 0.1 ? 1 : 2
        return PlotAxis(
            label: label, scale: .linear, low: low, high: end,
            ticks: (0...max(1, count)).map { place in
                let value = low + Double(place) * step
                return (value, Numbers.fixed(value, digits))
            })
    }

    /// Exactly these bounds, with the ticks that lie between them.
    static func exact(_ label: String, low: Double, high: Double, ticks: [(value: Double, text: String)]) -> PlotAxis {
        PlotAxis(label: label, scale: .linear, low: low, high: max(high, low + 1e-9), ticks: ticks.filter { $0.value >= low && $0.value <= high })
    }

    /// Whole decades around the values, which are all above 0; of few decades 2 and 5 are marked as well.
    static func logarithmic(_ label: String, low: Double, high: Double) -> PlotAxis {
        let low = max(low, 1e-3)
        let first = Int(log10(low).rounded(.down))
        let last = max(first + 1, Int(log10(max(high, low)).rounded(.up)))
        var ticks: [(value: Double, text: String)] = []
        for exponent in first...last {
            for factor in last - first <= 2 && exponent < last ? [1.0, 2, 5] : [1.0] {
                let value = factor * pow(10, Double(exponent))
                ticks.append((value, Numbers.fixed(value, max(0, min(3, -exponent)))))
            }
        }
        return PlotAxis(label: label, scale: .logarithmic, low: pow(10, Double(first)), high: pow(10, Double(last)), ticks: ticks)
    }

    /// Where a value lies, 0 at the low end and 1 at the high one.
    func place(_ value: Double) -> Double {
        let value = min(max(value, low), high)
        return switch scale {
        case .linear: (value - low) / (high - low)
        case .logarithmic: log10(value / low) / log10(high / low)
        }
    }

    /// The smallest of 1, 2, 5, 10, … that is not below.
    private static func roundStep(for wanted: Double) -> Double {
        let power = pow(10, log10(wanted).rounded(.down))
        return ([1.0, 2, 5].first { $0 * power >= wanted * 0.999 } ?? 10) * power
    }
}
