import Glibc

/// One loop of a relay in virtual time: frames come from publishers at their own pace, each act takes as long as it was measured to, and the loop takes turns
/// as the relay's does. It says what the formula cannot: how long frames wait, and how busy the loop is where it is not busy enough to hold frames in full.
///
/// The same seed gives the same run everywhere.
package struct LoopSimulation {
    package struct Outcome: Sendable, Equatable {
        /// Of the loop's time.
        package var busyShare = 0.0
        package var sends = 0
        package var framesOut = 0
        package var framesIn = 0
        /// From when a frame came in to when it was sent: microseconds.
        package var latencyP50 = 0.0
        package var latencyP99 = 0.0

        package init() {}
    }

    /// Rooms of one workload on one loop; of one large room, so many listeners.
    package let workload: Workload
    package let rooms: Int
    package let listeners: Int
    private let figures: CostFigures

    /// - Parameter units: rooms, or listeners of a workload that is one room.
    package init(_ figures: CostFigures, _ workload: Workload, units: Int) {
        self.figures = figures
        self.workload = workload
        rooms = workload.isOneRoom ? 1 : max(1, units)
        listeners = workload.isOneRoom ? max(1, units) : max(1, Int(workload.members))
    }

    private struct Publisher {
        let room: Int
        let interval: Double
        let bytes: Double
        /// Subscribers of the room that get its frames, of all.
        let share: Double
        var next: Double
    }

    private struct Room {
        /// Frames that each subscriber is due, on average, and their bytes.
        var frames = 0.0
        var bytes = 0.0
        /// When they came.
        var arrivals: [(time: Double, share: Double)] = []
    }

    /// Times are in seconds.
    package func run(seconds: Double, seed: UInt64) -> Outcome {
        var generator = SplitMix(state: seed)
        var publishers = makePublishers(&generator)
        guard !publishers.isEmpty else { return Outcome() }
        var rooms = [Room](repeating: Room(), count: rooms)
        var dirty: [Int] = []
        var outcome = Outcome()
        var latencies = Waits()
        var load = Load()
        var now = 0.0
        var worked = 0.0
        var due = DueTimes(publishers.map(\.next))
        while now < seconds {
            let start = now
            // What has come until now is read in this turn.
            while due.first.time <= start {
                let place = due.first.place
                let publisher = publishers[place]
                now += (figures.nanosecondsPerReceive + figures.nanosecondsPerFrameIn + publisher.bytes * figures.nanosecondsPerByte) / 1e9
                if rooms[publisher.room].arrivals.isEmpty { dirty.append(publisher.room) }
                rooms[publisher.room].frames += publisher.share
                rooms[publisher.room].bytes += publisher.bytes * publisher.share
                rooms[publisher.room].arrivals.append((publisher.next, publisher.share))
                outcome.framesIn += 1
                publishers[place].next += publisher.interval
                due.replaceFirst(publishers[place].next)
            }
            let hold = figures.holdMicroseconds / 1e6 * load.holdPart
            var waiting: [Int] = []
            var spared = 0.0
            for room in dirty {
                guard let first = rooms[room].arrivals.first?.time, now >= first + hold else {
                    waiting.append(room)
                    continue
                }
                // Alone, each frame but the first would have been a send of its own.
                spared += max(0, rooms[room].frames - 1) * figures.nanosecondsPerSend / 1e9 * Double(listeners)
                flush(&rooms[room], &now, &outcome, &latencies)
            }
            dirty = waiting
            worked += now - start
            var next = due.first.time
            for room in dirty { if let first = rooms[room].arrivals.first?.time { next = min(next, first + hold) } }
            let end = max(now, next)
            load.note(worked: now - start, spared: spared, period: end - start)
            now = end
        }
        outcome.busyShare = worked / max(now, seconds)
        outcome.latencyP50 = latencies.quantile(0.5)
        outcome.latencyP99 = latencies.quantile(0.99)
        return outcome
    }

    private func makePublishers(_ generator: inout SplitMix) -> [Publisher] {
        var publishers: [Publisher] = []
        for room in 0..<rooms {
            for stream in workload.streams {
                let share = workload.isOneRoom ? 1 : min(1, stream.receiversEach / workload.members)
                for _ in 0..<Int(stream.active.rounded()) where stream.framesPerSecond > 0 {
                    let interval = 1 / stream.framesPerSecond
                    publishers.append(
                        Publisher(
                            room: room, interval: interval, bytes: stream.bytesPerFrame, share: share,
                            next: Double.random(in: 0..<interval, using: &generator)))
                }
            }
        }
        return publishers
    }

    /// One send to each subscriber. Where a subscriber gets only some of the streams, a part of them has nothing due.
    private func flush(_ room: inout Room, _ now: inout Double, _ outcome: inout Outcome, _ latencies: inout Waits) {
        // The share that gets at least one of them.
        let none = room.arrivals.reduce(1.0) { $0 * (1 - $1.share) }
        let receivers = max(1, (Double(listeners) * (1 - none)).rounded())
        let records = max(1, (room.bytes / (1 - none) / Assumption.recordBytesMax).rounded(.up))
        let each = (records * figures.nanosecondsPerSend) / 1e9
        let content = (room.frames * figures.nanosecondsPerFrameOut + room.bytes * figures.nanosecondsPerByte) / 1e9 * Double(listeners)
        let start = now
        now += receivers * each + content
        outcome.sends += Int(receivers * records)
        outcome.framesOut += Int((room.frames * Double(listeners)).rounded())
        // Ten places of the round stand for all.
        for arrival in room.arrivals {
            for place in 1...10 {
                latencies.note(start + (now - start) * Double(place) / 10 - arrival.time, weight: receivers * arrival.share / 10)
            }
        }
        room = Room()
    }

    /// As `LoopLoad` of the relay has it.
    private struct Load {
        private var unheldShare = 0.0

        var holdPart: Double { min(max((unheldShare - 0.25) / 0.5, 0), 1) }

        mutating func note(worked: Double, spared: Double, period: Double) {
            guard period > 0 else { return }
            unheldShare += (min((worked + spared) / period, 4) - unheldShare) * (period / (period + 0.05))
        }
    }
}

/// Waits in microseconds, with weights, in buckets of 1 % of their size.
private struct Waits {
    private var weights = [Double](repeating: 0, count: 2_048)
    private var total = 0.0

    mutating func note(_ seconds: Double, weight: Double) {
        let place = log(max(seconds * 1e6, 1)) / log(1.01)
        weights[min(weights.count - 1, Int(place))] += weight
        total += weight
    }

    func quantile(_ quantile: Double) -> Double {
        var seen = 0.0
        for (place, weight) in weights.enumerated() {
            seen += weight
            if seen >= total * quantile, total > 0 { return pow(1.01, Double(place)) }
        }
        return 0
    }
}

/// The earliest of many times: a binary heap whose first is replaced.
private struct DueTimes {
    private var heap: [(time: Double, place: Int)]

    init(_ times: [Double]) {
        heap = times.enumerated().map { (time: $0.element, place: $0.offset) }.sorted { $0.time < $1.time }
    }

    var first: (time: Double, place: Int) { heap[0] }

    mutating func replaceFirst(_ time: Double) {
        heap[0].time = time
        var place = 0
        while true {
            var least = place
            for child in [2 * place + 1, 2 * place + 2] where child < heap.count && heap[child].time < heap[least].time { least = child }
            guard least != place else { return }
            heap.swapAt(place, least)
            place = least
        }
    }
}

/// SplitMix64.
private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
