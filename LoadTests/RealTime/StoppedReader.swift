import LinkNetwork
import MediaProtocol
import Reactor
import RelayBase
import RelayClient
import Signalling

/// One reader of 100 stops reading for 30 s, and comes back.
struct StoppedReader {
    private let options: RealTimeOptions
    private let readers: Int
    private let seconds: Double

    init(_ options: RealTimeOptions) {
        self.options = options
        readers = options.isShort ? 20 : 100
        seconds = options.isShort ? 4 : 30
    }

    func play() throws -> [Outcome] {
        // The relay gives up on a reader that takes nothing for `stallMillisecondsMax`: here it is to come back.
        let limits = [
            "stallMillisecondsMax": 40_000, "tcpUserTimeoutMilliseconds": 60_000, "silenceMillisecondsMax": 60_000, "audioLogBytesMax": 1 << 20,
            "videoLogBytesMax": 4 << 20,
        ]
        let stage = try Stage(options, link: ["--delay", "1"], limits: limits)
        defer { stage.strike() }
        let crowd = try Crowd(stage.door, options.wishes)
        let publisher = try crowd.open(from: stage.near)
        try crowd.join(publisher)
        try crowd.publish(publisher, .audio, framesPerSecond: 50, layers: [.init(frameBytes: 160, keyFrameBytes: 160)])
        try crowd.publish(publisher, .video, framesPerSecond: 25, layers: [.video(bitsPerSecond: 500_000, framesPerSecond: 25)])
        var others: [Member] = []
        for _ in 0..<readers - 1 {
            let reader = try crowd.open(from: stage.near)
            try crowd.join(reader)
            try crowd.subscribeToAll(reader)
            others.append(reader)
        }
        // A crowd of its own: it reads when it is played, and not otherwise.
        let apart = try Crowd(stage.door, options.wishes)
        let stopper = try apart.open(from: stage.near)
        try apart.join(stopper)
        try apart.subscribeToAll(stopper)

        try play(both: crowd, apart, seconds: 3)
        let calm = MonotonicClock.now()
        try play(both: crowd, apart, seconds: seconds)
        let memoryBefore = try stage.relay.residentBytes()
        let stop = MonotonicClock.now()
        var memoryHighest = memoryBefore
        for _ in 0..<10 {
            try crowd.play(seconds: seconds / 10)
            memoryHighest = max(memoryHighest, try stage.relay.residentBytes())
        }
        let requestsBefore = publisher.keyFrameRequests.count
        let resumption = MonotonicClock.now()
        try play(both: crowd, apart, seconds: 3)
        let requests = publisher.keyFrameRequests.count - requestsBefore

        var without = Samples()
        var with = Samples()
        for reader in others {
            for reception in reader.receptions {
                if (calm..<stop).contains(reception.sent) { without.add(reception.latency) }
                if (stop..<resumption).contains(reception.sent) { with.add(reception.latency) }
            }
        }
        let ratio = with.milliseconds(0.99) / without.milliseconds(0.99)
        let bound = (limits["audioLogBytesMax"] ?? 0) + (limits["videoLogBytesMax"] ?? 0)
        let live = Self.decodable(stopper.receptions).first { $0.received >= resumption && $0.latency < 100_000_000 }
        let liveAudio = stopper.receptions.first { $0.received >= resumption && $0.kind == .audio && $0.latency < 100_000_000 }
        let stale = stopper.receptions.filter { $0.received >= resumption && $0.latency > 500_000_000 }
        func since(_ reception: Reception?) -> Double { reception.map { Double($0.received.nanoseconds(since: resumption)) / 1e6 } ?? .nan }
        let variant = "\(readers) readers"
        return [
            Outcome(
                .reader, variant, told: "others' p50, p99 without; with it",
                "\(Text.fixed(without.milliseconds(0.5), 2)), \(Text.fixed(without.milliseconds(0.99), 2)); \(Text.fixed(with.milliseconds(0.5), 2)), \(Text.fixed(with.milliseconds(0.99), 2)) ms"
            ),
            Outcome(.reader, variant, "others' p99, ratio", Text.fixed(ratio, 2), bound: "≤ 1.10", ratio <= 1.1),
            Outcome(
                .reader, variant, "relay's memory grew by", Text.kibibytes(memoryHighest - memoryBefore),
                bound: "≤ \(Text.kibibytes(bound)) (both logs)", memoryHighest - memoryBefore <= bound),
            Outcome(
                .reader, variant, told: "old frames that the kernels still had",
                "\(stale.count) frames, \(Text.kibibytes(stale.reduce(0) { $0 + $1.byteCount }))"),
            Outcome(.reader, variant, "audio live after", milliseconds: since(liveAudio), atMost: 500),
            Outcome(.reader, variant, "video live after", milliseconds: since(live), atMost: 500),
            Outcome(.reader, variant, "key frames asked for", count: requests, atMost: 1),
        ]
    }

    /// Plays two crowds in turns.
    private func play(both crowd: Crowd, _ apart: Crowd, seconds: Double) throws {
        let end = MonotonicClock.now().advanced(byNanoseconds: UInt64(seconds * 1e9))
        while MonotonicClock.now() < end {
            try crowd.play(until: min(end, MonotonicClock.now().advanced(byMilliseconds: 2)))
            try apart.glance()
        }
    }

    /// The video frames that a decoder can use: those from a key frame on, up to the first that is missing.
    private static func decodable(_ receptions: [Reception]) -> [Reception] {
        var last: UInt32?
        return receptions.filter { frame in
            guard frame.kind == .video else { return false }
            let follows = last.map { frame.sequence == $0 &+ 1 } ?? false
            last = frame.isKey || follows ? frame.sequence : nil
            return last != nil
        }
    }
}
