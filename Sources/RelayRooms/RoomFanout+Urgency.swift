import RelayBase

/// How soon what a WebSocket is due has to go, among those that share a connection: control before media, then by lane, then by the client's own wish.
package struct EgressUrgency: Comparable, Sendable {
    /// 0 control, then the lanes.
    private let rank: UInt8
    /// RFC 9218 §4.1: 0 first to 7 last.
    private let client: UInt8

    /// - Parameter lane: `nil`: control.
    package init(lane: Lane?, client: UInt8) {
        rank = lane.map { UInt8($0.rawValue) + 1 } ?? 0
        self.client = min(client, 7)
    }

    /// The least urgent lane that may go along; audio for control.
    package var lane: Lane { Lane(rawValue: max(Int(rank) - 1, 0)) ?? .data }

    /// Control and audio do not wait for the window.
    package var isUrgent: Bool { rank <= 1 }

    package static func < (left: EgressUrgency, right: EgressUrgency) -> Bool {
        (left.rank, left.client) < (right.rank, right.client)
    }
}

/// Whose turn it is among WebSockets of one urgency: whoever comes after the one that was served last.
package struct EgressTurns: Sendable {
    private var first = 0

    package init() {}

    /// The place at `step` of a round over `count` places.
    package func place(_ step: Int, of count: Int) -> Int {
        precondition(step < count, "a round has as many steps as places")
        return (first % count + step) % count
    }

    package mutating func served(_ place: Int) { first = place + 1 }
}

extension RoomFanout {
    /// How much of a begun message is still to be pulled, bytes: more urgent messages go as soon as that much has gone.
    package func begunByteCount(_ subscriber: Int) -> Int {
        var count = subscribers[subscriber].residue.count
        if let lane = subscribers[subscriber].begunLane {
            count += self[lane][subscribers[subscriber][lane].sequence].byteCount - subscribers[subscriber].begunBytes
        }
        return count
    }
}
