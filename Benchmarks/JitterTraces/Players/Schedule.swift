/// Players that set when a packet is played by its timestamp alone: sample `t` at `t + D`. A packet that is not there by then is concealed.
///
/// `D` is a multiple of 10 ms and the phase of the pulls against the sender's clock, as sound is pulled each 10 ms.
enum Schedule {
    static let grid: Int64 = 10_000_000

    /// The first pull after the first packet.
    static func firstPull(_ arrivals: [TracePacket], phase: Int64) -> Int64 {
        ((arrivals.first?.received ?? 0) - phase + grid - 1) / grid * grid + phase
    }

    /// What a trace is to a schedule.
    struct Input {
        let packets: [TracePacket]
        let media: [Int64]
        /// For each packet the smallest `D`, in steps of the grid, that has it played; `nil`: lost, or sent twice.
        let needed: [Int?]
        let packetMilliseconds: Double

        /// Of the pulls, nanoseconds.
        let phase: Int64

        init(_ trace: ArrivalTrace, phase: Int64 = 0) {
            self.phase = phase
            packets = trace.packets
            media = trace.mediaTimes()
            needed = zip(packets, media).map { packet, time in
                packet.received.map { received in
                    let difference = received - time - phase
                    return Int(difference >= 0 ? (difference + grid - 1) / grid : difference / grid)
                }
            }
            packetMilliseconds = Double(trace.packetNanoseconds) / 1e6
        }

        /// Milliseconds in the buffer of the packet at `place` at `delay`; `nil` when it is concealed.
        func delay(_ place: Int, at delay: Int) -> Double? {
            guard let needed = needed[place], needed <= delay, let received = packets[place].received else { return nil }
            return Double(media[place] + phase + Int64(delay) * grid - received) / 1e6
        }
    }

    static func play(_ input: Input, player: String, delayOf: (_ place: Int) -> Int) -> Playout {
        var playout = Playout(player: player, pointMilliseconds: input.packetMilliseconds)
        var dropped = 0
        for place in input.packets.indices {
            let offset = delayOf(place)
            let delay = input.delay(place, at: offset)
            if delay == nil, input.packets[place].received != nil { dropped += 1 }
            playout.points.append(
                .init(time: input.media[place] + input.phase + Int64(offset) * grid, delayMilliseconds: delay, concealed: delay == nil ? 1 : 0))
        }
        playout.droppedRatio = input.packets.isEmpty ? 0 : Double(dropped) / Double(input.packets.count)
        playout.finish()
        return playout
    }

    // MARK: One delay for all

    /// The smallest single `D` with at most `concealedRatio` concealed, chosen with hindsight; where losses alone are more, the smallest with which all is played that came.
    static func fixed(_ trace: ArrivalTrace, concealedRatio: Double, phase: Int64 = 0) -> Playout {
        let input = Input(trace, phase: phase)
        let needed = input.needed.compactMap { $0 }.sorted()
        let mayLose = Self.budget(concealedRatio, input) - (input.packets.count - needed.count)
        let delay = needed.isEmpty ? 0 : needed[max(0, needed.count - 1 - max(0, mayLose))]
        return play(input, player: "fixed") { _ in delay }
    }

    /// Packets that may be concealed: never fewer than were lost.
    static func budget(_ concealedRatio: Double, _ input: Input) -> Int {
        let lost = input.needed.count { $0 == nil }
        return max(lost, Int((concealedRatio * Double(input.packets.count) + 1e-9).rounded(.down)))
    }
}
