import CapacityModel
import LoadReport
import Testing

/// Costs with round numbers.
private func figures(hold: Double = 0) -> CostFigures {
    var figures = CostFigures(machine: "a machine", date: "2026-12-01")
    figures.nanosecondsPerSend = 10_000
    figures.nanosecondsPerFrameOut = 100
    figures.nanosecondsPerByte = 0.5
    figures.nanosecondsPerReceive = 5_000
    figures.nanosecondsPerFrameIn = 500
    figures.nanosecondsPerFrameToLoop = 4_000
    figures.nanosecondsPerIdleConnectionSecond = 2_000
    figures.nanosecondsPerArrival = 1_200_000
    figures.bytesPerSession = 25_000
    figures.holdMicroseconds = hold
    return figures
}

private let conference = Workload(
    "conference", "", members: 10, streams: [StreamClass("audio", active: 10, framesPerSecond: 50, bytesPerFrame: 160, receiversEach: 9)])
private let talk = Workload(
    "talk", "", members: 1, streams: [StreamClass("audio", active: 1, framesPerSecond: 50, bytesPerFrame: 160, receiversEach: 1)], isOneRoom: true)

@Suite("The model of capacity")
struct CapacityModelTests {
    @Test("a room's processor time is the sum of its acts")
    func demand() {
        let demand = CapacityModel(figures()).demand(conference, loops: 1)
        let ingress = 500 * (5_000 + 500 + 80.0)
        let egress = 4_500 * (10_000 + 100 + 80.0)
        let presence = 10 * (2_000 + 1_200_000 / 600.0)
        #expect(abs(demand.coreSeconds - (ingress + egress + presence) / 1e9) < 1e-9)
        #expect(demand.memoryBytes == 10 * (25_000 + 8_192) + 262_144)
    }

    @Test("frames that come within the hold share a send")
    func hold() {
        let model = CapacityModel(figures(hold: 2_000))
        // 450 frames a second and receiver: 0.9 of them come within 2 ms of the first.
        #expect(abs(model.framesPerSend(framesPerSecond: 450) - 1.9) < 1e-9)
        #expect(abs(model.sends(conference) - 4_500 / 1.9) < 1e-6)
        // A record has 16 KiB at most.
        let wide = Workload(
            "", "", members: 1, streams: [StreamClass("data", active: 1, framesPerSecond: 4_000, bytesPerFrame: 8_192, receiversEach: 1)])
        #expect(model.sends(wide) == 2_000)
    }

    @Test(
        "a frame crosses to the loops that have receivers, and to no more",
        arguments: [(1.0, 9.0, 0.0), (8, 0, 0), (2, 1, 0.5), (8, 1, 0.875), (4, 1e9, 3)])
    func loops(loops: Double, receivers: Double, expected: Double) {
        #expect(abs(CapacityModel.otherLoops(loops: loops, receivers: receivers) - expected) < 1e-6)
    }

    @Test("more cores carry more, but not more than so many times as much")
    func cores() {
        let model = CapacityModel(figures())
        let one = model.capacity(conference, NodeShape(cores: 1, memoryGiB: 64, egressGigabitsPerSecond: 100))
        let eight = model.capacity(conference, NodeShape(cores: 8, memoryGiB: 64, egressGigabitsPerSecond: 100))
        #expect(one.bound == .processor && eight.bound == .processor)
        #expect(eight.clients > 4 * one.clients && eight.clients < 8 * one.clients)
    }

    @Test("what there is least of bounds a node")
    func bounds() {
        let model = CapacityModel(figures())
        #expect(model.capacity(conference, NodeShape(cores: 1, memoryGiB: 1_000, egressGigabitsPerSecond: 1_000)).bound == .processor)
        #expect(model.capacity(conference, NodeShape(cores: 64, memoryGiB: 0.01, egressGigabitsPerSecond: 1_000)).bound == .memory)
        #expect(model.capacity(conference, NodeShape(cores: 64, memoryGiB: 1_000, egressGigabitsPerSecond: 0.1)).bound == .network)
    }

