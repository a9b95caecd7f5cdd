import JitterBuffer

/// One trace, played by everyone.
struct Comparison {
    let trace: ArrivalTrace
    let ours: Playout
    /// Of one phase of the pulls.
    let first: BufferPlayer.Result
    /// The same buffer with each of its profiles.
    let profiles: [(profile: JitterProfile, playout: Playout)]
    let speex: Playout
    let fixed: Playout
    let oracle: Playout
    /// Where the trace has a stall of 2 s and one target before: how long until what is played was back within 20 ms of that.
    let recovery: Recovery?

    /// Of our pulls and the schedules', each 10 ms; libspeexdsp's are each 20 ms, so it has twice as many.
    private static let phases: [Int64] = [0, 5_000_000]

    init(_ trace: ArrivalTrace, profile: JitterProfile = .balanced) {
        self.trace = trace
        let configuration = BufferPlayer.configuration(trace, profile: profile)
        let results = Self.phases.map { BufferPlayer.play(trace, configuration, phase: $0) }
        first = results[0]
        let ours = Playout(over: results.map(\.playout))
        self.ours = ours
        profiles = JitterProfile.allCases.map { other in
            guard other != profile else { return (other, ours) }
            let configuration = BufferPlayer.configuration(trace, profile: other)
            return (other, Playout(over: Self.phases.map { BufferPlayer.play(trace, configuration, phase: $0).playout }))
        }
        speex = Playout(over: (Self.phases + Self.phases.map { $0 + Schedule.grid }).map { SpeexPlayer.play(trace, phase: $0) })
        // Both at our concealed ratio.
        let concealed = ours.concealedRatio
        fixed = Playout(over: Self.phases.map { Schedule.fixed(trace, concealedRatio: concealed, phase: $0) })
        oracle = Playout(over: Self.phases.map { Oracle.play(trace, concealedRatio: concealed, phase: $0) })
        recovery = Recovery(trace, first.pulls)
    }

    /// Profiles with which libspeexdsp is beaten on an axis, and is better on none.
    var dominating: [JitterProfile] { profiles.filter { Dominance($0.playout, speex).holds }.map(\.profile) }

    var players: [Playout] { [ours, speex, fixed, oracle] }
}

/// How long the delay stays up after a stall of about 2 s.
struct Recovery {
    let targetMilliseconds: Int
    /// Seconds from the end of the stall; `nil`: never within the trace.
    let seconds: Double?

    static let secondsMax = 5.0
    static let toleranceMilliseconds = 20.0
    /// Within tolerance for so long counts.
    private static let steadyPulls = 50

    init?(_ trace: ArrivalTrace, _ pulls: [BufferPlayer.Pull]) {
        let times = trace.arrivals.compactMap(\.received)
        guard let gap = zip(times, times.dropFirst()).max(by: { $0.1 - $0.0 < $1.1 - $1.0 }), (1_800_000_000...2_500_000_000).contains(gap.1 - gap.0)
        else {
            return nil
        }
        guard let before = pulls.last(where: { $0.time <= gap.0 }) else { return nil }
        targetMilliseconds = before.targetMilliseconds
        let bound = Double(before.targetMilliseconds) + Self.toleranceMilliseconds
        var steady = 0
        var found: Double?
        for pull in pulls where pull.time >= gap.1 {
            steady = pull.decision != .wait && pull.behindMilliseconds <= bound ? steady + 1 : 0
            if steady == Self.steadyPulls {
                found = Double(pull.time - gap.1) / 1e9 - Double(Self.steadyPulls - 1) / 100
                break
            }
        }
        seconds = found
    }

    var holds: Bool { seconds.map { $0 <= Self.secondsMax } ?? false }
}

/// Better than libspeexdsp's on one axis at least, worse on none.
struct Dominance {
    /// Smaller differences are none: a millisecond, a tenth of a percent.
    static let delayTolerance = 1.0
    static let concealedTolerance = 0.001

    let better: [String]
    let worse: [String]

    init(_ ours: Playout, _ other: Playout) {
        let axes: [(name: String, difference: Double, tolerance: Double)] = [
            ("delay", ours.meanDelay - other.meanDelay, Self.delayTolerance),
            ("concealed", ours.concealedRatio - other.concealedRatio, Self.concealedTolerance),
            ("interruptions", ours.interruptions - other.interruptions, 0.5),
        ]
        better = axes.filter { $0.difference < -$0.tolerance }.map(\.name)
        worse = axes.filter { $0.difference > $0.tolerance }.map(\.name)
    }

    var holds: Bool { !better.isEmpty && worse.isEmpty }
}
