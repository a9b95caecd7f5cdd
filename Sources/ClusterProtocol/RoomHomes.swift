package import RelayRooms

/// What the cluster's registry says of a room: whose it is.
package struct RoomHome: Sendable, Hashable, Codable {
    package var node: Int
    /// Counts how often the room has moved.
    package var epoch: UInt64

    package init(node: Int, epoch: UInt64) {
        self.node = node
        self.epoch = epoch
    }
}

/// Which node is home to which room, as this node knows it, and what waits for that to be known.
///
/// Pure. There is one registry in the cluster, in which an entry is made only where there is none, and changed only by whoever has seen it as it is (a revision):
/// so a room has one home. Nodes that cannot reach it go on with the rooms that they are home to, and begin rooms of their own; both are put right when it is
/// there again (``recheck()``).
package struct RoomHomes<Pending: Sendable>: Sendable {
    /// What is to be done next for a room.
    package enum Step: Sendable {
        case wait
        /// Make an entry where there is none: answer by ``created(_:revision:)``, ``exists(_:)`` or ``unreachable(_:)``.
        case create(RoomName, RoomHome)
        /// Look it up: answer by ``found(_:_:revision:isAlive:)``, ``absent(_:)`` or ``unreachable(_:)``.
        case look(RoomName)
        /// Change the entry of that revision: answer by ``taken(_:revision:)``, ``exists(_:)`` or ``unreachable(_:)``.
        case take(RoomName, RoomHome, revision: UInt64)
        /// This node is home. `moved`: another was, and what is known of the room is to be restored first.
        case here(RoomName, [Pending], moved: Bool)
        case there(RoomName, [Pending], node: Int)
        /// This node was home, and is not any more; these are for the new one.
        case lost(RoomName, [Pending], node: Int)
        case refuse([Pending])
        case erase(RoomName, revision: UInt64)
    }

    private enum Home: Sendable {
        case unknown
        /// `nil`: the registry does not know yet.
        case here(revision: UInt64?)
        case there(node: Int)
    }

    private struct Entry: Sendable {
        var home = Home.unknown
        var epoch: UInt64 = 0
        var pending: [Pending] = []
        var isAsking = false
        /// Joins that were passed on to this node's own loop.
        var joins = 0
        /// The room is to be taken if its home is gone.
        var wantsHome = false
    }

    package static var pendingMax: Int { 256 }

    private let own: Int
    private var entries: [RoomName: Entry] = [:]

    package init(own: Int) { self.own = own }

    package var count: Int { entries.count }

    /// Nothing is being asked.
    package var isSettled: Bool { entries.values.allSatisfy { !$0.isAsking } }

    package func isHere(_ name: RoomName) -> Bool {
        if case .here = entries[name]?.home { true } else { false }
    }

    package func node(of name: RoomName) -> Int? {
        switch entries[name]?.home {
        case .here: own
        case .there(let node): node
        case .unknown, nil: nil
        }
    }

    package func revision(of name: RoomName) -> (UInt64, RoomHome)? {
        guard let entry = entries[name], case .here(let revision?) = entry.home else { return nil }
        return (revision, RoomHome(node: own, epoch: entry.epoch))
    }

    // MARK: What is asked

    /// Somebody wants to join.
    package mutating func place(_ name: RoomName, _ pending: Pending, isAlive: (Int) -> Bool) -> Step {
        var entry = entries[name] ?? Entry()
        defer { entries[name] = entry }
        if !entry.isAsking {
            switch entry.home {
            case .here:
                entry.joins += 1
                return .here(name, [pending], moved: false)
            case .there(let node) where isAlive(node): return .there(name, [pending], node: node)
            case .there, .unknown: break
            }
        }
        guard entry.pending.count < RoomHomes.pendingMax else { return .refuse([pending]) }
        entry.pending.append(pending)
        guard !entry.isAsking else { return .wait }
        entry.isAsking = true
        if case .there = entry.home { return .look(name) }
        return .create(name, RoomHome(node: own, epoch: 1))
    }

    /// The home of a room with members here is gone.
    package mutating func homeIsGone(_ name: RoomName) -> Step {
        var entry = entries[name] ?? Entry()
        defer { entries[name] = entry }
        entry.wantsHome = true
        guard !entry.isAsking else { return .wait }
        entry.isAsking = true
        return .look(name)
    }

    /// After this node was cut off, or the registry was: everything may be otherwise.
    package mutating func recheck() -> [Step] {
        var steps: [Step] = []
        for (name, entry) in entries where !entry.isAsking {
            entries[name]?.isAsking = true
            steps.append(.look(name))
        }
        return steps
    }

    /// What was asked of a registry that has gone since will not be answered.
    package mutating func disconnected() -> [Step] {
        entries.filter(\.value.isAsking).keys.map { unreachable($0) }
    }

    /// Another node says that it is home.
    package mutating func heard(_ name: RoomName, at node: Int) {
        guard node != own, !isHere(name) else { return }
        entries[name, default: Entry()].home = .there(node: node)
    }

    /// This node has given a room to another.
    package mutating func gave(_ name: RoomName, to node: Int) {
        entries[name]?.home = .there(node: node)
    }

    /// Another node has given a room to this one.
    package mutating func given(_ name: RoomName, revision: UInt64, epoch: UInt64) {
        var entry = entries[name] ?? Entry()
        entry.home = .here(revision: revision)
        entry.epoch = epoch
        entries[name] = entry
    }

    /// Nobody here is in a room of another node.
    package mutating func forget(_ name: RoomName) {
        guard let entry = entries[name], !entry.isAsking, case .there = entry.home else { return }
        entries[name] = nil
    }

    /// Nobody is left in a room that this node is home to.
    ///
    /// - Parameter joins: how many the loop has seen: as long as others are on their way to it, it keeps the room.
    package mutating func emptied(_ name: RoomName, joins: Int) -> Step {
        guard let entry = entries[name], !entry.isAsking, case .here(let revision) = entry.home, entry.joins == joins else { return .wait }
        entries[name] = nil
        return revision.map { .erase(name, revision: $0) } ?? .wait
    }

    // MARK: What is answered

    package mutating func created(_ name: RoomName, revision: UInt64) -> Step {
        settle(name) { entry in
            let moved = if case .there = entry.home { true } else { false }
            entry.home = .here(revision: revision)
            entry.epoch = max(entry.epoch, 1)
            return .here(name, entry.pending, moved: moved)
        }
    }

    package mutating func taken(_ name: RoomName, epoch: UInt64, revision: UInt64) -> Step {
        settle(name) { entry in
            entry.home = .here(revision: revision)
            entry.epoch = epoch
            return .here(name, entry.pending, moved: true)
        }
    }

    /// Somebody was faster.
    package mutating func exists(_ name: RoomName) -> Step {
        guard entries[name]?.isAsking == true else { return .wait }
        return .look(name)
    }

    package mutating func absent(_ name: RoomName) -> Step {
        guard let entry = entries[name], entry.isAsking else { return .wait }
        return .create(name, RoomHome(node: own, epoch: max(entry.epoch, 1)))
    }

    package mutating func found(_ name: RoomName, _ home: RoomHome, revision: UInt64, isAlive: (Int) -> Bool) -> Step {
        guard let entry = entries[name], entry.isAsking else { return .wait }
        if home.node == own {
            return settle(name) { entry in
                let wasHere = if case .here = entry.home { true } else { false }
                entry.home = .here(revision: revision)
                entry.epoch = home.epoch
                return .here(name, entry.pending, moved: !wasHere)
            }
        }
        if !isAlive(home.node), entry.wantsHome || !entry.pending.isEmpty || isHere(name) {
            return .take(name, RoomHome(node: own, epoch: home.epoch &+ 1), revision: revision)
        }
        return settle(name) { entry in
            let wasHere = if case .here = entry.home { true } else { false }
            entry.home = .there(node: home.node)
            entry.epoch = home.epoch
            return wasHere ? .lost(name, entry.pending, node: home.node) : .there(name, entry.pending, node: home.node)
        }
    }

    /// The registry cannot be asked. A room that nobody else can be known to have begins here; one that another has waits for that.
    package mutating func unreachable(_ name: RoomName) -> Step {
        guard entries[name]?.isAsking == true else { return .wait }
        return settle(name) { entry in
            switch entry.home {
            case .here: return .here(name, entry.pending, moved: false)
            case .there: return .refuse(entry.pending)
            case .unknown where entry.pending.isEmpty: return .wait
            case .unknown:
                entry.home = .here(revision: nil)
                entry.epoch = 0
                return .here(name, entry.pending, moved: false)
            }
        }
    }

    private mutating func settle(_ name: RoomName, _ change: (inout Entry) -> Step) -> Step {
        guard var entry = entries[name] else { return .wait }
        let step = change(&entry)
        if case .here = entry.home { entry.joins += entry.pending.count }
        entry.pending = []
        entry.isAsking = false
        entry.wantsHome = false
        if case .unknown = entry.home { entries[name] = nil } else { entries[name] = entry }
        return step
    }
}
