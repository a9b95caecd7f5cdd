import RelayBase
import RelayRooms

/// What somebody is like.
enum Temper: CaseIterable {
    /// A good link, there from beginning to end, reads at once: must never feel anybody else.
    case steady
    case slowLink
    case lossyLink
    /// Its link goes down for a while, now and then.
    case interrupted
    case slowReader
    /// Stops reading for a while, now and then.
    case stopping
    /// Breaks its connection, and comes again.
    case breaking
    /// Joins, leaves, subscribes, publishes at random.
    case restless
}

/// One kind of stream that a client publishes.
struct PublicationPlan {
    var lane: Lane
    var framesPerSecond: Int
    var frameBytes: ClosedRange<Int>
    var keyFrameBytes: ClosedRange<Int> = 0...0
    /// A key frame without being asked.
    var framesPerKey = 0
    var spatialLayers = 1
    var temporalLayers = 1
    /// Says in `publish` which layers there are.
    var declaresLayers = false
    var priority = 2
    /// Of a hundred frames, how many nothing refers to.
    var discardablePercent = 0
}

struct ClientPlan {
    var temper: Temper
    var room: Int
    var loop: Int
    var down: LinkProfile
    var up: LinkProfile
    var receiveBufferBytes: Int
    var readsBytesPerSecond: Int
    var subscribesFirst: Bool
    var wishes: EgressWishes
    /// Comes back to its session when its connection was lost.
    var resumes: Bool
    /// Sends what is wanted, and nothing else.
    var obeysDemand: Bool
    var publications: [PublicationPlan]
    var comesAfterMilliseconds: UInt64
}

/// A whole run's setting, drawn from its seed.
package struct Scenario {
    package let seed: UInt64
    package let seconds: Int
    let loops: Int
    let limits: Limits
    let ringBytes: Int
    /// How long a session waits for its client.
    let resumeMilliseconds: UInt64
    let clients: [ClientPlan]
    /// Logs, rings or caches are so small that even a good link may lose frames.
    let isTight: Bool

    package init(seed: UInt64, seconds: Int) {
        self.seed = seed
        self.seconds = seconds
        var generator = SeededGenerator(seed: seed).split(1)
        loops = generator.draw(1...3)
        isTight = generator.chance(250)
        var limits = Limits()
        var ringBytes = 1 << 20
        if isTight {
            limits.audioLogBytesMax = generator.draw(8...32) << 10
            limits.videoLogBytesMax = generator.draw(16...128) << 10
            limits.dataLogBytesMax = generator.draw(8...64) << 10
            limits.gopCacheBytesMax = generator.draw(0...128) << 10
            limits.cacheBytesMax = generator.draw(8...512) << 10
            ringBytes = 1 << generator.draw(12...17)
        }
        if generator.chance(300) { limits.dataDeadlineMilliseconds = generator.draw(300...5_000) }
        if generator.chance(300) { limits.audioDeadlineMilliseconds = generator.draw(60...500) }
        if generator.chance(300) { limits.videoDeadlineMilliseconds = generator.draw(100...800) }
        resumeMilliseconds = generator.draw(500...15_000)
        limits.stallMillisecondsMax = generator.draw(4_000...30_000)
        self.limits = limits
        self.ringBytes = ringBytes
        let rooms = generator.chance(300) ? 2 : 1
        let count = generator.draw(2...5)
        clients = (0..<count).map { [loops] in Scenario.client($0, rooms: rooms, loops: loops, &generator) }
    }

    private static func client(_ index: Int, rooms: Int, loops: Int, _ generator: inout SeededGenerator) -> ClientPlan {
        let temper = index == 0 ? Temper.steady : generator.pick(Temper.allCases)
        var down = LinkProfile(bitsPerSecond: 200_000_000, delayNanoseconds: generator.draw(1_000_000...60_000_000))
        let up = LinkProfile(bitsPerSecond: generator.draw(20...200) * 1_000_000, delayNanoseconds: generator.draw(1_000_000...60_000_000))
        switch temper {
        case .slowLink:
            down.bitsPerSecond = generator.draw(64...2_000) * 1_000
            down.queueBytes = generator.draw(4...64) << 10
            down.jitterNanoseconds = generator.draw(0...20_000_000)
        case .lossyLink:
            down.bitsPerSecond = generator.draw(1...20) * 1_000_000
            down.lossPerTenThousand = generator.draw(1...200)
        case .interrupted, .stopping, .breaking, .restless:
            if generator.chance(500) { down.bitsPerSecond = generator.draw(1...20) * 1_000_000 }
        case .steady, .slowReader: break
        }
        return ClientPlan(
            temper: temper, room: generator.draw(0...(rooms - 1)), loop: generator.draw(0...(loops - 1)), down: down, up: up,
            receiveBufferBytes: (temper == .steady ? 1_024 : generator.draw(8...256)) << 10, readsBytesPerSecond: generator.draw(4...200) << 10,
            subscribesFirst: generator.chance(800), wishes: EgressWishes(parts: generator.chance(500), bundles: generator.chance(400)),
            resumes: generator.chance(700), obeysDemand: generator.chance(700),
            publications: publications(isFirst: index == 0, &generator),
            comesAfterMilliseconds: temper == .steady ? generator.draw(0...200) : generator.draw(0...4_000))
    }

    private static func publications(isFirst: Bool, _ generator: inout SeededGenerator) -> [PublicationPlan] {
        var plans: [PublicationPlan] = []
        if isFirst || generator.chance(300) {
            plans.append(PublicationPlan(lane: .audio, framesPerSecond: generator.pick([50, 25]), frameBytes: 60...240))
        }
        if generator.chance(isFirst ? 700 : 200) {
            let scale = generator.draw(1...4)
            var plan = PublicationPlan(
                lane: .video, framesPerSecond: generator.pick([10, 15, 30]), frameBytes: (200 * scale)...(1_500 * scale),
                keyFrameBytes: (2_000 * scale)...(12_000 * scale), framesPerKey: generator.pick([20, 60, 300, 100_000]),
                discardablePercent: generator.pick([0, 30, 50]))
            if generator.chance(500) {
                plan.spatialLayers = generator.draw(1...3)
                plan.temporalLayers = generator.draw(1...3)
                plan.declaresLayers = generator.chance(600)
                plan.priority = generator.draw(0...3)
            }
            plans.append(plan)
        }
        if generator.chance(isFirst ? 400 : 150) {
            plans.append(
                PublicationPlan(lane: .data, framesPerSecond: generator.draw(1...12), frameBytes: 80...(generator.pick([400, 4_000, 20_000]))))
        }
        return plans
    }
}
