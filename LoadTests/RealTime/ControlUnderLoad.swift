import Reactor
import RelayBase
import RelayClient
import Signalling

/// Control messages go round while more media is due than the link carries.
struct ControlUnderLoad {
    private static let roundTripMilliseconds = 40.0

    private let options: RealTimeOptions
    private let congestionControl: String
    private let http: ClientHTTPVersion

    init(_ options: RealTimeOptions, congestionControl: String, http: ClientHTTPVersion) {
        self.options = options
        self.congestionControl = congestionControl
        self.http = http
    }

    func play() throws -> [Outcome] {
        let stage = try Stage(
            options, link: ["--rate", "5000", "--delay", "20", "--queue", "65536"], congestionControl: congestionControl)
        defer { stage.strike() }
        let crowd = try Crowd(stage.door, options.wishes)
        let publisher = try crowd.open(from: stage.near)
        try crowd.join(publisher)
        // 8 Mbit/s in all.
        for _ in 0..<4 {
            try crowd.publish(publisher, .video, framesPerSecond: 30, layers: [.video(bitsPerSecond: 2_000_000, framesPerSecond: 30)], keyEvery: 60)
        }
        let reader = try crowd.open(from: stage.far, http: http)
        try crowd.join(reader)
        try crowd.subscribeToAll(reader)
        try crowd.play(seconds: options.isShort ? 1 : 3)
        var times = Samples()
        let begin = MonotonicClock.now()
        let seconds = options.isShort ? 3.0 : 12
        var next = begin
        var asked: [UInt64: MonotonicInstant] = [:]
        while next < begin.advanced(byNanoseconds: UInt64(seconds * 1e9)) {
            try crowd.play(until: next)
            let now = MonotonicClock.now()
            asked[reader.session.send(.time(.init(clientTime: Double(now.nanoseconds) / 1e6)))] = now
            next = next.advanced(byMilliseconds: 20)
        }
        try crowd.wait("the last answers") { asked.keys.allSatisfy { reader.answers[$0] != nil } }
        let trips = asked.compactMap { id, sent in reader.answers[id].map { (asked: sent, answered: $0.at) } }.sorted { $0.asked < $1.asked }
        for trip in trips { times.add(trip.answered.nanoseconds(since: trip.asked)) }
        try Trace.keep(options, "control-\(congestionControl)-\(http.rawValue)", since: begin, trips)
        let received = reader.receptions.filter { $0.received >= begin }
        let bits = Double(received.reduce(0) { $0 + $1.byteCount }) * 8 / seconds
        let variant = "\(congestionControl), HTTP/\(http.rawValue)"
        return [
            Outcome(
                .control, variant, told: "media received meanwhile; median round trip",
                "\(Text.fixed(bits / 1e6, 2)) Mbit/s; \(Text.milliseconds(times.milliseconds(0.5)))"),
            Outcome(
                .control, variant, "round trip p99 of \(times.count)", milliseconds: times.milliseconds(0.99),
                atMost: 2 * Self.roundTripMilliseconds + 20),
        ]
    }
}
