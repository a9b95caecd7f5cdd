/// How uneven the pulls are: who pulls late wants packets to have come by then all the same. Microseconds.
struct PullStatistics: Sendable {
    private static var pullMicroseconds: Int64 { 10_000 }
    private static var latenessMax: Int64 { 20_000 }
    /// What is remembered falls by that part with each pull: to a third in ten seconds.
    private static var forgottenDivisor: Int64 { 1_000 }

    private var last: Int64?
    private var worst: Int64 = 0

    /// Takes a pull.
    ///
    /// - Returns: by how much longer than ten milliseconds it is between pulls, at the worst of late.
    mutating func lateness(now: Int64) -> Int64 {
        let late = last.map { now - $0 - Self.pullMicroseconds } ?? 0
        last = now
        worst = max(worst - worst / Self.forgottenDivisor, min(late, Self.latenessMax))
        return worst
    }
}
