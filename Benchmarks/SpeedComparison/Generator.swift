import BenchmarkSupport
import Glibc
import Reactor
import RelayBase

/// The clients of one room at one server, on the calling thread. All loads of the room's shape use them.
final class Generator {
    private static let timerToken = UInt64.max

    let server: ServerProcess
    let shape: RoomShape
    private var publishers: [(connection: Connection, stream: UInt32)] = []
    /// What each sends, encoded; only what differs from frame to frame is written anew.
    private var messages: [[UInt8]] = []
    private var connections: [Connection] = []
    private var selector: Selector
    private let timer: AbsoluteTimer
    private var sequence: UInt32 = 0
    private var tally = Tally()

    init(_ shape: RoomShape, _ server: ServerProcess, _ surroundings: Connection.Surroundings) throws {
        self.shape = shape
        self.server = server
        selector = try Selector(calls: .linux)
        timer = try AbsoluteTimer()
        try selector.add(timer.descriptor, token: Self.timerToken, interest: .read)
        if server.kind == .relay {
            try openAtRelay(surroundings)
        } else {
            try openPlain(surroundings)
        }
    }

    // MARK: Opening

    private func open(_ path: String, _ surroundings: Connection.Surroundings) throws -> Connection {
        let connection = try Connection(to: server, path: path, transport: shape.transport, surroundings)
        try selector.add(connection.descriptor, token: UInt64(connections.count), interest: .read)
        connections.append(connection)
        return connection
    }

    private func openPlain(_ surroundings: Connection.Surroundings) throws {
        for _ in 0..<shape.subscribers { _ = try open("/\(shape.roomName)?role=subscribe", surroundings) }
        for number in 1...UInt32(shape.publishers) {
            publishers.append((try open("/\(shape.roomName)?role=publish", surroundings), number))
        }
    }

    private func openAtRelay(_ surroundings: Connection.Surroundings) throws {
        for _ in 0..<shape.subscribers + shape.publishers {
            try RelayRoom.enter(shape.roomName, try open(RelayRoom.path, surroundings))
        }
        for connection in connections { try RelayRoom.awaitEntry(connection, self) }
        for connection in connections[shape.subscribers...] {
            publishers.append((connection, try RelayRoom.publish(connection, self)))
        }
        for connection in connections[..<shape.subscribers] { try RelayRoom.subscribe(connection) }
        for connection in connections[..<shape.subscribers] { try RelayRoom.awaitAnswers(1, connection, self) }
        for (connection, stream) in publishers {
            connection.queue(RelayRoom.configuration(stream: stream))
            try connection.send()
        }
        let wanted = shape.publishers * shape.subscribers
        try wait("configurations") { tally.messages >= wanted }
    }

    // MARK: Measuring

    struct Window {
        var messages = 0
        var serverSeconds = 0.0
        var generatorSeconds = 0.0
        var wallSeconds = 0.0
        /// Messages that should have come.
        var due = 0
        var latency: LatencyHistogram?

        var messagesPerSecond: Double { Double(messages) / serverSeconds }
    }

    /// Loads the server for so long. Every server gets the same messages, with the relay's media header in front.
    func run(_ load: SpeedLoad, seconds: Double) throws -> Window {
        messages = publishers.map { publisher in
            RelayRoom.header(stream: publisher.stream) + [UInt8](repeating: 0x5A, count: load.messageBytes - RelayRoom.headerBytes)
        }
        var window = Window()
        let start = MonotonicClock.now()
        let generator = CPUUsage.ofThread().totalNanoseconds
        let server = try server.processorSeconds()
        let before = tally.messages
        switch load.pattern {
        case .rounds(let outstanding): window.due = try rounds(outstanding, until: start.advanced(byNanoseconds: UInt64(seconds * 1e9)))
        case .paced(let rate): window.due = try paced(rate, seconds: seconds)
        }
        window.messages = tally.messages - before
        window.serverSeconds = try self.server.processorSeconds() - server
        window.generatorSeconds = Double(CPUUsage.ofThread().totalNanoseconds - generator) / 1e9
        window.wallSeconds = Double(MonotonicClock.now().nanoseconds(since: start)) / 1e9
        window.latency = tally.latency
        tally.latency = nil
        return window
    }

    private func rounds(_ outstanding: Int, until end: MonotonicInstant) throws -> Int {
        var due = 0
        let perRound = shape.publishers * shape.subscribers * outstanding
        repeat {
            let target = tally.messages + perRound
            for place in publishers.indices {
                for _ in 0..<outstanding { queue(place, due: 0) }
                try publishers[place].connection.send()
            }
            try wait("a round of messages") { tally.messages >= target }
            due += perRound
        } while MonotonicClock.now() < end
        return due
    }

    /// The publishers' instants lie evenly in a period.
    private func paced(_ rate: Int, seconds: Double) throws -> Int {
        tally.latency = LatencyHistogram()
        let before = tally.messages
        let interval = UInt64(1_000_000_000 / (rate * shape.publishers))
        let count = Int(seconds * Double(rate * shape.publishers))
        let start = MonotonicClock.now().advanced(byMilliseconds: 1)
        var sent = 0
        while sent < count {
            let now = MonotonicClock.now()
            while sent < count {
                let due = start.advanced(byNanoseconds: UInt64(sent) * interval)
                guard due <= now else { break }
                let place = sent % publishers.count
                queue(place, due: due.nanoseconds)
                try publishers[place].connection.send()
                sent += 1
            }
            timer.set(to: start.advanced(byNanoseconds: UInt64(sent) * interval))
            try turn(timeoutMilliseconds: 1_000)
        }
        timer.set(to: nil)
        let due = count * shape.subscribers
        // What is still under way; a server that drops is told apart by what is missing then.
        let patience = MonotonicClock.now().advanced(byMilliseconds: 500)
        while tally.messages - before < due, MonotonicClock.now() < patience { try turn(timeoutMilliseconds: 20) }
        return due
    }

    private func queue(_ place: Int, due: UInt64) {
        sequence &+= 1
        RelayRoom.stamp(&messages[place], sequence: sequence, due: due)
        publishers[place].connection.queue(messages[place])
    }

    // MARK: Turning

    /// Turns until `condition` holds; a server that lets it wait for 20 s has failed.
    func wait(_ purpose: String, until condition: () -> Bool) throws {
        let deadline = MonotonicClock.now().advanced(byMilliseconds: 20_000)
        while !condition() {
            try turn(timeoutMilliseconds: 1_000)
            guard MonotonicClock.now() < deadline else { throw BenchmarkFault("waited in vain for \(purpose) of \(server.kind.rawValue)") }
        }
    }

    private func turn(timeoutMilliseconds: Int32) throws {
        for place in 0..<(try selector.wait(timeoutMilliseconds: timeoutMilliseconds)) {
            let token = selector.event(at: place).token
            if token == Self.timerToken {
                timer.reset()
            } else {
                try connections[Int(token)].receive(&tally)
            }
        }
    }
}
