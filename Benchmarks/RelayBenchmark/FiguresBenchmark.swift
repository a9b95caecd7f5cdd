import BenchmarkSupport
import CapacityModel
import Glibc
import MediaProtocol
import Reactor
import RelayBase
import RelayClient
import Signalling

/// What single acts of the relay cost, for the model of capacity: runs that have different numbers of them, and the costs that explain all runs best.
struct FiguresBenchmark {
    /// Who speaks to whom, in messages of what size, how many at once.
    private struct Case {
        let shape: RoomShape
        let messageBytes: Int
        let outstanding: Int
    }

    /// Twenty come in, one listens: what coming in costs.
    private static let manyToOne = RoomShape(description: "20+1", publishers: 20, listeners: 1, isConference: false)
    private static let fourToFifty = RoomShape(description: "4+50", publishers: 4, listeners: 50, isConference: false)
    private static let cases = [
        Case(shape: .oneToFifty, messageBytes: 160, outstanding: 1), Case(shape: .oneToFifty, messageBytes: 160, outstanding: 4),
        Case(shape: .oneToFifty, messageBytes: 160, outstanding: 16), Case(shape: .oneToFifty, messageBytes: 160, outstanding: 64),
        Case(shape: .oneToFifty, messageBytes: 1_200, outstanding: 1), Case(shape: .oneToFifty, messageBytes: 1_200, outstanding: 8),
        Case(shape: .oneToFifty, messageBytes: 6_000, outstanding: 2), Case(shape: .conversation, messageBytes: 160, outstanding: 1),
        Case(shape: .conversation, messageBytes: 160, outstanding: 8), Case(shape: manyToOne, messageBytes: 160, outstanding: 1),
        Case(shape: manyToOne, messageBytes: 160, outstanding: 16),
    ]
    private static let idleSeconds = 5.0

    private let options: BenchmarkOptions
    private var sessionCount: Int { options.idleSessions ?? 2_000 }

    init(_ options: BenchmarkOptions) {
        self.options = options
    }

    func run() throws {
        var figures = CostFigures(machine: Machine.description, date: Machine.date)
        // A busy loop holds frames: the relay's default.
        figures.holdMicroseconds = FiguresBenchmark.holdMicroseconds
        try acts(&figures)
        try presence(&figures)
        try betweenLoops(&figures)
        try check(&figures)
        Text.out("\n" + SizingTable.costs(figures))
        Text.out("\n" + SizingTable.trust(figures))
        guard let path = options.figures else { return }
        try FiguresBenchmark.write(try figures.json(), to: path)
        Text.out("kept in \(path)")
    }

    /// As long as the relay's loops hold frames by its defaults.
    private static var holdMicroseconds: Double { Double(Limits().flushHoldMicroseconds) }

    // MARK: Sends, frames, bytes

    private func acts(_ figures: inout CostFigures) throws {
        let relay = try RelayProcess(options, counting: false)
        defer { relay.stop() }
        let sessions = try BenchmarkSessions(options, relay)
        var runs: [LeastSquares.Run] = []
        var rows: [[String]] = []
        var rooms: [(case: Case, room: BenchmarkRoom)] = []
        for one in FiguresBenchmark.cases {
            let known = rooms.first { $0.case.shape.description == one.shape.description && $0.case.messageBytes == one.messageBytes }
            rooms.append((one, try known?.room ?? BenchmarkRoom(one.shape, sessions, messageBytes: one.messageBytes)))
        }
        for (one, room) in rooms { _ = try room.run(outstanding: one.outstanding, seconds: 0.3) }
        // Of each the run of the middle cost counts, as elsewhere.
        var taken = [[LeastSquares.Run]](repeating: [], count: rooms.count)
        for _ in 0..<options.runs {
            for (place, (one, room)) in rooms.enumerated() { taken[place].append(try measure(one, room, relay)) }
        }
        for (place, (one, _)) in rooms.enumerated() {
            let ordered = taken[place].sorted { $0.cost / $0.acts[1] < $1.cost / $1.acts[1] }
            let run = ordered[ordered.count / 2]
            runs.append(run)
            rows.append([
                "\(one.shape), \(one.messageBytes) bytes, W=\(one.outstanding)", Text.thousands(run.acts[1] / run.cost * 1e9),
                Text.fixed(run.acts[1] / max(1, run.acts[0]), 1),
            ])
        }
        guard let costs = LeastSquares.nonNegative(runs) else { throw BenchmarkFault("the runs do not tell the acts apart") }
        Text.out(
            "\nRuns that the costs are taken from\n"
                + Text.table(
                    ["room", "frames per CPU-s", "frames per send", "explained"],
                    rows.enumerated().map { place, row in
                        let predicted = zip(runs[place].acts, costs).reduce(0) { $0 + $1.0 * $1.1 }
                        return row + ["\(Text.fixed(predicted / runs[place].cost * 100, 0)) %"]
                    }))
        figures.nanosecondsPerSend = costs[0]
        figures.nanosecondsPerFrameOut = costs[1]
        figures.nanosecondsPerByte = costs[2]
        figures.nanosecondsPerReceive = costs[3]
        figures.nanosecondsPerFrameIn = costs[4]
    }

