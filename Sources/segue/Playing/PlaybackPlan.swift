import JitterBuffer
import Signalling

/// How a listener plays what it hears.
struct PlaybackPlan: Sendable {
    /// A WAV file; `nil`: it is heard nowhere, and only counted.
    var path: String?
    var channels = 1
    var profile = JitterProfile.balanced
    /// Milliseconds of one's own buffers, whatever arrives.
    var delay: Int?
    /// Nothing is done to the sound but what loss makes necessary.
    var isMeasurement = false
    /// The relay holds frames back: those of a stream that has ended come behind the news of that.
    var isPaced = false
}

/// How audio is asked for: as it comes, evenly, or as one mix.
struct ListenDelivery {
    var delivery = ClientRequest.Delivery.live
    var late: ClientRequest.LatePolicy?
    var profile: ClientRequest.JitterProfileName?
    var delay: Int?
    var channels: Int?

    static let options: [OptionSpec] = [
        .option(
            "--delivery", "HOW",
            "live (default): as it comes; paced: through a jitter buffer of the relay's, evenly; mixed: all audio as one stream.",
            choices: ClientRequest.Delivery.allCases.map(\.rawValue)),
        .option(
            "--late", "WHAT", "With paced, of frames that come late to the relay: drop (default) or conceal, which decodes and encodes anew.",
            choices: ClientRequest.LatePolicy.allCases.map(\.rawValue)),
        .option(
            "--profile", "NAME", "Of jitter buffers, the relay's with paced and one's own: how much delay for how much concealment.",
            choices: ClientRequest.JitterProfileName.allCases.map(\.rawValue)),
        .option("--delay", "MS", "Of the jitter buffer, the relay's with paced, else one's own: so much, whatever arrives."),
        .option("--play", "FILE", "Write what is heard as a WAV file: every audio stream through its jitter buffer, summed.", completion: .file),
        .option("--channels", "N", "1 (default) or 2, of the mix and of the WAV file."),
    ]

    init(_ arguments: Arguments) throws {
        if let word = arguments.string("--delivery") { delivery = ClientRequest.Delivery(rawValue: word) ?? .live }
        late = arguments.string("--late").flatMap { ClientRequest.LatePolicy(rawValue: $0) }
        profile = arguments.string("--profile").flatMap { ClientRequest.JitterProfileName(rawValue: $0) }
        let bounds = SignallingBounds.pinnedMilliseconds
        delay = try arguments.integer("--delay", in: Int(bounds.lowerBound)...Int(bounds.upperBound))
        channels = try arguments.integer("--channels", in: SignallingBounds.mixChannels)
        if late != nil, delivery != .paced { throw UsageFault.conflict("--late goes with --delivery paced") }
        let isPlayed = arguments.string("--play") != nil || arguments.string("--script") != nil
        for (name, isGiven) in [("--profile", profile != nil), ("--delay", delay != nil)] where isGiven && !isPlayed && delivery != .paced {
            throw UsageFault.conflict("\(name) goes with --delivery paced or --play")
        }
        if channels != nil, !isPlayed, delivery != .mixed { throw UsageFault.conflict("--channels goes with --delivery mixed or --play") }
    }

    init() {}

    /// - Parameter path: of the WAV file.
    func playback(path: String?) -> PlaybackPlan {
        var plan = PlaybackPlan(path: path)
        plan.channels = channels ?? 1
        plan.isPaced = delivery == .paced
        plan.profile = profile.map { JitterProfile($0) } ?? .balanced
        // What the relay has spaced evenly is delayed there; one's own buffer has only the last link to even out.
        if delivery != .paced { plan.delay = delay }
        return plan
    }

    /// Sets the members that say how; those of another delivery are not sent.
    func apply(to request: inout ClientRequest.Subscribe) {
        request.delivery = delivery
        guard delivery != .live else { return }
        if delivery == .mixed {
            request.channels = channels
        } else {
            request.late = late
            request.profile = profile
            request.delay = delay.map(Double.init)
        }
    }
}

extension JitterProfile {
    init(_ name: ClientRequest.JitterProfileName) {
        self =
            switch name {
            case .lowLatency: .lowLatency
            case .balanced: .balanced
            case .smooth: .smooth
            }
    }
}