    @Test("what a node carries fits into it, and one room more does not", arguments: Workload.all)
    func fits(workload: Workload) {
        let model = CapacityModel(figures(hold: 2_000))
        let node = NodeShape.node
        let capacity = model.capacity(workload, node)
        let demand = model.demand(workload, loops: node.cores)
        let units = workload.isOneRoom ? capacity.clients : capacity.rooms
        let once = workload.isOneRoom ? model.ingress(workload, loops: node.cores, receiversFactor: .infinity) : 0
        func isWithin(_ units: Double) -> Bool {
            units * demand.coreSeconds + once <= node.cores * 0.75 * 1.000_001 && units * demand.memoryBytes <= node.memoryGiB * 0.75 * 1_073_741_824
                && units * demand.egressBits <= node.egressGigabitsPerSecond * 0.75e9
        }
        #expect(isWithin(units))
        #expect(!isWithin(units + 1.001))
    }

    @Test("bytes on the wire have all headers: one frame of 160 bytes in one packet")
    func wire() {
        let bytes = CapacityModel(figures()).wireBytes(talk)
        #expect(abs(bytes - 50 * (160 + 4 + 22 + 90)) < 1e-6)
    }

    @Test("many nodes carry many times the rooms; of one room a little less, for the links between them")
    func nodes() {
        let model = CapacityModel(figures())
        let one = model.capacity(conference, .node)
        #expect(model.capacity(conference, .node, nodes: 10).clients == 10 * one.clients)
        let single = model.capacity(talk, .node)
        let many = model.capacity(talk, .node, nodes: 10)
        #expect(many.clients < 10 * single.clients && many.clients > 9.9 * single.clients)
        #expect(many.rooms == 1)
    }

    @Test("JSON gives back the figures; costs that cannot be are refused")
    func json() throws {
        var known = figures(hold: 2_000)
        known.checks = [CostFigures.Check(name: "a run", measuredShare: 0.2, predictedShare: 0.21)]
        #expect(try CostFigures(json: known.json()) == known)
        var wrong = known
        wrong.nanosecondsPerSend = -1
        #expect(throws: DecodingError.self) { try CostFigures(json: wrong.json()) }
    }
}

@Suite("A loop in virtual time")
struct LoopSimulationTests {
    @Test("it is as busy as the formula says, where frames are sent as they come", arguments: [1, 3, 6])
    func agrees(rooms: Int) {
        let model = CapacityModel(figures())
        let outcome = LoopSimulation(model.figures, conference, units: rooms).run(seconds: 4, seed: 7)
        var workload = conference
        workload.members = 0
        let acts = model.demand(conference, loops: 1).coreSeconds - 10 * (2_000 + 1_200_000 / 600.0) / 1e9
        // Frames that come while the loop works share a send.
        #expect(outcome.busyShare <= acts * Double(rooms) * 1.02)
        #expect(outcome.busyShare >= acts * Double(rooms) * 0.6)
        #expect(abs(Double(outcome.framesIn) - 4 * 500 * Double(rooms)) <= 10 * Double(rooms))
        #expect(outcome.framesOut == outcome.framesIn * 9 || abs(outcome.framesOut - outcome.framesIn * 9) < 100 * rooms)
    }

    @Test("a busy loop holds frames up to the hold, an idle one does not")
    func holds() {
        let idle = LoopSimulation(figures(hold: 2_000), conference, units: 1).run(seconds: 2, seed: 1)
        let busy = LoopSimulation(figures(hold: 2_000), conference, units: 16).run(seconds: 2, seed: 1)
        #expect(Double(idle.framesOut) / Double(idle.sends) < 1.3)
        #expect(Double(busy.framesOut) / Double(busy.sends) > 1.6)
        #expect(idle.latencyP50 < 500)
        #expect(busy.latencyP99 > 1_500)
    }

    @Test("the same seed gives the same run, another a different one")
    func seeds() {
        let simulation = LoopSimulation(figures(hold: 2_000), conference, units: 4)
        #expect(simulation.run(seconds: 1, seed: 5) == simulation.run(seconds: 1, seed: 5))
        #expect(simulation.run(seconds: 1, seed: 5) != simulation.run(seconds: 1, seed: 6))
    }

