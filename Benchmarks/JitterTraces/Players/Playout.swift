/// What a player made of a trace. One definition for all players:
///
/// - *buffering delay*: from a packet's arrival to the playout of its first sample, over what was played of packets;
/// - *concealed*: time in which there was neither sound of a packet nor a pause of the sender, after the first sound;
/// - *interruption*: 150 ms and more of that without a break;
/// - *stretch*: sound removed or inserted without concealment, of all that was played;
/// - *dropped*: packets that came and were not played, of all.
struct Playout: Sendable {
    /// A slot of 10 ms, or a packet.
    struct Point: Sendable {
        var time: Int64
        /// Of the packets whose playout begins in it.
        var delayMilliseconds: Double?
        /// How much they play, in slots.
        var weight = 1.0
        /// The part of it that is concealed.
        var concealed = 0.0
        /// Neither sound of a packet nor concealed.
        var isPause = false
    }

    var player: String
    var points: [Point] = []
    /// How long a point is.
    var pointMilliseconds: Double
    private(set) var meanDelay = 0.0
    private(set) var delay95 = 0.0
    private(set) var concealedRatio = 0.0
    private(set) var interruptions = 0.0
    var stretchRatio = 0.0
    var droppedRatio = 0.0

    static let interruptionMilliseconds = 150.0

    init(player: String, pointMilliseconds: Double) {
        self.player = player
        self.pointMilliseconds = pointMilliseconds
    }

    /// The same player with its pulls at several phases against the packets: how those fall is nobody's merit. Interruptions become their mean number.
    init(over phases: [Playout]) {
        self = phases[0]
        points = phases.flatMap(\.points)
        finish()
        interruptions /= Double(phases.count)
        stretchRatio = phases.reduce(0) { $0 + $1.stretchRatio } / Double(phases.count)
        droppedRatio = phases.reduce(0) { $0 + $1.droppedRatio } / Double(phases.count)
    }

    /// Adds up the points. Points without delay and concealment are pauses.
    mutating func finish() {
        var delays: [(delay: Double, weight: Double)] = []
        var concealed = 0.0
        var played = 0.0
        var run = 0.0
        interruptions = 0
        for point in points {
            concealed += point.concealed
            if !point.isPause { played += 1 - point.concealed }
            if let delay = point.delayMilliseconds, point.weight > 0 { delays.append((delay, point.weight)) }
            if point.concealed >= 0.999 {
                run += pointMilliseconds
            } else {
                run += point.concealed * pointMilliseconds
                if run >= Self.interruptionMilliseconds - 0.001 { interruptions += 1 }
                run = 0
            }
        }
        if run >= Self.interruptionMilliseconds - 0.001 { interruptions += 1 }
        concealedRatio = played + concealed > 0 ? concealed / (played + concealed) : 0
        let weight = delays.reduce(0) { $0 + $1.weight }
        meanDelay = weight > 0 ? delays.reduce(0) { $0 + $1.delay * $1.weight } / weight : 0
        delay95 = Self.percentile(delays, 0.95)
    }

    private static func percentile(_ values: [(delay: Double, weight: Double)], _ share: Double) -> Double {
        let total = values.reduce(0) { $0 + $1.weight }
        var sum = 0.0
        let sorted = values.sorted { $0.delay < $1.delay }
        for value in sorted {
            sum += value.weight
            if sum >= total * share { return value.delay }
        }
        return sorted.last?.delay ?? 0
    }
}
