import BenchmarkSupport

/// Frames delivered per CPU-second of the relay, and of the floor, in turns.
struct SpeedBenchmark {
    private struct Cell {
        var relay: [Double] = []
        var relayShare: [Double] = []
        var generatorShare: [Double] = []
    }

    private let options: BenchmarkOptions
    private let relay: RelayProcess

    init(_ options: BenchmarkOptions, _ relay: RelayProcess) {
        self.options = options
        self.relay = relay
    }

    func run() throws {
        let sessions = try BenchmarkSessions(options, relay)
        let rooms = try RoomShape.all.map { try BenchmarkRoom($0, sessions) }
        for room in rooms { try room.warmUp() }
        var floors = [[Double]](repeating: [], count: options.outstanding.count)
        var cells = [[Cell]](repeating: [Cell](repeating: Cell(), count: options.outstanding.count), count: rooms.count)
        for _ in 0..<options.runs {
            for place in options.outstanding.indices {
                let outstanding = options.outstanding[place]
                floors[place].append(try Floor.measure(batch: outstanding, seconds: options.seconds / 2, core: options.relayCore))
                for room in rooms.indices { try measure(rooms[room], outstanding, &cells[room][place]) }
            }
        }
        Text.out(
            "\nFrames delivered per CPU-second, \(BenchmarkRoom.messageBytes)-byte messages, TLS 1.3, HTTP/1.1; median of \(options.runs) runs in turns"
        )
        var rows: [[String]] = []
        for place in options.outstanding.indices {
            let floor = Samples.median(floors[place])
            for room in rooms.indices { rows.append(row(rooms[room].shape, options.outstanding[place], cells[room][place], floor)) }
        }
        Text.out(
            Text.table(
                [
                    "room", "W", "relay, frames per CPU-s", "lowest", "highest", "floor", "relay ÷ floor", "ns per frame", "relay's core",
                    "generator's core",
                ],
                rows))
        Text.out(
            """
            W: frames that each publisher sends at once; the next W follow when everybody has them. 10x10: ten speak and hear the nine others; 10+10: ten
            others listen. Floor: one AES-128-GCM record and one send per receiver for W frames. In rooms with ten publishers the relay may put several
            publishers' frames into one record, which the floor does not.
            """)
    }

    private func measure(_ room: BenchmarkRoom, _ outstanding: Int, _ cell: inout Cell) throws {
        _ = try room.run(outstanding: outstanding, seconds: 0.1)
        let before = try relay.processorSeconds()
        let result = try room.run(outstanding: outstanding, seconds: options.seconds)
        let used = try relay.processorSeconds() - before
        guard used > 0 else { throw BenchmarkFault("the window is too short to be measured; give --seconds") }
        cell.relay.append(Double(result.deliveries) / used)
        cell.relayShare.append(used / result.wallSeconds)
        cell.generatorShare.append(result.generatorSeconds / result.wallSeconds)
    }

    private func row(_ shape: RoomShape, _ outstanding: Int, _ cell: Cell, _ floor: Double) -> [String] {
        let relay = Samples.median(cell.relay)
        return [
            "\(shape)", "\(outstanding)", Text.thousands(relay), Text.thousands(cell.relay.min() ?? 0), Text.thousands(cell.relay.max() ?? 0),
            Text.thousands(floor), Text.fixed(relay / floor, 2), Text.thousands(1e9 / relay), SpeedBenchmark.percent(cell.relayShare),
            SpeedBenchmark.percent(cell.generatorShare),
        ]
    }

    private static func percent(_ shares: [Double]) -> String { "\(Text.fixed(Samples.median(shares) * 100, 0)) %" }
}
