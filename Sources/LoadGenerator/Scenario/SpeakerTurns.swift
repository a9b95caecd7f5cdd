import RelayBase

/// Who of a group speaks when. Every process and loop that plays a part of the group has the same turns, by the same seed.
///
/// Pure: time is nanoseconds since the beginning of the run.
package struct SpeakerTurns: Sendable {
    private struct Turn {
        var member: Int
        var endsAt: UInt64
    }

    private let plan: TurnPlan
    private let members: Int
    private var generator: SeededGenerator
    private var turns: [Turn] = []
    private var isSpeaking: [Bool]
    /// When the next turn ends.
    package private(set) var nextChange: UInt64 = 0

    /// - Parameter members: of the whole group.
    package init(_ plan: TurnPlan, members: Int, seed: UInt64) {
        self.plan = plan
        self.members = max(1, members)
        generator = SeededGenerator(seed: seed)
        isSpeaking = [Bool](repeating: false, count: self.members)
        for _ in 0..<min(plan.speaking, self.members) { begin(at: 0) }
        settle()
    }

    package func speaks(_ member: Int) -> Bool { isSpeaking.indices.contains(member) && isSpeaking[member] }

    /// Goes on to `time`; times may not go back.
    package mutating func advance(to time: UInt64) {
        while time >= nextChange, let place = turns.firstIndex(where: { $0.endsAt == nextChange }) {
            let ended = turns.remove(at: place)
            // Whoever has just spoken does not go on, where there is somebody else.
            let others = isSpeaking.count(where: { !$0 })
            begin(at: ended.endsAt, but: ended.member, others: others)
            settle()
        }
    }

    private mutating func begin(at time: UInt64, but last: Int? = nil, others: Int? = nil) {
        let silent = others ?? isSpeaking.count(where: { !$0 })
        var member = last ?? 0
        if silent > 0 {
            var rank = Int.random(in: 0..<silent, using: &generator)
            for place in isSpeaking.indices where !isSpeaking[place] {
                if rank == 0 {
                    member = place
                    break
                }
                rank -= 1
            }
            if let last { isSpeaking[last] = false }
        }
        isSpeaking[member] = true
        let seconds = Double.random(in: plan.secondsMin...plan.secondsMax, using: &generator)
        turns.append(Turn(member: member, endsAt: time + UInt64(seconds * 1e9)))
    }

    private mutating func settle() { nextChange = turns.map(\.endsAt).min() ?? .max }
}
