import RelayBase

/// The acts of people who are no administrators that the audit keeps: so many a second of one actor, and so many of all. Pure: time is passed in.
struct ActBudget {
    static let perSecondMax = 1_000
    static let perActorPerSecondMax = 100
    /// Actors share places by a hash with a seed of this process, so that nobody can choose whose place to share.
    private static let places = 4_096

    private var all: RequestBudget
    private var actors: [RequestBudget]

    init(now: MonotonicInstant) {
        all = RequestBudget(perSecond: Self.perSecondMax, now: now)
        actors = Array(repeating: RequestBudget(perSecond: Self.perActorPerSecondMax, now: now), count: Self.places)
    }

    /// Whether one more act is kept. What is over the actor's own rate takes nothing from the others.
    mutating func take(_ actor: String, now: MonotonicInstant) -> Bool {
        let place = Int(UInt(bitPattern: actor.hashValue) % UInt(Self.places))
        return actors[place].take(byteCount: 0, now: now) && all.take(byteCount: 0, now: now)
    }
}
