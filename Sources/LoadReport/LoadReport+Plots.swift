import Glibc

extension LoadReport {
    /// More points than that are put together.
    private static let pointsMax = 600

    /// The plots that the run has something for.
    var plots: [Plot] {
        var plots = [quantilePlot].compactMap(\.self)
        let seconds = condensedTimeline
        guard let first = seconds.first, seconds.count > 1 else { return plots }
        let time = TimeAxis(first: first.second.unixSecond, last: seconds[seconds.count - 1].second.unixSecond)
        plots += [
            framesPlot(seconds, time), latencyPlot(seconds, time), clientsPlot(seconds, time), processorPlot(seconds, time),
            memoryPlot(seconds, time),
        ]
        .compactMap(\.self)
        return plots
    }

    /// What share of frames came within which time: the rarer, the wider.
    private var quantilePlot: Plot? {
        let shown = recordings
        guard !shown.isEmpty else { return nil }
        // A quantile that fewer than one value lies beyond is the maximum.
        let mostValues = shown.map(\.recording.count).max() ?? 1
        let nines = min(6, max(1, log10(Double(mostValues)).rounded(.up)))
        let steps = stride(from: 0.0, through: nines, by: 0.05)
        let series = shown.map { name, recording in
            let last = log10(Double(recording.count)) + 0.05
            return Plot.Series(
                name: name,
                points: steps.map { place in
                    (x: place, y: place <= last ? max(0.001, Double(recording.quantile(1 - pow(10, -place))) / 1_000) : nil)
                })
        }
        let values = series.flatMap(\.values)
        let ticks = [(0.0, "0"), (0.301, "50"), (1.0, "90"), (2.0, "99"), (3.0, "99.9"), (4.0, "99.99"), (5.0, "99.999"), (6.0, "99.9999")]
        return Plot(
            title: "Latency by quantile, ms (logarithmic)",
            x: .exact("percent of all that took no longer", low: 0, high: nines, ticks: ticks.map { (value: $0.0, text: $0.1) }),
            y: .logarithmic("ms", low: values.min() ?? 1, high: values.max() ?? 1), series: series)
    }

    private func framesPlot(_ seconds: [Condensed], _ time: TimeAxis) -> Plot? {
        let sent = time.series("sent", seconds) { Double($0.second.framesSent) / Double($0.width) }
        let delivered = time.series("delivered", seconds) { Double($0.second.framesDelivered) / Double($0.width) }
        guard let high = (sent.values + delivered.values).max(), high > 0 else { return nil }
        return Plot(title: "Frames per second", x: time.axis, y: .linear("frames/s", high: high), series: [delivered, sent])
    }

    private func latencyPlot(_ seconds: [Condensed], _ time: TimeAxis) -> Plot? {
        func series(_ name: String, _ quantile: Double) -> Plot.Series {
            time.series(name, seconds) {
                $0.second.latency.isEmpty ? nil : max(0.001, Double($0.second.latency.quantile(quantile)) / 1_000)
            }
        }
        let all = [series("p50", 0.5), series("p99", 0.99), series("max", 1)]
        let values = all.flatMap(\.values)
        guard let low = values.min(), let high = values.max() else { return nil }
        return Plot(
            title: "Latency of frames that came in each second, ms (logarithmic)", x: time.axis, y: .logarithmic("ms", low: low, high: high),
            series: all)
    }

    private func clientsPlot(_ seconds: [Condensed], _ time: TimeAxis) -> Plot? {
        let connected = time.series("connected", seconds) { Double($0.second.clientsConnected) }
        guard let high = connected.values.max(), high > 0 else { return nil }
        return Plot(title: "Clients connected", x: time.axis, y: .linear("clients", high: high), series: [connected])
    }

    private func processorPlot(_ seconds: [Condensed], _ time: TimeAxis) -> Plot? {
        let share = time.series("relay", seconds) { condensed in condensed.second.relayCPUSeconds.map { $0 / Double(condensed.width) * 100 } }
        guard let high = share.values.max() else { return nil }
        return Plot(title: "Relay's processor time, % of one core", x: time.axis, y: .linear("%", high: max(10, high)), series: [share])
    }

    private func memoryPlot(_ seconds: [Condensed], _ time: TimeAxis) -> Plot? {
        let resident = time.series("relay", seconds) { $0.second.relayRSSBytes.map { Double($0) / 1_048_576 } }
        guard let high = resident.values.max() else { return nil }
        return Plot(title: "Relay's resident memory, MiB", x: time.axis, y: .linear("MiB", high: max(1, high)), series: [resident])
    }

    /// Seconds that became one point.
    private struct Condensed {
        var second: TimelineSecond
        /// How many.
        var width: Int
    }

    private var condensedTimeline: [Condensed] {
        let width = (timeline.count + Self.pointsMax - 1) / Self.pointsMax
        guard width > 1 else { return timeline.map { Condensed(second: $0, width: 1) } }
        return stride(from: 0, to: timeline.count, by: width).map { start in
            let group = timeline[start..<min(timeline.count, start + width)]
            var one = timeline[start]
            for next in group.dropFirst() {
                one.clientsConnected = max(one.clientsConnected, next.clientsConnected)
                one.framesSent.add(next.framesSent)
                one.framesDelivered.add(next.framesDelivered)
                one.latency.merge(next.latency)
                if let cpu = next.relayCPUSeconds { one.relayCPUSeconds = (one.relayCPUSeconds ?? 0) + cpu }
                one.relayRSSBytes = [one.relayRSSBytes, next.relayRSSBytes].compactMap(\.self).max()
            }
            return Condensed(second: one, width: group.count)
        }
    }

    /// Seconds from the beginning. A second that is missing breaks the lines.
    private struct TimeAxis {
        let first: Int64
        let axis: PlotAxis

        init(first: Int64, last: Int64) {
            self.first = first
            axis = .linear("seconds", high: Double(max(1, last - first)))
        }

        func series(_ name: String, _ seconds: [Condensed], _ value: (Condensed) -> Double?) -> Plot.Series {
            var points: [(x: Double, y: Double?)] = []
            var expected: Int64?
            for condensed in seconds {
                let x = Double(condensed.second.unixSecond - first)
                if let expected, condensed.second.unixSecond > expected { points.append((x: x, y: nil)) }
                points.append((x: x, y: value(condensed)))
                expected = condensed.second.unixSecond + Int64(condensed.width)
            }
            return Plot.Series(name: name, points: points)
        }
    }
}
