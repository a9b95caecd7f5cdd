/// When each session of a loop is told that the relay goes away, and when it is ended: spread, so that the relays that the clients go to get them one by one.
struct DrainPlan {
    struct Step: Equatable {
        /// Of the sessions, in their order.
        let place: Int
        /// Milliseconds from the beginning of the drain.
        let told: UInt64
        let ends: UInt64
    }

    /// Between two sessions of a loop that are told: a handshake and a resumption cost the relay that they go to a few milliseconds of a processor.
    static let pauseMilliseconds: UInt64 = 20
    /// A client has at least that to go, where the drain is not shorter.
    static let noticeMilliseconds: UInt64 = 1_000

    /// By when they are told. Everybody is told in the first half of the drain; the ends lie in the second, drawn evenly.
    let steps: [Step]

    init(sessions: Int, milliseconds total: UInt64, using generator: inout some RandomNumberGenerator) {
        let places = (0..<sessions).shuffled(using: &generator)
        let window = min(UInt64(sessions) * DrainPlan.pauseMilliseconds, total / 2)
        steps = places.enumerated().map { order, place in
            let told = window * UInt64(order) / UInt64(max(sessions, 1))
            let earliest = min(max(total / 2, told + DrainPlan.noticeMilliseconds), total)
            return Step(place: place, told: told, ends: UInt64.random(in: earliest...total, using: &generator))
        }
    }
}
