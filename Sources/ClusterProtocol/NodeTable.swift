package import RelayBase

/// What a node says of itself, a few times a lease.
package struct NodeState: Sendable, Hashable, Codable {
    /// 1 to ``NodeTable/nodeMax``.
    package var number: Int
    /// The operator's name for it.
    package var name: String
    /// Tells the processes apart that have had this number.
    package var incarnation: UInt64
    package var isDraining: Bool
    /// Clients may be sent to it: `host:port`; `nil`: they find their own way, as behind a balancer.
    package var address: String?
    /// Sessions that it holds, for whoever chooses where others should go.
    package var sessions: Int

    package init(number: Int, name: String, incarnation: UInt64, isDraining: Bool = false, address: String? = nil, sessions: Int = 0) {
        self.number = number
        self.name = name
        self.incarnation = incarnation
        self.isDraining = isDraining
        self.address = address
        self.sessions = sessions
    }
}

/// Which nodes there are, by what they say and how long ago.
///
/// Pure. A node is gone when it has said nothing for a lease while this node could hear, itself too, and was heard: as long as this node is cut off itself, and for a lease
/// after that, it holds nobody for gone.
package struct NodeTable: Sendable {
    package static let nodeMax = 1_023

    private struct Entry {
        var state: NodeState
        var heard: MonotonicInstant
    }

    package let own: Int
    package let leaseMilliseconds: UInt64
    private var entries: [Int: Entry] = [:]
    /// Since when this node hears the others; `nil`: it does not.
    private var connectedSince: MonotonicInstant?
    /// When this node last made itself heard,
    private var saidAt: MonotonicInstant?
    /// and when it last heard itself: by the way that it hears the others, which may have fallen silent by itself.
    private var ownHeardAt: MonotonicInstant?

    package init(own: Int, leaseMilliseconds: UInt64) {
        self.own = own
        self.leaseMilliseconds = leaseMilliseconds
    }

    package var states: [NodeState] { entries.values.map(\.state).sorted { $0.number < $1.number } }

    package func isAlive(_ node: Int) -> Bool { node == own || entries[node] != nil }

    package func state(of node: Int) -> NodeState? { entries[node]?.state }

    /// Whether others still take this node for alive, as far as it can know: it was heard within the lease.
    package func holdsLease(now: MonotonicInstant) -> Bool {
        guard let saidAt else { return false }
        return now.milliseconds(since: saidAt) < leaseMilliseconds
    }

    package mutating func connected(now: MonotonicInstant) { connectedSince = now }

    package mutating func disconnected() { connectedSince = nil }

    /// What this node says of itself was taken down.
    package mutating func said(now: MonotonicInstant) { saidAt = now }

    /// - Returns: whether the node is new here, or another process than the one that had its number.
    package mutating func heard(_ state: NodeState, now: MonotonicInstant) -> (isNew: Bool, replaces: Bool) {
        if state.number == own { ownHeardAt = now }
        guard state.number != own, (1...NodeTable.nodeMax).contains(state.number) else { return (false, false) }
        let before = entries[state.number]
        entries[state.number] = Entry(state: state, heard: now)
        return (before == nil, before.map { $0.state.incarnation != state.incarnation } ?? false)
    }

    /// A node has said that it ends.
    package mutating func left(_ node: Int) -> Bool { entries.removeValue(forKey: node) != nil }

    /// Whether what this node hears, and does not hear, says anything: it has heard for a lease, and is heard itself.
    package func mayJudge(now: MonotonicInstant) -> Bool {
        guard let connectedSince, let ownHeardAt, holdsLease(now: now) else { return false }
        return now.milliseconds(since: connectedSince) >= leaseMilliseconds && now.milliseconds(since: ownHeardAt) < leaseMilliseconds * 3 / 4
    }

    /// Nodes that should have been heard by now: for half a lease they were not.
    package func silent(now: MonotonicInstant) -> [Int] {
        guard mayJudge(now: now) else { return [] }
        return entries.filter { now.milliseconds(since: $0.value.heard) >= leaseMilliseconds / 2 }.keys.sorted()
    }

    /// Takes out who has not been heard for a lease.
    package mutating func expire(now: MonotonicInstant) -> [Int] {
        guard mayJudge(now: now) else { return [] }
        let gone = entries.filter { now.milliseconds(since: $0.value.heard) >= leaseMilliseconds }.keys.sorted()
        for node in gone { entries[node] = nil }
        return gone
    }

    /// Where a client of this node that goes away should go: to the one that holds least, among those that stay and say where they are.
    package func refuge() -> NodeState? {
        entries.values.map(\.state).filter { !$0.isDraining && $0.address != nil }.min { ($0.sessions, $0.number) < ($1.sessions, $1.number) }
    }

    /// Of some nodes, the one that is to take rooms over from this node.
    package func heir(among nodes: [Int]) -> Int? {
        nodes.compactMap { entries[$0]?.state }.filter { !$0.isDraining }.min { ($0.sessions, $0.number) < ($1.sessions, $1.number) }?.number
    }
}
