import LoadReport

/// The tables of what machines carry.
package enum SizingTable {
    package static let start = "<!-- sizing: written by Deploy/dev bench capacity -->"
    package static let end = "<!-- sizing: end -->"
    /// Nodes of the last column.
    package static let nodes = 10.0

    /// What the README has between its markers.
    package static func readme(_ figures: CostFigures) -> String {
        let node = NodeShape.node
        let heading =
            "From costs that were measured \(figures.date) on \(figures.machine) (`Deploy/dev bench capacity` measures and computes them anew)."
        return heading + "\n\n" + table(CapacityModel(figures), core: .core, node: node, nodes: nodes) + "\n\n" + trust(figures)
    }

    /// What one core, one node and several nodes carry.
    package static func table(_ model: CapacityModel, core: NodeShape, node: NodeShape, nodes: Double) -> String {
        let rows = Workload.all.map { workload in
            let one = model.capacity(workload, core)
            let whole = model.capacity(workload, node)
            let many = model.capacity(workload, node, nodes: nodes)
            return [
                "\(workload.name): \(workload.text)", amount(workload, one), bound(one), amount(workload, whole), bound(whole),
                Numbers.significant(whole.egressGigabitsPerSecond), amount(workload, many),
            ]
        }
        return Numbers.table(
            [
                "clients (in rooms)", "one core", "bound by", "one node: \(shape(node))", "bound by", "Gbit/s out",
                "\(Numbers.fixed(nodes)) nodes",
            ], rows)
    }

    /// Rounded down to what the figures are good for: two digits.
    package static func rounded(_ value: Double) -> Double {
        guard value >= 100 else { return value.rounded(.down) }
        var scale = 1.0
        while value / scale >= 100 { scale *= 10 }
        return (value / scale).rounded(.down) * scale
    }

    private static func amount(_ workload: Workload, _ capacity: CapacityModel.Capacity) -> String {
        let clients = Numbers.fixed(rounded(capacity.clients))
        guard !workload.isOneRoom, workload.members > 1 else { return clients }
        return "\(clients) (\(Numbers.fixed(rounded(capacity.rooms))))"
    }

    private static func bound(_ capacity: CapacityModel.Capacity) -> String { capacity.bound.rawValue }

    private static func shape(_ node: NodeShape) -> String {
        "\(Numbers.fixed(node.cores)) cores, \(Numbers.fixed(node.memoryGiB)) GiB, \(Numbers.fixed(node.egressGigabitsPerSecond)) Gbit/s"
    }

    /// How far the model was off where it could be held against a run.
    package static func trust(_ figures: CostFigures) -> String {
        guard !figures.checks.isEmpty else { return "The model has not been held against a run." }
        let told = figures.checks.map { check in
            "\(check.name): \(Numbers.percent(check.predictedShare)) of a core predicted, \(Numbers.percent(check.measuredShare)) measured"
        }
        return "Held against paced runs of the relay: " + told.joined(separator: "; ") + "."
    }

    /// What single acts cost.
    package static func costs(_ figures: CostFigures) -> String {
        func nanoseconds(_ value: Double) -> String {
            value >= 1_000 ? "\(Numbers.significant(value / 1_000)) µs" : "\(Numbers.significant(value)) ns"
        }
        return Numbers.table(
            ["act", "costs"],
            [
                ["a send to one receiver", nanoseconds(figures.nanosecondsPerSend)],
                ["each frame in it", nanoseconds(figures.nanosecondsPerFrameOut)],
                ["each 1,000 bytes, in or out", nanoseconds(figures.nanosecondsPerByte * 1_000)],
                ["a receive from a publisher", nanoseconds(figures.nanosecondsPerReceive)],
                ["each frame in it", nanoseconds(figures.nanosecondsPerFrameIn)],
                ["a frame to one other loop", nanoseconds(figures.nanosecondsPerFrameToLoop)],
                ["a second of an idle connection", nanoseconds(figures.nanosecondsPerIdleConnectionSecond)],
                ["a client that comes: handshake, hello, join", nanoseconds(figures.nanosecondsPerArrival)],
                ["a session in a room, resident", Numbers.bytes(figures.bytesPerSession)],
                ["frames are held on a busy loop", "\(Numbers.significant(figures.holdMicroseconds / 1_000)) ms"],
            ])
    }

    /// What one loop does at the load that the table gives one core, in virtual time.
    package static func simulated(_ model: CapacityModel, seconds: Double = 4) -> String {
        let rows = Workload.all.filter { $0.framesOut > 0 }.map { workload in
            let capacity = model.capacity(workload, .core)
            let units = max(1, Int(workload.isOneRoom ? capacity.clients : capacity.rooms))
            let outcome = LoopSimulation(model.figures, workload, units: units).run(seconds: seconds, seed: 1)
            return [
                workload.name, Numbers.fixed(capacity.clients), Numbers.percent(outcome.busyShare),
                Numbers.significant(Double(outcome.framesOut) / Double(max(1, outcome.sends))),
                Numbers.significant(outcome.latencyP50 / 1_000), Numbers.significant(outcome.latencyP99 / 1_000),
            ]
        }
        return Numbers.table(["one loop at its bound", "clients", "busy", "frames per send", "p50 in the relay, ms", "p99, ms"], rows)
    }

    /// A document with the lines between its markers replaced; `nil` where it lacks them.
    package static func placed(_ text: String, in document: String) -> String? {
        guard let from = document.firstRange(of: start + "\n")?.upperBound, let to = document[from...].firstRange(of: end)?.lowerBound else {
            return nil
        }
        return document[..<from] + "\n" + text + "\n\n" + document[to...]
    }
}
