/// The tables of a set of comparisons.
struct ComparisonTables {
    let comparisons: [Comparison]
    /// Mean buffering delay, of the oracle's.
    static let delayRatioMax = 1.25

    /// Our mean delays over the set, each trace with the same weight, against the oracle's.
    var delayRatio: Double {
        let oracle = comparisons.reduce(0) { $0 + $1.oracle.meanDelay }
        return oracle > 0 ? comparisons.reduce(0) { $0 + $1.ours.meanDelay } / oracle : 0
    }

    /// Traces on which libspeexdsp is beaten on an axis and better on none.
    var dominated: Int { comparisons.count { Dominance($0.ours, $0.speex).holds } }

    var players: String {
        var rows: [[String]] = []
        for comparison in comparisons {
            for player in comparison.players {
                rows.append([
                    player.player == "segue" ? comparison.trace.name : "", player.player, Decimals.fixed(player.meanDelay, 1),
                    Decimals.fixed(player.delay95, 1), Decimals.fixed(player.concealedRatio * 100, 2), Decimals.fixed(player.interruptions, 1),
                    Decimals.fixed(player.stretchRatio * 100, 2), Decimals.fixed(player.droppedRatio * 100, 2),
                ])
            }
        }
        return Decimals.table(["trace", "player", "mean ms", "p95 ms", "concealed %", "≥ 150 ms", "stretch %", "dropped %"], rows)
    }

    var goals: String {
        var rows: [[String]] = []
        for comparison in comparisons {
            let dominance = Dominance(comparison.ours, comparison.speex)
            let oracle = comparison.oracle.meanDelay
            rows.append([
                comparison.trace.name, oracle > 0 ? Decimals.fixed(comparison.ours.meanDelay / oracle, 2) : "none",
                dominance.better.joined(separator: ", "), dominance.worse.joined(separator: ", "),
                comparison.dominating.map { "\($0)" }.joined(separator: ", "),
            ])
        }
        return Decimals.table(["trace", "mean ÷ oracle", "better than speexdsp", "worse", "dominates with profile"], rows)
    }

    var summary: String {
        var rows = [
            [
                "mean delay over the set ÷ oracle, at our concealed ratio", Decimals.fixed(delayRatio, 2),
                "≤ \(Decimals.fixed(Self.delayRatioMax, 2))",
                delayRatio <= Self.delayRatioMax ? "holds" : "FAILS",
            ]
        ]
        rows.append([
            "traces with speexdsp beaten on an axis and better on none, this profile", "\(dominated) of \(comparisons.count)", "all",
            dominated == comparisons.count ? "holds" : "FAILS",
        ])
        let dominatedByOne = comparisons.count { !$0.dominating.isEmpty }
        rows.append(["the same, by one of the profiles", "\(dominatedByOne) of \(comparisons.count)", "", ""])
        for comparison in comparisons {
            guard let recovery = comparison.recovery else { continue }
            rows.append([
                "\(comparison.trace.name): within 20 ms of the target before (\(recovery.targetMilliseconds) ms)",
                recovery.seconds.map { "\(Decimals.fixed($0, 2)) s" } ?? "never", "≤ \(Decimals.fixed(Recovery.secondsMax, 0)) s",
                recovery.holds ? "holds" : "FAILS",
            ])
        }
        return Decimals.table(["goal", "measured", "demanded", "verdict"], rows)
    }

    var holds: Bool {
        delayRatio <= Self.delayRatioMax && dominated == comparisons.count && comparisons.allSatisfy { $0.recovery?.holds ?? true }
    }
}
