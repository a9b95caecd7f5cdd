import FoundationEssentials

/// What a relay's single acts cost, measured: the figures that everything else here is computed from. Benchmarks/RelayBenchmark writes them.
///
/// Processor time is of the relay's process, user and system, kernel's network included: on the loopback that has the receiver's side of TCP in it, too.
package struct CostFigures: Codable, Sendable, Equatable {
    /// What they were measured on, and when.
    package var machine: String
    package var date: String
    /// A send to one receiver, whatever is in it: sealing a record, the system call, its share of the loop's turn.
    package var nanosecondsPerSend: Double
    /// Each frame in it.
    package var nanosecondsPerFrameOut: Double
    /// Each byte that goes in or out.
    package var nanosecondsPerByte: Double
    /// A receive from one publisher: waking up, the system call, opening a record.
    package var nanosecondsPerReceive: Double
    /// Each frame in it.
    package var nanosecondsPerFrameIn: Double
    /// A frame that is handed to one other loop, with what that costs there, wake-ups included.
    package var nanosecondsPerFrameToLoop: Double
    /// One second of a connection that does nothing: pings, timers, housekeeping.
    package var nanosecondsPerIdleConnectionSecond: Double
    /// TLS handshake with certificates on both sides, WebSocket, hello and join.
    package var nanosecondsPerArrival: Double
    /// Resident memory of a session that is in a room.
    package var bytesPerSession: Double
    /// How long frames are held at most on a busy loop, `flushHoldMicroseconds`; 0 where only those of one turn go together.
    package var holdMicroseconds: Double
    /// Measured CPU over predicted CPU of a paced room, for each that was tried: how far the figures are to be trusted.
    package var checks: [Check]

    package struct Check: Codable, Sendable, Equatable {
        package var name: String
        package var measuredShare: Double
        package var predictedShare: Double

        package init(name: String, measuredShare: Double, predictedShare: Double) {
            self.name = name
            self.measuredShare = measuredShare
            self.predictedShare = predictedShare
        }
    }

    package init(machine: String, date: String) {
        self.machine = machine
        self.date = date
        nanosecondsPerSend = 0
        nanosecondsPerFrameOut = 0
        nanosecondsPerByte = 0
        nanosecondsPerReceive = 0
        nanosecondsPerFrameIn = 0
        nanosecondsPerFrameToLoop = 0
        nanosecondsPerIdleConnectionSecond = 0
        nanosecondsPerArrival = 0
        bytesPerSession = 0
        holdMicroseconds = 0
        checks = []
    }

    /// - Throws: what is wrong with the file.
    package init(json: [UInt8]) throws {
        let figures = try JSONDecoder().decode(CostFigures.self, from: Data(json))
        let costs = [
            figures.nanosecondsPerSend, figures.nanosecondsPerFrameOut, figures.nanosecondsPerByte, figures.nanosecondsPerReceive,
            figures.nanosecondsPerFrameIn, figures.nanosecondsPerFrameToLoop, figures.nanosecondsPerIdleConnectionSecond,
            figures.nanosecondsPerArrival, figures.bytesPerSession, figures.holdMicroseconds,
        ]
        guard costs.allSatisfy({ (0...1e9).contains($0) }), figures.nanosecondsPerSend >= 1, figures.nanosecondsPerReceive >= 1 else {
            throw DecodingError.dataCorrupted(DecodingError.Context(codingPath: [], debugDescription: "costs that cannot be"))
        }
        self = figures
    }

    package func json() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return [UInt8](try encoder.encode(self)) + [0x0A]
    }
}
