/// One client of a scenario, as this process plays it.
package struct ClientSeat: Sendable, Equatable {
    /// Of all clients of the scenario, from 0.
    package var index: Int
    package var group: Int
    /// Within its group, from 0.
    package var member: Int
    /// From 0.
    package var room: Int
    /// Which of this process's loops it is on.
    package var loop: Int
}

/// Which clients a process plays, and when they begin.
package struct LoadShare: Sendable, Equatable {
    /// From 1.
    package let part: Int
    package let parts: Int
    package let loops: Int

    package init(part: Int = 1, parts: Int = 1, loops: Int = 1) {
        precondition(parts >= 1 && (1...parts).contains(part) && loops >= 1, "a part of those that there are")
        self.part = part
        self.parts = parts
        self.loops = loops
    }

    /// Those of this process, in the order in which they begin. Who shares a small room shares a process and a loop as well.
    package func seats(_ scenario: LoadScenario) -> [ClientSeat] {
        var seats: [ClientSeat] = []
        var index = 0
        for (place, group) in scenario.groups.enumerated() {
            for member in 0..<group.count {
                let room = scenario.clientsPerRoom.map { index / $0 } ?? 0
                let place = (index: index, group: place, spread: scenario.clientsPerRoom == nil ? index : room)
                if place.spread % parts == part - 1 {
                    seats.append(
                        ClientSeat(index: index, group: place.group, member: member, room: room, loop: place.spread / parts % loops))
                }
                index += 1
            }
        }
        return seats
    }

    /// When the seat begins, in nanoseconds since the beginning: all parts together keep the scenario's pace.
    package static func beginning(of seat: ClientSeat, _ scenario: LoadScenario) -> UInt64 {
        UInt64(Double(seat.index) / scenario.rampPerSecond * 1e9)
    }
}
