import MediaProtocol
import Reactor
import RelayBase
import RelayClient
import Signalling

/// Many join a room with video within one second. Their sessions are open before: what is measured is the joining.
struct JoinRush {
    private static let roundTrip = 40.0

    private let options: RealTimeOptions
    private let joiners: Int

    init(_ options: RealTimeOptions) {
        self.options = options
        joiners = options.isShort ? 50 : 200
    }

    func play() throws -> [Outcome] {
        let stage = try Stage(options, link: ["--delay", "20", "--queue", "16777216"], limits: ["participantsPerRoomMax": 1_000])
        defer { stage.strike() }
        let crowd = try Crowd(stage.door, options.wishes)
        let publisher = try crowd.open(from: stage.near)
        try crowd.join(publisher)
        try crowd.publish(publisher, .audio, framesPerSecond: 50, layers: [.init(frameBytes: 160, keyFrameBytes: 160)])
        // Key frames on request alone: 800 kbit/s, the key frame 20 KB.
        try crowd.publish(publisher, .video, framesPerSecond: 25, layers: [.video(bitsPerSecond: 800_000, framesPerSecond: 25)])
        var members: [Member] = []
        while members.count < joiners {
            let batch = try (0..<10).map { _ in try crowd.start(from: stage.far) }
            try crowd.wait("welcomes") { batch.allSatisfy(\.isWelcome) }
            members += batch
        }
        try crowd.play(seconds: 1)
        let before = publisher.keyFrameRequests.count
        let begin = MonotonicClock.now()
        var asked: [MonotonicInstant] = []
        var joins: [UInt64] = []
        for (place, member) in members.enumerated() {
            let due = begin.advanced(byNanoseconds: UInt64(place) * 1_000_000_000 / UInt64(joiners))
            while MonotonicClock.now() < due {
                try crowd.play(until: min(due, MonotonicClock.now().advanced(byMilliseconds: 1)))
            }
            joins.append(member.session.send(.join(.init(room: "stage", displayName: nil))))
            // Waits at the relay until the join is answered: no round trip of its own.
            member.session.send(.subscribe(.init(streams: nil, all: true, delivery: .live)))
            asked.append(MonotonicClock.now())
        }
        try crowd.play(seconds: 3)
        let requests = publisher.keyFrameRequests.count - before
        var times = Samples()
        var entries = Samples()
        var missing = 0
        for (place, (member, asked)) in zip(members, asked).enumerated() {
            if let entry = member.answers[joins[place]] { entries.add(entry.at.nanoseconds(since: asked)) }
            if let picture = member.receptions.first(where: { $0.kind == .video && $0.isKey }) {
                times.add(picture.received.nanoseconds(since: asked))
            } else {
                missing += 1
            }
        }
        let variant = "\(joiners) joiners"
        return [
            Outcome(
                .joins, variant, told: "in the room after, median and slowest",
                "\(Text.milliseconds(entries.milliseconds(0.5))), \(Text.milliseconds(entries.milliseconds(1)))"),
            Outcome(.joins, variant, told: "first picture after, median", Text.milliseconds(times.milliseconds(0.5))),
            Outcome(
                .joins, variant, "first picture after, slowest", milliseconds: missing > 0 ? .nan : times.milliseconds(1),
                atMost: Self.roundTrip + 300),
            Outcome(.joins, variant, "without a picture", count: missing, atMost: 0),
            Outcome(.joins, variant, "key frames asked for", count: requests, atMost: 2),
        ]
    }
}
