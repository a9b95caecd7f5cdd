import RelayBase

#if canImport(Glibc)
    import Glibc
#endif

/// Who talks when: talkspurts and pauses with the means of ITU-T P.59 (1.004 s and 1.587 s), exponentially distributed, from one seed.
///
/// Every trace carries this pattern, by media time: in traces with marked silence (DTX) the pauses are those of the packets, in the others silence is sent like
/// sound. A schedule that changes only between talkspurts changes at ``starts``.
struct SpeechPattern: Sendable {
    /// Alternating, from media time 0, in units of 20 ms: talk, pause, talk, …
    private let edges: [Int]
    static let unit: Int64 = 20_000_000

    /// - Parameter seconds: how much of it there is; it repeats from there.
    init(seed: UInt64 = 59, seconds: Int = 120) {
        var generator = SeededGenerator(seed: seed)
        var edges: [Int] = [0]
        var isTalking = true
        while edges[edges.count - 1] < seconds * 50 {
            let mean = isTalking ? 1.004 : 1.587
            // Nothing under 200 ms: P.59 has no shorter ones either.
            let length = max(0.2, -mean * log(1 - Double.random(in: 0..<0.999, using: &generator)))
            edges.append(edges[edges.count - 1] + Int((length * 50).rounded()))
            isTalking.toggle()
        }
        if edges.count % 2 == 0 { edges.append(edges[edges.count - 1] + 50) }
        self.edges = edges
    }

    /// How much of it there is, in units.
    var period: Int { edges[edges.count - 1] }

    /// Which talkspurt with the pause behind it a media time is of, and whether somebody talks.
    func place(at mediaTime: Int64) -> (spurt: Int, isTalking: Bool) {
        let step = Int(max(0, mediaTime) / Self.unit)
        let (turn, rest) = step.quotientAndRemainder(dividingBy: period)
        var low = 0
        var high = edges.count - 1
        while high - low > 1 {
            let middle = (low + high) / 2
            if edges[middle] <= rest { low = middle } else { high = middle }
        }
        return (turn * (edges.count / 2) + low / 2, low % 2 == 0)
    }

    /// Marks a continuous stream's pauses as DTX would: the first packet of a pause says that there is silence, further ones come every 400 ms.
    func isSent(at mediaTime: Int64) -> (isSent: Bool, isSilence: Bool) {
        let (_, isTalking) = place(at: mediaTime)
        if isTalking { return (true, false) }
        var silent: Int64 = 0
        while silent < 20, mediaTime - (silent + 1) * Self.unit >= 0, !place(at: mediaTime - (silent + 1) * Self.unit).isTalking { silent += 1 }
        if silent == 0 { return (true, true) }
        // By the grid of 400 ms, so that it does not have to be counted from the pause's beginning.
        return ((mediaTime / Self.unit) % 20 == 0, true)
    }
}