    /// One window: sends, frames out, bytes, receives, frames in, and what they cost together.
    private func measure(_ one: Case, _ room: BenchmarkRoom, _ relay: RelayProcess) throws -> LeastSquares.Run {
        _ = try room.run(outstanding: one.outstanding, seconds: 0.1)
        let before = try RelayCounters(relay)
        let cpu = try relay.processorSeconds()
        let result = try room.run(outstanding: one.outstanding, seconds: options.seconds)
        let used = try relay.processorSeconds() - cpu
        let sends = try RelayCounters(relay).since(before, "segue_sends_total")
        guard used > 0, result.deliveries > 0 else { throw BenchmarkFault("the window is too short to be measured; give --seconds") }
        let framesIn = Double(result.rounds * one.outstanding * one.shape.publishers)
        let framesOut = Double(result.deliveries)
        let receives = Double(result.rounds * one.shape.publishers)
        return LeastSquares.Run(acts: [sends, framesOut, (framesIn + framesOut) * Double(one.messageBytes), receives, framesIn], cost: used * 1e9)
    }

    // MARK: Being there

    private func presence(_ figures: inout CostFigures) throws {
        let relay = try RelayProcess(options, counting: false)
        defer { relay.stop() }
        let sessions = try BenchmarkSessions(options, relay)
        let first = try sessions.open(100)
        for (place, session) in first.enumerated() { try join(sessions, session, place) }
        try sessions.pass(seconds: 1)
        let resident = try relay.residentBytes()
        let before = try relay.processorSeconds()
        let further = try sessions.open(sessionCount)
        for (place, session) in further.enumerated() { try join(sessions, session, place) }
        figures.nanosecondsPerArrival = (try relay.processorSeconds() - before) * 1e9 / Double(sessionCount)
        try sessions.pass(seconds: 1)
        figures.bytesPerSession = max(0, try relay.residentBytes() - resident) / Double(sessionCount)
        let idle = try relay.processorSeconds()
        try sessions.pass(seconds: FiguresBenchmark.idleSeconds)
        let idleNanoseconds: Double = (try relay.processorSeconds() - idle) * 1e9
        figures.nanosecondsPerIdleConnectionSecond = idleNanoseconds / (FiguresBenchmark.idleSeconds * Double(sessionCount + first.count))
        guard (first + further).allSatisfy(\.isOpen) else { throw BenchmarkFault("idle sessions ended") }
    }

    /// Ten in a room.
    private func join(_ sessions: BenchmarkSessions, _ session: ClientSession, _ place: Int) throws {
        _ = try sessions.request(session, .join(.init(room: "idle-\(place / 10)", displayName: nil)))
    }

    // MARK: Between loops

    /// What a round of a room takes.
    private struct Round {
        var nanoseconds: Double
        var sends: Double
        var forwarded: Double
    }

    /// The same rooms on one loop and on two that share a core: what a round takes more, beyond its further sends, is what handing frames over costs.
    private func betweenLoops(_ figures: inout CostFigures) throws {
        let shapes = [FiguresBenchmark.fourToFifty, RoomShape.tenToTen, .oneToFifty]
        let one = try rounds(shapes, loops: 1)
        let two = try rounds(shapes, loops: 2)
        var costs: [Double] = []
        for (one, two) in zip(one, two) where two.forwarded > 0 {
            let furtherSends = (two.sends - one.sends) * figures.nanosecondsPerSend
            costs.append((two.nanoseconds - one.nanoseconds - furtherSends) / two.forwarded)
        }
        guard !costs.isEmpty else { throw BenchmarkFault("no frame went to the other loop") }
        Text.out("\na frame to another loop, by room: \(costs.map { Text.thousands($0) }.joined(separator: ", ")) ns")
        figures.nanosecondsPerFrameToLoop = max(0, Samples.median(costs))
    }

