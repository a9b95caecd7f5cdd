import MediaProtocol
import Reactor
import RelayBase
import RelayClient
import Signalling

/// Four sessions on one HTTP/2 connection, each with a video stream of its own whose key frames are 200 KB and come at the same time, and all with one audio
/// stream: 5 Mbit/s, 40 ms round trip. The key frames of one moment take 1.3 s to send.
struct KeyFramesShared {
    private static let keyFrameBytes = 200_000
    private static let sessions = 4
    /// From one set of key frames to the next.
    private static let periodSeconds = 3

    private let options: RealTimeOptions
    private let congestionControl: String

    init(_ options: RealTimeOptions, congestionControl: String) {
        self.options = options
        self.congestionControl = congestionControl
    }

    func play() throws -> [Outcome] {
        let stage = try Stage(
            options, link: ["--rate", "5000", "--delay", "20", "--queue", "65536"], congestionControl: congestionControl)
        defer { stage.strike() }
        let crowd = try Crowd(stage.door, options.wishes)
        let publisher = try crowd.open(from: stage.near)
        try crowd.join(publisher)
        let audio = try crowd.publish(publisher, .audio, framesPerSecond: 50, layers: [.init(frameBytes: 160, keyFrameBytes: 160)])
        let rate = 1.0 / Double(Self.periodSeconds)
        var videos: [UInt32] = []
        for _ in 0..<Self.sessions {
            videos.append(
                try crowd.publish(
                    publisher, .video, framesPerSecond: rate, layers: [.init(frameBytes: 1_000, keyFrameBytes: Self.keyFrameBytes)], keyEvery: 1))
        }
        let connection = try SharedConnection(stage.door, from: stage.far, sessions: Self.sessions, wishes: options.wishes)
        for (session, video) in zip(connection.sessions, videos) {
            try connection.request(session, .join(.init(room: "stage", displayName: nil)))
            try connection.request(session, .subscribe(.init(streams: [audio, video], all: nil, delivery: .live)))
        }
        try crowd.share(connection)
        try crowd.play(seconds: 4)
        let begin = MonotonicClock.now()
        let sets = options.isShort ? 2 : 6
        try crowd.play(seconds: Double(sets * Self.periodSeconds))
        let end = MonotonicClock.now()
        try crowd.play(seconds: 3)
        for (place, session) in connection.sessions.enumerated() {
            try Trace.keep(options, "keyframes-\(congestionControl)-\(place)", since: begin, session.receptions)
        }
        return judge(connection.sessions, published: publisher.streams, begin..<end, sets)
    }

    private func judge(_ sessions: [SharedSession], published: [SyntheticStream], _ window: Range<MonotonicInstant>, _ sets: Int) -> [Outcome] {
        var latencies = Samples()
        var missingAudio = 0
        var keyFrames = 0
        var keyTimes = Samples()
        for session in sessions {
            let heard = session.receptions.filter { $0.kind == .audio && window.contains($0.sent) }
            for reception in heard { latencies.add(reception.latency) }
            if let first = heard.first, let last = heard.last { missingAudio += Int(last.sequence &- first.sequence) + 1 - heard.count }
            for key in session.receptions where key.kind == .video && window.contains(key.sent) {
                if key.byteCount == Self.keyFrameBytes + MediaHeader.byteCount { keyFrames += 1 }
                keyTimes.add(key.latency)
            }
        }
        let variant = congestionControl
        let expected = sets * Self.sessions
        return [
            Outcome(
                .keyframes, variant, told: "audio p50, max; key frame p50, max",
                "\(Text.milliseconds(latencies.milliseconds(0.5))), \(Text.milliseconds(latencies.milliseconds(1))); \(Text.milliseconds(keyTimes.milliseconds(0.5))), \(Text.milliseconds(keyTimes.milliseconds(1)))"
            ),
            Outcome(.keyframes, variant, "key frames that arrived whole", "\(keyFrames) of \(expected)", bound: "all", keyFrames >= expected),
            Outcome(.keyframes, variant, "audio p99 of \(latencies.count)", milliseconds: latencies.milliseconds(0.99), atMost: 60),
            Outcome(.keyframes, variant, "audio frames lost", count: missingAudio, atMost: 0),
        ]
    }
}
