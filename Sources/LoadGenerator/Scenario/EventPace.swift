/// When an event of a scenario happens to the clients of one loop. Pure; times are nanoseconds since the beginning of the measured window.
struct EventPace: Equatable {
    /// Events a second of this loop; `nil`: once.
    private let rate: Double?
    private let from: UInt64
    private let until: UInt64
    private var happened = 0

    /// - Parameters:
    ///   - own: clients of the group that are on this loop.
    ///   - all: clients of the group.
    init(_ timing: LoadEvent.Timing, own: Int, all: Int) {
        switch timing {
        case .at(let seconds, _):
            rate = nil
            from = UInt64(seconds * 1e9)
            until = own > 0 ? .max : 0
        case .steadily(let perSecond, let from, let until):
            rate = perSecond * Double(own) / Double(max(1, all))
            self.from = UInt64(from * 1e9)
            self.until = UInt64(until * 1e9)
        }
    }

    /// When it happens next; `nil`: not any more.
    mutating func next() -> UInt64? {
        defer { happened += 1 }
        guard let rate else { return happened == 0 && until > 0 ? from : nil }
        guard rate > 0 else { return nil }
        // In the middle of its interval, so that a rate of one in two seconds happens five times in ten.
        let time = Double(from) + (Double(happened) + 0.5) / rate * 1e9
        guard time < Double(until) else { return nil }
        return UInt64(time)
    }
}
