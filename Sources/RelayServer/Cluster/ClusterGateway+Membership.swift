import ClusterProtocol
import NATSTransport
import Reactor
import RelayBase
import RelayRooms
import Synchronization

/// Where the node stands with the others.
struct GatewayMembership {
    enum Standing {
        /// No number yet; trying the one that is named.
        case numberless(trying: Int?)
        case numbered
        /// Another process has the number: this one was away too long.
        case superseded
    }

    var isConnected = false
    var standing = Standing.numberless(trying: nil)
    /// Of the node's own entry in the registry.
    var revision: UInt64 = 0
    var isSaying = false
    var saysNext: MonotonicInstant?
    /// What this node says of itself was taken down then, if it is.
    var sentAt = MonotonicInstant.zero
    var isDraining = false
    var heldLease = true
    /// The node is heard again, and asks what has become of its rooms.
    var regainsLease = false
    var hasRechecked = false
    /// Nodes that were held for gone; numbers are used again, so the set is bounded by them.
    var gone: Set<Int> = []
    var deadline: MonotonicInstant?
    /// When rooms are looked at once more after the node was cut off.
    var rechecks: [MonotonicInstant] = []

    var nextDue: MonotonicInstant? {
        switch (saysNext, deadline) {
        case (let one?, let other?): min(one, other)
        case (let one, let other): one ?? other
        }
    }
}

extension ClusterGateway {
    private var heartbeatMilliseconds: UInt64 { settings.leaseMilliseconds / ClusterGateway.heartbeatsPerLease }

    // MARK: Connection

    func connected(_ server: String) {
        membership.isConnected = true
        counters.isConnected = true
        shared.readiness.set(clusterIsDegraded: false)
        shared.log.info("cluster_connected", [("server", server)])
        if table == nil {
            claimNumber()
        } else {
            table?.connected(now: now)
            membership.isSaying = false
            membership.saysNext = now
        }
    }

    func disconnected(_ reason: String) {
        membership.isConnected = false
        counters.isConnected = false
        counters.disconnects &+= 1
        shared.readiness.set(clusterIsDegraded: true)
        shared.log.warning("cluster_disconnected", [("reason", reason), ("consequence", "rooms go on by themselves on each node")])
        table?.disconnected()
        asked.removeAll()
        failClaims()
        for step in homes.disconnected() { perform(step) }
    }

    /// All nodes are known as they were when the watch began; what was missed is asked for.
    func watched() {
        guard table != nil else { return }
        shared.log.info("cluster_in_view", [("rooms", "\(homes.count)")])
        postToEveryLoop(.cluster(.reconnected))
        // Others come back a little earlier or later: what they do not hear the first time they do later.
        membership.hasRechecked = false
        membership.rechecks = [0, 1, 3].map { now.advanced(byMilliseconds: $0 * settings.leaseMilliseconds) }
    }

    // MARK: Numbers

    private func claimNumber() {
        let number = Int.random(in: 1...NodeTable.nodeMax)
        membership.standing = .numberless(trying: number)
        membership.sentAt = now
        guard let value = coder.encode(state(number)) else { return }
        ask(.claim(number)) { [nats, subjects] in nats.create(subjects.nodes, key: subjects.key(of: number), value: value, request: $0) }
    }

    private func state(_ number: Int) -> NodeState {
        NodeState(
            number: number, name: shared.node, incarnation: incarnation, isDraining: membership.isDraining, address: settings.address,
            sessions: shared.webSockets.load(ordering: .relaxed))
    }

    func claimed(_ number: Int, _ result: Result<UInt64, KeyValueFault>) {
        switch result {
        case .success(let revision):
            membership.revision = revision
            membership.standing = .numbered
            var table = NodeTable(own: number, leaseMilliseconds: settings.leaseMilliseconds)
            table.connected(now: now)
            table.said(now: membership.sentAt)
            self.table = table
            homes = RoomHomes(own: number)
            coder.number(number)
            subjects.prepare(own: number)
            nats.subscribe(subjects.control(of: number))
            nats.subscribe(subjects.media(of: number))
            nats.subscribe(subjects.probes(by: number))
            postToEveryLoop(.cluster(.numbered(node: number, start: start)))
            shared.readiness.set(clusterNumber: number)
            counters.node = number
            shared.log.info("cluster_joined", [("cluster", settings.name), ("number", "\(number)")])
            membership.saysNext = now.advanced(byMilliseconds: heartbeatMilliseconds)
            for state in earlyStates { hear(state) }
            earlyStates = []
            let waiting = early
            early = []
            for request in waiting { place(request) }
        case .failure(.exists), .failure(.conflict): claimNumber()
        case .failure: membership.saysNext = now.advanced(byMilliseconds: heartbeatMilliseconds)
        }
    }

