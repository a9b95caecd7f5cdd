/// Stalls of the last half minute: times when nothing came, and then everything at once. What TCP makes of a lost segment or of a radio that is busy.
///
/// The packets of one stall are not so many observations of delay but one, and the larger the stall the more of them there are; so stalls are kept apart from the
/// histogram, each with its height. From them comes a level: the delay at which what is left of all stalls above it is no more than a given part of the time. The
/// highest stall is left out: once is no pattern, and a single long freeze must not leave a long delay behind.
struct StallLedger: Sendable {
    private struct Stall: Sendable {
        var at: Int64 = 0
        var height: Int64 = 0
    }

    private static var stallsMax: Int { 24 }
    static var windowMicroseconds: Int64 { 30_000_000 }
    /// What lasts longer is no stall but another path or a sender that paused: the reference follows.
    private static var stallMicrosecondsMax: Int64 { 4_000_000 }

    private var stalls = Array(repeating: Stall(), count: StallLedger.stallsMax)
    private var head = 0
    private var count = 0
    private var open: Stall?
    private var openSince: Int64 = 0

    /// Whether packets of a stall are coming in.
    var isOpen: Bool { open != nil }
    var stallCount: Int { count }

    /// Takes a packet's delay.
    ///
    /// - Parameter threshold: a delay above is a stall.
    /// - Returns: whether the packet is of a stall, so nothing for the histogram.
    mutating func take(delay: Int64, arrival: Int64, threshold: Int64) -> Bool {
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
        guard delay > threshold else { return false }
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

    /// - Parameter concealedPart: of the time, how much may be left above the level.
    /// - Returns: 0 when there is no need of a level.
    mutating func level(now: Int64, concealedPart: Double) -> Int64 {
        while count > 0, now - self[0].at > Self.windowMicroseconds { dropOldest() }
        guard count >= 2 else { return 0 }
        // Where more came than are kept, those that are kept tell of a shorter time.
        let span = count == Self.stallsMax ? max(now - self[0].at, 1_000_000) : Self.windowMicroseconds
        let allowed = Int64(Double(span) * concealedPart)
        var highest = 0
        for place in 1..<count where self[place].height > self[highest].height { highest = place }
        var low: Int64 = 0
        var high: Int64 = 0
        for place in 0..<count where place != highest { high = max(high, self[place].height) }
        guard left(above: 0, but: highest) > allowed else { return 0 }
        while high - low > 1000 {
            let middle = (low + high) / 2
            if left(above: middle, but: highest) > allowed { low = middle } else { high = middle }
        }
        return high
    }

    private func left(above level: Int64, but excluded: Int) -> Int64 {
        var sum: Int64 = 0
        for place in 0..<count where place != excluded { sum += max(self[place].height - level, 0) }
        return sum
    }
}
