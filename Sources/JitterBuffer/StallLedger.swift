/// Stalls of the last half minute: times when nothing came, and then everything at once. What TCP makes of a lost segment or of a radio that is busy.
///
/// The packets of one stall are not so many observations of delay but one, and the larger the stall the more of them there are; so stalls are kept apart from the
/// histogram, each with its height. From them comes a level: the delay at which waiting, and what stalls above it still make one conceal, cost least together. The
/// highest stall is left out: once is no pattern, and a single long freeze must not leave a long delay behind.
struct StallLedger: Sendable {
    private struct Stall: Sendable {
        var at: Int64 = 0
        var height: Int64 = 0
    }

    private static var stallsMax: Int { 24 }
    static var windowMicroseconds: Int64 { 30_000_000 }
    /// Two stalls at once are no rate.
    private static var spanMicrosecondsMin: Int64 { 5_000_000 }
    /// An interruption is a nuisance of its own, however short.
    private static var eventMicroseconds: Int64 { 20_000 }
    /// What lasts longer is no stall but another path or a sender that paused: the reference follows.
    private static var stallMicrosecondsMax: Int64 { 4_000_000 }

    private var stalls = Array(repeating: Stall(), count: StallLedger.stallsMax)
    private var head = 0
    private var count = 0
    private var open: Stall?
    private var openSince: Int64 = 0
    private var began: Int64?

    /// Whether packets of a stall are coming in.
    var isOpen: Bool { open != nil }

    /// Takes a packet's delay.
    ///
    /// - Parameters:
    ///   - gap: since the packet before. Where packets come later and later without one, a queue grows on the way: no stall.
    ///   - threshold: a delay above is a stall.
    /// - Returns: whether the packet is of a stall, so nothing for the histogram.
    mutating func take(delay: Int64, gap: Int64, arrival: Int64, threshold: Int64) -> Bool {
        if began == nil { began = arrival }
        if var stall = open {
            if arrival - openSince > Self.stallMicrosecondsMax {
                open = nil
                return false
            }
            // Half way down, what is left is ordinary.
            if delay <= min(threshold, stall.height) / 2 {
                open = nil
                append(stall)
                return true
            }
            stall.height = max(stall.height, delay)
            open = stall
            return true
        }
        guard delay > threshold, gap > threshold / 2 else { return false }
        open = Stall(at: arrival, height: delay)
        openSince = arrival
        return true
    }

    /// What delays are measured against has moved: a stall that was coming in was that.
    mutating func referenceMoved() {
        open = nil
    }

    private subscript(place: Int) -> Stall {
        let index = head + place
        return stalls[index < Self.stallsMax ? index : index - Self.stallsMax]
    }

    private mutating func append(_ stall: Stall) {
        if count == Self.stallsMax { dropOldest() }
        let index = head + count
        stalls[index < Self.stallsMax ? index : index - Self.stallsMax] = stall
        count += 1
    }

    private mutating func dropOldest() {
        head = head + 1 < Self.stallsMax ? head + 1 : 0
        count -= 1
    }

    /// The height up to which stalls should be waited out: where waiting and what is still concealed cost least together.
    ///
    /// - Parameter price: what a second's wait of 1 ms more costs, in milliseconds of concealment.
    /// - Returns: 0 when stalls are too few for that.
    mutating func level(now: Int64, price: Double) -> Int64 {
        while count > 0, now - self[0].at > Self.windowMicroseconds { dropOldest() }
        guard count >= 2 else { return 0 }
        // Where more came than are kept, or it has not been going on for long, they tell of a shorter time.
        let oldest = count == Self.stallsMax ? self[0].at : began ?? now
        let span = min(max(now - oldest, Self.spanMicrosecondsMin), Self.windowMicroseconds)
        let pricePerMicrosecond = price / 1000 * Double(span) / 1000
        var highest = 0
        for place in 1..<count where self[place].height > self[highest].height { highest = place }
        var best: Int64 = 0
        var least = cost(of: 0, but: highest, price: pricePerMicrosecond)
        for place in 0..<count where place != highest {
            let level = self[place].height
            let cost = cost(of: level, but: highest, price: pricePerMicrosecond)
            if cost < least {
                least = cost
                best = level
            }
        }
        return best
    }

    private func cost(of level: Int64, but excluded: Int, price: Double) -> Double {
        var concealed: Int64 = 0
        for place in 0..<count where place != excluded && self[place].height > level {
            concealed += self[place].height - level + Self.eventMicroseconds
        }
        return Double(level) * price + Double(concealed)
    }
}