    // MARK: Heartbeats

    /// What is due by the clock.
    func keepMembership() {
        if let due = membership.saysNext, now >= due, membership.isConnected { say() }
        if let due = membership.rechecks.first, now >= due, membership.isConnected {
            membership.rechecks.removeFirst()
            membership.hasRechecked = true
            for step in homes.recheck() { perform(step) }
        }
        guard var table else { return }
        for node in table.silent(now: now) { probe(node) }
        let gone = table.expire(now: now)
        self.table = table
        if !gone.isEmpty { lose(gone) }
        followLease(holds: table.holdsLease(now: now))
        membership.deadline = now.advanced(byMilliseconds: heartbeatMilliseconds)
    }

    /// Loops hear at once that the lease is over. That it is held again they hear when the registry has said of each room whether it is still this node's: until
    /// then another may have become home to it.
    private func followLease(holds: Bool) {
        if !holds {
            membership.regainsLease = false
            guard membership.heldLease else { return }
            membership.heldLease = false
            postToEveryLoop(.cluster(.lease(isHeld: false)))
        } else if !membership.heldLease {
            if !membership.regainsLease {
                membership.regainsLease = true
                // A connection that stood still, and did not break: others may have taken this node for gone all the same.
                table?.connected(now: now)
                watched()
            } else if membership.hasRechecked, homes.isSettled {
                membership.regainsLease = false
                membership.heldLease = true
                postToEveryLoop(.cluster(.lease(isHeld: true)))
            }
        }
    }

    private func say() {
        membership.saysNext = now.advanced(byMilliseconds: heartbeatMilliseconds)
        guard let table else {
            claimNumber()
            return
        }
        guard !membership.isSaying, case .numbered = membership.standing, let value = coder.encode(state(table.own)) else { return }
        membership.isSaying = true
        membership.sentAt = now
        let revision = membership.revision
        ask(.say) { [nats, subjects] in
            nats.update(subjects.nodes, key: subjects.key(of: table.own), value: value, revision: revision, request: $0)
        }
    }

    func said(_ result: Result<UInt64, KeyValueFault>) {
        membership.isSaying = false
        switch result {
        case .success(let revision):
            membership.revision = revision
            table?.said(now: membership.sentAt)
        case .failure(.conflict), .failure(.exists), .failure(.missing): lookForOwnEntry()
        case .failure: break
        }
    }

    /// The node's own entry is not as it left it: a registry that has lost it, an answer that got lost, or another process.
    private func lookForOwnEntry() {
        guard let table else { return }
        ask(.own) { [nats, subjects] in nats.get(subjects.nodes, key: subjects.key(of: table.own), request: $0) }
    }

    func foundOwnEntry(_ result: Result<KeyValueAnswer, KeyValueFault>) {
        guard let table else { return }
        switch result {
        case .success(let answer):
            guard let value = answer.value, let state = coder.decode(NodeState.self, value), state.incarnation != incarnation else {
                membership.revision = answer.revision
                return
            }
            membership.standing = .superseded
            shared.log.error("cluster_number_lost", [("number", "\(table.own)"), ("consequence", "this node is alone until it is started anew")])
        case .failure(.missing):
            guard let value = coder.encode(state(table.own)) else { return }
            membership.sentAt = now
            ask(.say) { [nats, subjects] in nats.create(subjects.nodes, key: subjects.key(of: table.own), value: value, request: $0) }
        case .failure: break
        }
    }

