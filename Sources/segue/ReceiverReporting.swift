import JitterBuffer
import MediaProtocol
import RelayBase
import RelayClient
import RelayRooms
import Signalling

/// What a listener reports of one stream: what its jitter buffer counted. Of one that is not played, a guess: a frame that is missing would have been concealed,
/// one that comes out of order is late.
struct ReceiverReporting {
    static let milliseconds: UInt64 = 2_000

    private let ticksPerSecond: Double?
    private var jitter = InterarrivalJitter()
    private var reported: (bytes: UInt64, at: MonotonicInstant)?

    init(_ info: RelayMessage.StreamInfo) {
        ticksPerSecond = info.description?.timescale.map(Double.init)
    }

    mutating func take(_ header: MediaHeader, now: MonotonicInstant) {
        guard let ticksPerSecond else { return }
        jitter.take(timestamp: header.timestamp, ticksPerSecond: ticksPerSecond, now: now)
    }

    mutating func report(
        _ stream: UInt32, _ account: SequenceAccount, _ played: PlayedStatistics?, now: MonotonicInstant
    ) -> ClientRequest.StreamReport {
        var report = ClientRequest.StreamReport(stream: stream)
        report.received = account.frames
        if let played {
            report.played = played.playedFrames
            report.concealed = played.concealedFrames
            report.late = played.buffer.late
            report.bufferMilliseconds = Double(played.buffer.levelMilliseconds)
        } else {
            report.played = account.frames &- account.reordered
            report.concealed = account.missing
            report.late = account.reordered
        }
        if ticksPerSecond != nil { report.jitterMilliseconds = jitter.milliseconds }
        if let reported {
            let seconds = Double(now.nanoseconds(since: reported.at)) / 1e9
            if seconds > 0 { report.bitrate = Double(account.bytes &- reported.bytes) * 8 / seconds }
        }
        reported = (account.bytes, now)
        return report
    }
}

/// A client's clock against the relay's, as a summary shows it.
struct ClockSummary: Encodable {
    let client: Int
    /// The least round trip, and the newest.
    let roundTripMillisecondsMin: Double
    let roundTripMilliseconds: Double
    /// Positive when this machine's clock is ahead of the relay's, or faster.
    let offsetMilliseconds: Double
    let driftPPM: Double?

    init(client: Int, _ estimate: ClockEstimate) {
        self.client = client
        roundTripMillisecondsMin = estimate.roundTripMillisecondsMin
        roundTripMilliseconds = estimate.roundTripMilliseconds
        offsetMilliseconds = estimate.offsetMilliseconds
        driftPPM = estimate.driftPPM
    }

    var sentence: String {
        let drift = driftPPM.map { ", drift \(Self.text($0)) ppm" } ?? ""
        return "round trip \(Self.text(roundTripMillisecondsMin)) ms, clock \(Self.text(offsetMilliseconds)) ms against the relay's\(drift)"
    }

    private static func text(_ value: Double) -> String {
        let hundredths = Int((max(-1e15, min(1e15, value)) * 100).rounded())
        let sign = hundredths < 0 ? "-" : ""
        let rest = hundredths.magnitude % 100
        return "\(sign)\(hundredths.magnitude / 100).\(rest < 10 ? "0" : "")\(rest)"
    }
}
