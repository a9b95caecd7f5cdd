/// The best that any schedule could have done: one delay for each talkspurt, with all that comes known, at no more than a given part of packets late.
///
/// Each talkspurt's delay is one of its packets' delays; which, a Lagrange multiplier says that weighs a late packet against waiting.
enum Oracle {
    /// - Parameters:
    ///   - spurtMilliseconds: a talkspurt in the trace is that long.
    /// - Returns: the mean of what packets that are played wait, in milliseconds.
    static func meanDelay(_ trace: Trace, concealedRatio: Double, spurtMilliseconds: Int = 1_000) -> Double {
        let perSpurt = max(spurtMilliseconds * 1000 / Int(trace.packetMicroseconds), 1)
        var spurts: [[Int64]] = []
        var place = 0
        var lost = 0
        while place < trace.packets.count {
            let end = min(place + perSpurt, trace.packets.count)
            var delays: [Int64] = []
            for packet in trace.packets[place..<end] {
                if let arrival = packet.arrival { delays.append(arrival - packet.sent) } else { lost += 1 }
            }
            if !delays.isEmpty { spurts.append(delays.sorted()) }
            place = end
        }
        let allowed = max(Int(concealedRatio * Double(trace.packets.count)) - lost, 0)
        func solve(_ price: Double) -> (late: Int, waited: Double, played: Int) {
            var (late, waited, played) = (0, 0.0, 0)
            for delays in spurts {
                var best = (Double.infinity, 0, 0.0)
                var sum = 0.0
                for (index, delay) in delays.enumerated() {
                    sum += Double(delay)
                    if index + 1 < delays.count, delays[index + 1] == delay { continue }
                    let wait = Double(delay) * Double(index + 1) - sum
                    let cost = wait + price * Double(delays.count - index - 1)
                    if cost < best.0 { best = (cost, index + 1, wait) }
                }
                late += delays.count - best.1
                waited += best.2
                played += best.1
            }
            return (late, waited, played)
        }
        var (low, high) = (0.0, 1e9)
        for _ in 0..<60 {
            let middle = (low + high) / 2
            if solve(middle).late > allowed { low = middle } else { high = middle }
        }
        let best = solve(high)
        return best.waited / Double(max(best.played, 1)) / 1000
    }

    /// The best single delay for the whole.
    static func meanDelayFixed(_ trace: Trace, concealedRatio: Double) -> Double {
        meanDelay(trace, concealedRatio: concealedRatio, spurtMilliseconds: 1_000_000_000)
    }
}
