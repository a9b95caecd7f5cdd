import MediaProtocol
import Reactor
import RelayBase
import RelayClient
import Signalling

/// A subscriber's link stands still for 2 s. What the kernel holds at that moment cannot be taken back, and is told apart from what the relay gave it afterwards.
struct StalledLink {
    private static let rate = 5_000
    private static let delay = 20
    private static let roundTrip: UInt64 = 40_000_000
    private static let audioDeadline: UInt64 = 200_000_000
    private static let videoDeadline: UInt64 = 400_000_000

    private let options: RealTimeOptions
    private let congestionControl: String

    init(_ options: RealTimeOptions, congestionControl: String) {
        self.options = options
        self.congestionControl = congestionControl
    }

    func play() throws -> [Outcome] {
        let link = ["--rate", "\(Self.rate)", "--delay", "\(Self.delay)", "--queue", "65536"]
        let stage = try Stage(options, link: link, congestionControl: congestionControl)
        defer { stage.strike() }
        let crowd = try Crowd(stage.door, options.wishes)
        let publisher = try crowd.open(from: stage.near)
        try crowd.join(publisher)
        try crowd.publish(publisher, .audio, framesPerSecond: 50, layers: [.init(frameBytes: 160, keyFrameBytes: 160)])
        try crowd.publish(publisher, .video, framesPerSecond: 30, layers: [.video(bitsPerSecond: 1_500_000, framesPerSecond: 30)], keyEvery: 120)
        let reader = try crowd.open(from: stage.far)
        try crowd.join(reader)
        try crowd.subscribeToAll(reader)
        try crowd.play(seconds: 1)
        let calm = MonotonicClock.now()
        try crowd.play(seconds: options.isShort ? 1.5 : 4)
        let stall = try stage.link.set("stall=1")
        let linkBytes = try stage.link.bytesDown()
        let kernelAtStart = try stage.kernelQueue()
        try crowd.play(until: stall.advanced(byMilliseconds: 1_900))
        let kernelAtEnd = try stage.kernelQueue()
        try crowd.play(until: stall.advanced(byMilliseconds: 2_000))
        let release = try stage.link.set("stall=0")
        try crowd.play(seconds: options.isShort ? 2 : 5)
        try Trace.keep(options, "stall-\(congestionControl)", since: stall, reader.receptions)
        return judge(
            reader.receptions, calm: calm, stall: stall, release: release,
            kernel: (kernelAtStart.queued, kernelAtEnd.queued, linkBytes))
    }

    private func judge(
        _ receptions: [Reception], calm: MonotonicInstant, stall: MonotonicInstant, release: MonotonicInstant,
        kernel: (start: Int, end: Int, link: Int)
    ) -> [Outcome] {
        var before = receptions.latencies(.audio, sentWithin: calm..<stall)
        var beforeVideo = receptions.latencies(.video, sentWithin: calm..<stall)
        let normal = (audio: before.percentile(0.99) ?? 0, video: beforeVideo.percentile(0.99) ?? 0)
        let after = receptions.filter { $0.received >= release }
        let inFlight = after.filter { $0.sent < stall }
        // A sender learns of a stall when an acknowledgement is overdue, not before a round trip has passed: it has as long as a control message may take.
        let noticeable = stall.advanced(byNanoseconds: 2 * Self.roundTrip + 20_000_000)
        func isOld(_ reception: Reception) -> Bool {
            let base = reception.kind == .audio ? before50 : beforeVideo50
            return reception.latency > base + (reception.kind == .audio ? Self.audioDeadline : Self.videoDeadline) + 20_000_000
        }
        let before50 = before.percentile(0.5) ?? 0
        let beforeVideo50 = beforeVideo.percentile(0.5) ?? 0
        let unaware = after.filter { $0.sent >= stall && $0.sent < noticeable && isOld($0) }
        let late = after.filter { $0.sent >= noticeable && isOld($0) }
        func recovery(_ kind: MediaKind, _ normal: UInt64) -> Double {
            Recovery.milliseconds(of: receptions.filter { $0.kind == kind }, after: release, normal: normal + 20_000_000) ?? .nan
        }
        func bytes(_ frames: [Reception]) -> String { "\(frames.count) frames, \(Text.kibibytes(frames.reduce(0) { $0 + $1.byteCount }))" }
        let scenario = Scenario.stall
        let variant = congestionControl
        return [
            Outcome(
                scenario, variant, told: "audio, video p99 before",
                "\(Text.milliseconds(Double(normal.audio) / 1e6)), \(Text.milliseconds(Double(normal.video) / 1e6))"),
            Outcome(
                scenario, variant, told: "in the link, in the relay's kernel at the stall's beginning, at its end",
                "\(Text.kibibytes(kernel.link)), \(Text.kibibytes(kernel.start)), \(Text.kibibytes(kernel.end))"),
            Outcome(scenario, variant, told: "delivered afterwards: under way at the stall's beginning", bytes(inFlight)),
            Outcome(scenario, variant, told: "delivered past the deadline: sent within 2 RTT + 20 ms, before a stall shows", bytes(unaware)),
            Outcome(scenario, variant, "delivered past the deadline: sent later", bytes(late), bound: "none", late.isEmpty),
            Outcome(scenario, variant, "audio back to normal after", milliseconds: recovery(.audio, normal.audio), atMost: 500),
            Outcome(scenario, variant, "video back to normal after", milliseconds: recovery(.video, normal.video), atMost: 500),
        ]
    }
}