    private func rounds(_ shapes: [RoomShape], loops: Int) throws -> [Round] {
        let relay = try RelayProcess(options, counting: false, loops: loops)
        defer { relay.stop() }
        let sessions = try BenchmarkSessions(options, relay)
        return try shapes.map { shape in
            let room = try BenchmarkRoom(shape, sessions)
            _ = try room.run(outstanding: 1, seconds: 0.3)
            let before = try RelayCounters(relay)
            let cpu = try relay.processorSeconds()
            let result = try room.run(outstanding: 1, seconds: options.seconds)
            let used = (try relay.processorSeconds() - cpu) * 1e9
            let after = try RelayCounters(relay)
            let rounds = Double(max(1, result.rounds))
            return Round(
                nanoseconds: used / rounds, sends: try after.since(before, "segue_sends_total") / rounds,
                forwarded: try after.since(before, "segue_loop_frames_forwarded_total") / rounds)
        }
    }

    // MARK: Against runs at a pace

    private func check(_ figures: inout CostFigures) throws {
        let relay = try RelayProcess(options, counting: false)
        defer { relay.stop() }
        let sessions = try BenchmarkSessions(options, relay)
        let audio: [(name: String, shape: RoomShape)] = [
            ("4 speak, 50 listen", FiguresBenchmark.fourToFifty), ("10 in a conference", .conversation), ("1 speaks, 50 listen", .oneToFifty),
        ]
        for (name, shape) in audio {
            let room = try BenchmarkRoom(shape, sessions)
            _ = try room.paced(seconds: 0.5)
            let cpu = try relay.processorSeconds()
            let result = try room.paced(seconds: 3)
            let measured = (try relay.processorSeconds() - cpu) / result.wallSeconds
            let subscribers = Double(shape.deliveries) / Double(shape.publishers)
            let members = Double(shape.isConference ? shape.publishers : shape.listeners)
            let stream = StreamClass("audio", active: Double(shape.publishers), framesPerSecond: 50, bytesPerFrame: 160, receiversEach: subscribers)
            let outcome = LoopSimulation(figures, Workload(name, "", members: members, streams: [stream]), units: 1).run(seconds: 3, seed: 1)
            figures.checks.append(CostFigures.Check(name: name, measuredShare: measured, predictedShare: outcome.busyShare))
        }
    }

    private static func write(_ bytes: [UInt8], to path: String) throws(BenchmarkFault) {
        let fresh = path + ".new"
        guard let file = unsafe fopen(fresh, "w") else { throw BenchmarkFault("\(path) cannot be written") }
        let isWritten = unsafe fwrite(bytes, 1, bytes.count, file) == bytes.count
        guard unsafe fclose(file) == 0, isWritten, unsafe rename(fresh, path) == 0 else { throw BenchmarkFault("\(path) cannot be written") }
    }
}

extension BenchmarkRoom {
    /// Every publisher sends a frame each 20 ms, spread over that time, whatever comes of them.
    func paced(seconds: Double) throws -> RoomResult {
        var result = RoomResult()
        let start = MonotonicClock.now()
        let interval = 20_000_000 / UInt64(max(1, publishers.count))
        let before = sessions.framesReceived
        var sent: UInt64 = 0
        while Double(sent * interval) < seconds * 1e9 {
            let place = Int(sent % UInt64(publishers.count))
            if place == 0 { sequence &+= 1 }
            send(.audio, publishers[place].session, publishers[place].stream)
            sent += 1
            try sessions.pass(until: start.advanced(byNanoseconds: sent * interval))
        }
        result.wallSeconds = Double(MonotonicClock.now().nanoseconds(since: start)) / 1e9
        result.rounds = Int(sent) / publishers.count
        let wanted = Int(sent) * shape.deliveries / shape.publishers
        try sessions.wait("paced frames") { sessions.framesReceived - before >= wanted }
        result.deliveries = wanted
        return result
    }
}
