package import LoadReport

/// The model against one real run of `segue load`.
package enum LoadCheck {
    /// Counts of a run that the relay's processor time follows from.
    package struct Counts: Sendable, Equatable {
        package var framesIn: Double
        package var framesOut: Double
        package var sends: Double
        package var bytesPerFrame: Double
        package var connectionSeconds: Double

        /// - Returns: `nil` where the report has no figures of the relay.
        package init?(_ report: LoadReport, bytesPerFrame: Double) {
            guard let relay = report.relay, relay.cpuSeconds != nil else { return nil }
            framesIn = Double(report.frames.sent)
            framesOut = Double(report.frames.delivered)
            // Without the relay's own count each frame was a send.
            sends = Double(relay.sends ?? report.frames.delivered)
            self.bytesPerFrame = bytesPerFrame
            connectionSeconds = Double(report.clients.connected) * report.wallSeconds
        }
    }

    /// CPU-seconds that the counts cost. Arrivals are left out: most scenarios measure when everybody is there.
    package static func predicted(_ figures: CostFigures, _ counts: Counts) -> Double {
        let nanoseconds =
            counts.framesIn * (figures.nanosecondsPerReceive + figures.nanosecondsPerFrameIn) + counts.sends * figures.nanosecondsPerSend
            + counts.framesOut * figures.nanosecondsPerFrameOut
            + (counts.framesIn + counts.framesOut) * counts.bytesPerFrame * figures.nanosecondsPerByte
            + counts.connectionSeconds * figures.nanosecondsPerIdleConnectionSecond
        return nanoseconds / 1e9
    }

    /// A table of both, and whether they are within a factor of 1.5.
    package static func text(_ figures: CostFigures, _ report: LoadReport, bytesPerFrame: Double) -> String? {
        guard let counts = Counts(report, bytesPerFrame: bytesPerFrame), let measured = report.relay?.cpuSeconds, measured > 0 else { return nil }
        let predicted = predicted(figures, counts)
        let table = Numbers.table(
            ["the model against a run of \(report.scenario.name)", ""],
            [
                ["frames in", Numbers.fixed(counts.framesIn)], ["frames out", Numbers.fixed(counts.framesOut)],
                ["sends", Numbers.fixed(counts.sends)], ["CPU-seconds predicted", Numbers.fixed(predicted, 2)],
                ["CPU-seconds measured", Numbers.fixed(measured, 2)], ["predicted ÷ measured", Numbers.fixed(predicted / measured, 2)],
            ])
        let isNear = predicted / measured > 1 / 1.5 && predicted / measured < 1.5
        return table + "\n\n" + (isNear ? "The model is within a factor of 1.5 of the run." : "THE MODEL IS OFF by more than a factor of 1.5.")
    }
}
