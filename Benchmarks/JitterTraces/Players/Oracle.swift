/// The offline best: the smallest mean buffering delay that any schedule which changes `D` only between talkspurts could have had with at most so much
/// concealed, all being known beforehand.
///
/// Exact, by dynamic programming. In one talkspurt, of all `D` with `c` packets concealed the smallest is the best; so a talkspurt has one choice for each
/// `c` that is possible, with the sum of its delays. `best[l]` is the smallest sum of delays with exactly `l` packets concealed over the talkspurts so far.
/// At the end the mean is `best[l] / (packets − l)`, and the smallest over all `l` within the budget is the oracle. A talkspurt's sound may overlap the one
/// before when `D` falls: that makes the oracle better than what could be played, never worse.
enum Oracle {
    /// A way to play one talkspurt.
    struct Choice: Equatable {
        var concealed: Int
        var delay: Int
        var sum: Double
    }

    static func play(_ trace: ArrivalTrace, concealedRatio: Double, phase: Int64 = 0, pattern: SpeechPattern = SpeechPattern()) -> Playout {
        let input = Schedule.Input(trace, phase: phase)
        let spurts = talkspurts(trace, input.media, pattern)
        let delays = schedule(input, spurts, budget: Schedule.budget(concealedRatio, input))
        var delayOf = [Int](repeating: 0, count: input.packets.count)
        for (spurt, delay) in zip(spurts, delays) {
            for place in spurt { delayOf[place] = delay }
        }
        return Schedule.play(input, player: "oracle") { delayOf[$0] }
    }

    // MARK: Talkspurts

    /// Runs of packets, each a talkspurt with the pause behind it: by marked silence where the trace has it, else by the pattern of speech that every trace carries.
    static func talkspurts(_ trace: ArrivalTrace, _ media: [Int64], _ pattern: SpeechPattern) -> [Range<Int>] {
        var begins: [Int] = []
        let hasPauses = trace.hasPauses
        var last = -1
        for place in trace.packets.indices {
            if hasPauses {
                let isBegin = !trace.packets[place].isSilence && (place == 0 || trace.packets[place - 1].isSilence)
                if place == 0 || isBegin { begins.append(place) }
            } else {
                let spurt = pattern.place(at: media[place]).spurt
                if spurt > last || place == 0 { begins.append(place) }
                last = max(last, spurt)
            }
        }
        return begins.indices.map { begins[$0]..<($0 + 1 < begins.count ? begins[$0 + 1] : trace.packets.count) }
    }

    // MARK: The best

    /// Every useful choice for a talkspurt, the one that conceals least first.
    static func choices(_ input: Schedule.Input, _ spurt: Range<Int>) -> [Choice] {
        let needed = spurt.compactMap { input.needed[$0] }.sorted()
        guard let highest = needed.last else { return [Choice(concealed: spurt.count, delay: 0, sum: 0)] }
        var choices: [Choice] = []
        var delay = highest
        while true {
            var concealed = 0
            var sum = 0.0
            for place in spurt {
                if let one = input.delay(place, at: delay) { sum += one } else { concealed += 1 }
            }
            choices.append(Choice(concealed: concealed, delay: delay, sum: sum))
            // The next lower one that loses more: just below the highest that is still played.
            guard let next = needed.last(where: { $0 < delay }) else { break }
            delay = next
        }
        choices.append(Choice(concealed: spurt.count, delay: delay - 1, sum: 0))
        return choices
    }

    /// `D` for each talkspurt, in steps of the grid.
    static func schedule(_ input: Schedule.Input, _ spurts: [Range<Int>], budget: Int) -> [Int] {
        var best = [Double](repeating: .infinity, count: budget + 1)
        best[0] = 0
        /// For each talkspurt and count, which choice led there.
        var taken: [[UInt16]] = []
        let choices = spurts.map { Self.choices(input, $0) }
        for options in choices {
            var next = [Double](repeating: .infinity, count: budget + 1)
            var from = [UInt16](repeating: .max, count: budget + 1)
            for (number, option) in options.enumerated() where option.concealed <= budget {
                for count in option.concealed...budget {
                    let sum = best[count - option.concealed] + option.sum
                    if sum < next[count] {
                        next[count] = sum
                        from[count] = UInt16(truncatingIfNeeded: number)
                    }
                }
            }
            best = next
            taken.append(from)
        }
        let packets = input.packets.count
        var count = 0
        var mean = Double.infinity
        for candidate in 0...budget where best[candidate].isFinite && candidate < packets {
            let value = best[candidate] / Double(packets - candidate)
            if value < mean { (mean, count) = (value, candidate) }
        }
        var delays = [Int](repeating: 0, count: spurts.count)
        for place in spurts.indices.reversed() {
            let number = Int(taken[place][count])
            guard number < choices[place].count else { continue }
            delays[place] = choices[place][number].delay
            count -= choices[place][number].concealed
        }
        return delays
    }
}