    @Test("nobody speaks, nothing happens")
    func silent() {
        #expect(
            LoopSimulation(figures(), Workload("idle", "", members: 1, streams: []), units: 5).run(seconds: 1, seed: 1) == LoopSimulation.Outcome())
    }
}

@Suite("Costs from runs")
struct LeastSquaresTests {
    @Test("costs that made the runs are found")
    func exact() throws {
        let costs = [8_000.0, 120, 0.4]
        let acts: [[Double]] = [[100, 100, 16_000], [100, 1_600, 256_000], [100, 100, 120_000], [10, 5_000, 800_000]]
        let runs = acts.map { acts in LeastSquares.Run(acts: acts, cost: zip(acts, costs).reduce(0) { $0 + $1.0 * $1.1 }) }
        let found = try #require(LeastSquares.nonNegative(runs))
        for (one, cost) in zip(found, costs) { #expect(abs(one - cost) < cost * 1e-6) }
    }

    @Test("no cost is below 0")
    func nonNegative() throws {
        let runs = [
            LeastSquares.Run(acts: [1, 1], cost: 10), LeastSquares.Run(acts: [1, 2], cost: 9), LeastSquares.Run(acts: [2, 1], cost: 20),
        ]
        let found = try #require(LeastSquares.nonNegative(runs))
        #expect(found[1] == 0)
        #expect(abs(found[0] - 9.7) < 0.5)
    }

    @Test("runs that do not tell acts apart give none")
    func alike() {
        #expect(LeastSquares.nonNegative([]) == nil)
        #expect(LeastSquares.nonNegative([LeastSquares.Run(acts: [1, 1], cost: 1), LeastSquares.Run(acts: [2, 2], cost: 2)]) == nil)
        #expect(LeastSquares.nonNegative([LeastSquares.Run(acts: [1, 0], cost: 1)]) == nil)
    }
}

@Suite("The sizing table")
struct SizingTableTests {
    @Test("it goes between its markers and leaves the rest")
    func placed() {
        let document = "before\n\(SizingTable.start)\n\nold\n\n\(SizingTable.end)\nafter\n"
        #expect(SizingTable.placed("new", in: document) == "before\n\(SizingTable.start)\n\nnew\n\n\(SizingTable.end)\nafter\n")
        #expect(SizingTable.placed("new", in: SizingTable.placed("x", in: document) ?? "") == SizingTable.placed("new", in: document))
        #expect(SizingTable.placed("new", in: "nothing") == nil)
    }

    @Test(
        "numbers are rounded down to what the figures are good for",
        arguments: [(0.9, 0.0), (99.9, 99), (123, 120), (5_678, 5_600), (123_456, 120_000)])
    func rounded(value: Double, expected: Double) {
        #expect(SizingTable.rounded(value) == expected)
    }

    @Test("it has a row for each workload, and says how far to trust it")
    func rows() {
        var known = figures(hold: 2_000)
        let text = SizingTable.readme(known)
        for workload in Workload.all { #expect(text.contains("\(workload.name): ")) }
        #expect(text.contains("not been held against a run"))
        known.checks = [CostFigures.Check(name: "a run", measuredShare: 0.2, predictedShare: 0.21)]
        #expect(SizingTable.readme(known).contains("a run: 21.0 % of a core predicted, 20.0 % measured"))
    }

    @Test("a run of segue load is told beside what the model makes of it")
    func check() throws {
        var report = LoadReport(scenario: LoadReport.Scenario(name: "conference", text: ""))
        report.wallSeconds = 10
        report.frames.sent = 5_000
        report.frames.delivered = 45_000
        #expect(LoadCheck.text(figures(), report, bytesPerFrame: 160) == nil)
        var relay = LoadReport.RelayFigures()
        relay.cpuSeconds = 0.5
        relay.sends = 45_000
        report.relay = relay
        let text = try #require(LoadCheck.text(figures(), report, bytesPerFrame: 160))
        // 27.5 ms in, 450 ms of sends, 4.5 ms of frames, 4 ms of bytes.
        #expect(text.contains("0.49"))
        #expect(text.contains("within a factor"))
    }
}