    /// The registry of nodes has changed.
    func changed(_ change: KeyValueChange) {
        guard change.bucket == subjects.nodes.name, let number = subjects.number(ofKey: change.key) else { return }
        guard let value = change.value, let state = coder.decode(NodeState.self, value) else {
            if table?.left(number) == true { lose([number]) }
            return
        }
        guard state.number == number else { return counters.lost("malformed") }
        if table == nil { earlyStates.append(state) } else { hear(state) }
    }

    private func hear(_ state: NodeState) {
        guard let (isNew, replaces) = table?.heard(state, now: now) else { return }
        if replaces { lose([state.number]) }
        counters.nodes = table?.states.count ?? 0
        guard isNew else { return }
        shared.log.info("cluster_node", [("number", "\(state.number)"), ("name", state.name)])
        if membership.gone.remove(state.number) != nil { welcomeBack(state.number) }
    }

    /// A node that was held for gone is there. What either side had of the other is asked for anew, and who is in the rooms of this one.
    private func welcomeBack(_ node: Int) {
        guard let table else { return }
        postToEveryLoop(.cluster(.renewImports(node: node)))
        send(.cluster(.renewImports(node: table.own)), to: LoopPlace.of(LoopPlace.every, on: node))
        membership.rechecks.insert(now, at: 0)
    }

    /// Nodes are gone: rooms whose home they were get another, and of other rooms their members are waited for.
    private func lose(_ nodes: [Int]) {
        counters.nodes = table?.states.count ?? 0
        membership.gone.formUnion(nodes)
        for node in nodes { shared.log.warning("cluster_node_gone", [("number", "\(node)")]) }
        postToEveryLoop(.cluster(.nodesGone(nodes)))
        for (_, copy) in copies where nodes.contains(LoopPlace.node(of: copy.home)) { perform(homes.homeIsGone(copy.room.name)) }
    }

    /// A process that is gone listens to nothing: the server knows that at once, and its lease need not run out.
    func probe(_ node: Int) {
        guard let table, let bytes = coder.encode(NodeEnvelope(loop: LoopPlace.gateway, message: .cluster(.probe))) else { return }
        nats.probe(subjects.control(of: node), bytes, reply: subjects.probe(of: node, by: table.own))
    }

    func nobody(_ reply: String) {
        // After NATS was away others come back a moment later than this node: for a lease that says nothing.
        guard let node = subjects.node(ofProbe: reply), table?.mayJudge(now: now) == true, table?.left(node) == true else { return }
        lose([node])
        hurryClaims(of: node)
    }

    // MARK: Leaving

    func beginDraining(_ isDraining: Bool) {
        membership.isDraining = isDraining
        membership.saysNext = now
        if isDraining { postToEveryLoop(.cluster(.giveRooms)) }
    }

    /// The last that is said: others need not wait for the lease to run out.
    func leave() {
        guard let table, membership.isConnected else { return }
        nats.delete(subjects.nodes, key: subjects.key(of: table.own), revision: nil, request: 0)
    }

    // MARK: The registry

    func ask(_ question: RegistryQuestion, _ request: (UInt64) -> Void) {
        let number = nextQuestion
        nextQuestion &+= 1
        asked[number] = question
        request(number)
    }

    func answered(_ request: UInt64, _ result: Result<KeyValueAnswer, KeyValueFault>) {
        guard let question = asked.removeValue(forKey: request) else { return }
        switch question {
        case .claim(let number): claimed(number, result.map(\.revision))
        case .say: said(result.map(\.revision))
        case .own: foundOwnEntry(result)
        case .create(let name): created(name, result)
        case .look(let name): found(name, result)
        case .take(let name, let epoch): taken(name, epoch: epoch, result)
        case .erase, .ticket: break
        case .claimed(let digest): foundTicket(digest, result)
        case .taken(let digest): tookTicket(digest, result)
        case .give(let name, let node, let epoch): given(name, to: node, epoch: epoch, result)
        }
    }
}

/// What the registry was asked, so that its answer finds its way.
enum RegistryQuestion {
    case claim(Int)
    case say
    case own
    case create(RoomName)
    case look(RoomName)
    case take(RoomName, epoch: UInt64)
    case erase
    case ticket
    case claimed(String)
    case taken(String)
    case give(RoomName, to: Int, epoch: UInt64)
}
