import ClusterProtocol

/// What the gateway has counted, for metrics.
struct ClusterCounters: Sendable {
    var isConnected = false
    /// The node's own; 0: none yet.
    var node = 0
    /// Others that are there.
    var nodes = 0
    var roomsHere = 0
    var roomsElsewhere = 0
    var disconnects: UInt64 = 0
    var messagesIn: UInt64 = 0
    var messagesOut: UInt64 = 0
    var framesIn: UInt64 = 0
    var framesOut: UInt64 = 0
    var mediaBytesIn: UInt64 = 0
    var mediaBytesOut: UInt64 = 0
    var mediaBatchesOut: UInt64 = 0
    /// Rooms whose home was gone, and is this node now.
    var roomsTaken: UInt64 = 0
    /// What clients were told late, after nodes had not heard each other.
    var repairs: UInt64 = 0
    /// Where clients that have to go may come to; `nil`: nobody says.
    var refuge: String?
    private(set) var losses: [String: UInt64] = [:]

    mutating func lost(_ reason: String, _ count: Int = 1) { losses[reason, default: 0] &+= UInt64(count) }
}

typealias ClusterBoard = SnapshotBoard<ClusterCounters>

extension ClusterGateway {
    func snapshot() -> ClusterCounters {
        var snapshot = counters
        snapshot.roomsHere = ownRooms.count
        snapshot.roomsElsewhere = copies.count
        snapshot.refuge = table?.refuge()?.address
        return snapshot
    }
}
