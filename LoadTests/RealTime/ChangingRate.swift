import MediaProtocol
import Reactor
import RelayBase
import RelayClient
import Signalling

/// A link of 2 Mbit/s falls to 200 kbit/s and rises again, under audio and video in three layers.
struct ChangingRate {
    private static let layers = [80_000.0, 400_000, 1_200_000]
    private static let audioBytes = 80
    private static let fallMillisecondsMax: UInt64 = 2_000
    private static let audioDeadline: UInt64 = 200_000_000

    private let options: RealTimeOptions
    private let congestionControl: String

    init(_ options: RealTimeOptions, congestionControl: String) {
        self.options = options
        self.congestionControl = congestionControl
    }

    func play() throws -> [Outcome] {
        let stage = try Stage(
            options, link: ["--rate", "2000", "--delay", "20", "--queue", "65536"], congestionControl: congestionControl)
        defer { stage.strike() }
        let crowd = try Crowd(stage.door, options.wishes)
        let publisher = try crowd.open(from: stage.near)
        try crowd.join(publisher)
        // 32 kbit/s, as Opus for speech.
        try crowd.publish(
            publisher, .audio, framesPerSecond: 50, layers: [.init(frameBytes: Self.audioBytes, keyFrameBytes: Self.audioBytes)])
        try crowd.publish(
            publisher, .video, framesPerSecond: 25, layers: Self.layers.map { .video(bitsPerSecond: $0, framesPerSecond: 25, keyFactor: 4) })
        let reader = try crowd.open(from: stage.far)
        try crowd.join(reader)
        try crowd.subscribeToAll(reader)
        // Up to the highest layer, from wherever the relay begins.
        try crowd.play(seconds: options.isShort ? 3 : 12)
        let calm = MonotonicClock.now()
        try crowd.play(seconds: options.isShort ? 2 : 5)
        let fall = try stage.link.set("rate=200")
        try crowd.play(until: fall.advanced(byMilliseconds: options.isShort ? 4_000 : 15_000))
        let rise = try stage.link.set("rate=2000")
        try crowd.play(until: rise.advanced(byMilliseconds: options.isShort ? 4_000 : 15_000))
        let end = MonotonicClock.now()
        try crowd.play(seconds: 1)
        try Trace.keep(options, "rate-\(congestionControl)", since: fall, reader.receptions)
        return judge(reader, publisher, calm, fall, rise, end)
    }

    private func judge(
        _ reader: Member, _ publisher: Member, _ calm: MonotonicInstant, _ fall: MonotonicInstant, _ rise: MonotonicInstant, _ end: MonotonicInstant
    ) -> [Outcome] {
        var before = reader.receptions.latencies(.audio, sentWithin: calm..<fall)
        var during = reader.receptions.latencies(.audio, sentWithin: fall..<end)
        let base = before.milliseconds(0.5)
        let heard = reader.receptions.filter { $0.kind == .audio && (calm..<end).contains($0.sent) }
        let losses = Losses(of: heard, deadline: Self.audioDeadline, transit: before.percentile(0.5) ?? 0)
        let seen = reader.receptions.filter { $0.kind == .video }
        func layer(at instant: MonotonicInstant) -> Int { seen.last { $0.received < instant }.map { Int($0.layer.spatial) } ?? -1 }
        let highest = layer(at: fall)
        let low = seen.filter { $0.received >= fall && $0.received < rise }
        let fallen = Self.settled(low).map { Double($0.nanoseconds(since: fall)) / 1e6 } ?? .nan
        let back = seen.first { $0.received >= rise && Int($0.layer.spatial) == Self.layers.count - 1 && $0.isKey }
        let risen = back.map { Double($0.received.nanoseconds(since: rise)) / 1e6 } ?? .nan
        // From the time on by which the layer must have been found.
        let found = fall.advanced(byMilliseconds: Self.fallMillisecondsMax)
        let later = low.filter { $0.received >= found }
        let framesPerSecond = Double(later.count) / (Double(rise.nanoseconds(since: found)) / 1e9)
        let above = later.count { $0.layer.spatial > 0 }
        let requests = publisher.keyFrameRequests.count { $0 >= calm }
        let changes = reader.news.filter {
            switch $0.message {
            case .congested, .recovered: true
            default: false
            }
        }.count
        let variant = congestionControl
        return [
            Outcome(
                .rate, variant, told: "layer before, in the end of the low rate, in the end", "\(highest), \(layer(at: rise)), \(layer(at: end))"),
            Outcome(
                .rate, variant, told: "video frames a second at 200 kbit/s, trials of more among them; events; key frames asked for",
                "\(Text.fixed(framesPerSecond, 1)), \(above) of \(later.count); \(changes); \(requests)"),
            Outcome(
                .rate, variant, told: "audio p50 before; added p50, max from the fall on",
                "\(Text.milliseconds(base)); \(Text.milliseconds(during.milliseconds(0.5) - base)), \(Text.milliseconds(during.milliseconds(1) - base))"
            ),
            Outcome(.rate, variant, "audio's added delay, p99 from the fall on", milliseconds: during.milliseconds(0.99) - base, atMost: 250),
            Outcome(.rate, variant, told: "audio frames lost, of", "\(losses.count) of \(heard.count + losses.count)"),
            Outcome(.rate, variant, "audio frames lost before their deadline", count: losses.beforeDeadline, atMost: 0),
            Outcome(.rate, variant, "fallen to the lowest layer after", milliseconds: fallen, atMost: Double(Self.fallMillisecondsMax)),
            Outcome(.rate, variant, "highest layer again after", milliseconds: risen, atMost: 10_000),
        ]
    }

    /// When the lowest layer came first and stayed: nine tenths of the frames of the second that began then were of it.
    private static func settled(_ frames: [Reception]) -> MonotonicInstant? {
        for (place, frame) in frames.enumerated() where frame.layer.spatial == 0 {
            let second = frames[place...].prefix { $0.received < frame.received.advanced(byMilliseconds: 1_000) }
            if second.count >= 5, second.count(where: { $0.layer.spatial == 0 }) * 10 >= second.count * 9 { return frame.received }
        }
        return nil
    }
}
