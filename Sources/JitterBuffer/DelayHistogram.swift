/// How often packets were how late, in microseconds, forgetting exponentially.
///
/// Steps of 1 ms up to 128 ms, of 4 ms up to 512 ms, of 16 ms up to 2,048 ms, and what is beyond. Instead of all old counts becoming less, new ones become more;
/// before they become too large, all are divided.
struct DelayHistogram: Sendable {
    private static var binCount: Int { 321 }
    private static var weightMax: Double { 1e9 }
    private static var forgottenMax: Double { 0.5 }

    private var bins = Array(repeating: 0.0, count: DelayHistogram.binCount)
    private var scratch = Array(repeating: 0.0, count: DelayHistogram.binCount)
    private var weight = 1.0
    private(set) var total = 0.0
    /// No bin above holds anything.
    private var highest = 0

    static func bin(of microseconds: Int64) -> Int {
        let milliseconds = microseconds / 1000
        if milliseconds < 128 { return Int(max(milliseconds, 0)) }
        if milliseconds < 512 { return 128 + Int(milliseconds - 128) / 4 }
        if milliseconds < 2048 { return 224 + Int(milliseconds - 512) / 16 }
        return 320
    }

    /// Where a bin ends.
    static func upperBound(of bin: Int) -> Int64 {
        if bin < 128 { return Int64(bin + 1) * 1000 }
        if bin < 224 { return 128_000 + Int64(bin - 127) * 4000 }
        return 512_000 + Int64(bin - 223) * 16_000
    }

    /// - Parameters:
    ///   - share: what this counts for, for example the packet's duration.
    ///   - forgotten: which part of what was before is forgotten, up to a half.
    mutating func add(_ microseconds: Int64, share: Double, forgotten: Double) {
        weight /= 1 - min(max(forgotten, 0), Self.forgottenMax)
        if weight > Self.weightMax { divide() }
        let bin = Self.bin(of: microseconds)
        bins[bin] += weight * share
        total += weight * share
        highest = max(highest, bin)
    }

    private mutating func divide() {
        total = 0
        var top = 0
        for bin in 0...highest {
            let scaled = bins[bin] / weight
            // What is all but forgotten is forgotten.
            bins[bin] = scaled < 1e-6 ? 0 : scaled
            total += bins[bin]
            if bins[bin] > 0 { top = bin }
        }
        highest = top
        weight = 1
    }

    /// What all that is remembered counts for together.
    var remembered: Double { total / weight }

    /// The delay that all but `exceeded` of what is remembered stayed within: the upper bound of its bin.
    func quantile(exceeded: Double) -> Int64 {
        let allowed = total * exceeded
        var above = 0.0
        var bin = highest
        while bin > 0 {
            above += bins[bin]
            if above > allowed { break }
            bin -= 1
        }
        return Self.upperBound(of: bin)
    }

    /// Everything was so much less late, since what it is measured against was.
    mutating func shift(by microseconds: Int64) {
        for bin in 0...highest {
            scratch[bin] = bins[bin]
            bins[bin] = 0
        }
        let top = highest
        highest = 0
        for bin in 0...top where scratch[bin] > 0 {
            let moved = Self.bin(of: max(Self.upperBound(of: bin) - 1 - microseconds, 0))
            bins[moved] += scratch[bin]
            highest = max(highest, moved)
        }
    }
}
