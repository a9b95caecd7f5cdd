import ClusterProtocol
import RelayBase
import RelayRooms
import Testing

/// Nodes that ask one registry, whose answers may be lost, and of which some are gone.
private struct World {
    struct Question {
        let node: Int
        let step: RoomHomes<Int>.Step
    }

    var registry: [RoomName: (home: RoomHome, revision: UInt64)] = [:]
    var revision: UInt64 = 0
    var nodes: [Int: RoomHomes<Int>] = [:]
    var alive: Set<Int> = []
    var connected: Set<Int> = []
    var questions: [Question] = []
    /// What was asked for and not answered yet, and the answers: the node that a request went to, or `nil` for a refusal.
    var waiting: Set<Int> = []
    var answers: [Int: Int?] = [:]
    var nextRequest = 0

    init(nodes count: Int) {
        for node in 1...count {
            nodes[node] = RoomHomes(own: node)
            alive.insert(node)
            connected.insert(node)
        }
    }

    mutating func place(_ name: RoomName, on node: Int) {
        nextRequest += 1
        waiting.insert(nextRequest)
        let alive = alive
        if let step = nodes[node]?.place(name, nextRequest, isAlive: { alive.contains($0) }) { take(step, of: node) }
    }

    mutating func take(_ step: RoomHomes<Int>.Step, of node: Int) {
        switch step {
        case .wait: return
        case .create, .look, .take, .erase: questions.append(Question(node: node, step: step))
        case .here(_, let requests, _): settle(requests, at: node)
        case .there(_, let requests, let other), .lost(_, let requests, let other): settle(requests, at: other)
        case .refuse(let requests): settle(requests, at: nil)
        }
    }

    private mutating func settle(_ requests: [Int], at node: Int?) {
        for request in requests {
            #expect(waiting.remove(request) != nil, "a request is answered once")
            answers[request] = .some(node)
        }
    }

    /// The registry answers a question, or is not reached.
    mutating func answer(_ place: Int, isLost: Bool = false) {
        let question = questions.remove(at: place)
        guard alive.contains(question.node) else { return }
        let isReached = connected.contains(question.node) && !isLost
        var step: RoomHomes<Int>.Step?
        let alive = alive
        switch question.step {
        case .create(let name, let home):
            if connected.contains(question.node), registry[name] == nil {
                revision += 1
                registry[name] = (home, revision)
                step = isReached ? nodes[question.node]?.created(name, revision: revision) : nodes[question.node]?.unreachable(name)
            } else {
                step = isReached ? nodes[question.node]?.exists(name) : nodes[question.node]?.unreachable(name)
            }
        case .look(let name):
            guard isReached else {
                step = nodes[question.node]?.unreachable(name)
                break
            }
            if let entry = registry[name] {
                step = nodes[question.node]?.found(name, entry.home, revision: entry.revision) { alive.contains($0) }
            } else {
                step = nodes[question.node]?.absent(name)
            }
        case .take(let name, let home, let expected):
            if connected.contains(question.node), registry[name]?.revision == expected {
                revision += 1
                registry[name] = (home, revision)
                step =
                    isReached ? nodes[question.node]?.taken(name, epoch: home.epoch, revision: revision) : nodes[question.node]?.unreachable(name)
            } else {
                step = isReached ? nodes[question.node]?.exists(name) : nodes[question.node]?.unreachable(name)
            }
        case .erase(let name, let expected):
            if isReached, registry[name]?.revision == expected { registry[name] = nil }
        case .wait, .here, .there, .lost, .refuse: break
        }
        if let step { take(step, of: question.node) }
    }

    mutating func settleAll() {
        var rounds = 0
        while !questions.isEmpty, rounds < 10_000 {
            answer(0)
            rounds += 1
        }
        #expect(questions.isEmpty, "the nodes come to rest")
    }

    mutating func recheck(_ node: Int) {
        for step in nodes[node]?.recheck() ?? [] { take(step, of: node) }
    }
}

@Suite("Which node is home to which room")
struct RoomHomesTests {
    private static func name(_ text: String) throws -> RoomName { try #require(RoomName(text, bytesMax: 64)) }

    @Test("the first that asks is home; whoever asks next goes there")
    func first() throws {
        var world = World(nodes: 3)
        let room = try Self.name("r")
        for node in [2, 1, 3] { world.place(room, on: node) }
        world.settleAll()
        #expect(world.answers == [1: 2, 2: 2, 3: 2])
        #expect(world.nodes[2]?.isHere(room) == true && world.nodes[1]?.node(of: room) == 2)
    }

    @Test("what comes while the registry is asked waits for its answer, and so much of it only")
    func pending() throws {
        var world = World(nodes: 1)
        let room = try Self.name("r")
        for _ in 0...RoomHomes<Int>.pendingMax { world.place(room, on: 1) }
        #expect(world.answers.count == 1 && world.answers[RoomHomes<Int>.pendingMax + 1] == .some(nil))
        world.settleAll()
        #expect(world.waiting.isEmpty)
    }

    @Test("a room whose home is gone goes to one of those that ask, and to one only")
    func gone() throws {
        var world = World(nodes: 3)
        let room = try Self.name("r")
        for node in 1...3 { world.place(room, on: node) }
        world.settleAll()
        world.alive.remove(1)
        for node in [2, 3] { if let step = world.nodes[node]?.homeIsGone(room) { world.take(step, of: node) } }
        world.settleAll()
        #expect([2, 3].count { world.nodes[$0]?.isHere(room) == true } == 1)
        #expect(world.nodes[2]?.node(of: room) == world.nodes[3]?.node(of: room))
        #expect(world.registry[room]?.home.epoch == 2)
    }

    @Test("without the registry a room may begin on each node, and is one when it is there again; one of another node is not begun")
    func apart() throws {
        var world = World(nodes: 2)
        let (known, new) = (try Self.name("known"), try Self.name("new"))
        for node in 1...2 { world.place(known, on: node) }
        world.settleAll()
        world.connected = []
        for node in 1...2 { world.place(new, on: node) }
        world.settleAll()
        world.alive = [2]
        world.place(known, on: 2)
        world.settleAll()
        #expect(world.answers[3] == 1 && world.answers[4] == 2)
        #expect(world.answers[5] == .some(nil))
        world.alive = [1, 2]
        world.connected = [1, 2]
        for node in 1...2 { world.recheck(node) }
        world.settleAll()
        #expect(world.nodes[1]?.node(of: new) == world.nodes[2]?.node(of: new))
        #expect(world.registry[new]?.home.node == world.nodes[1]?.node(of: new))
    }

    @Test("an empty room is given back unless a join is under way to it")
    func emptied() throws {
        var homes = RoomHomes<Int>(own: 1)
        let room = try Self.name("r")
        _ = homes.place(room, 1) { _ in true }
        guard case .here = homes.created(room, revision: 7) else { Issue.record("not home"); return }
        _ = homes.place(room, 2) { _ in true }
        guard case .wait = homes.emptied(room, joins: 1) else { Issue.record("a join is under way"); return }
        guard case .erase(_, revision: 7) = homes.emptied(room, joins: 2) else { Issue.record("nobody is left"); return }
        #expect(homes.count == 0)
    }

    @Test(
        "whatever is lost, and whoever is cut off or gone: afterwards every room has one home, on which all agree, and every request was answered",
        arguments: 0..<200)
    func explored(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var world = World(nodes: 4)
        let rooms = [try Self.name("a"), try Self.name("b")]
        for _ in 0..<120 {
            let node = Int.random(in: 1...4, using: &generator)
            switch Int.random(in: 0..<10, using: &generator) {
            case 0..<4 where world.alive.contains(node):
                if let room = rooms.randomElement(using: &generator) { world.place(room, on: node) }
            case 4..<7:
                if let place = world.questions.indices.randomElement(using: &generator) {
                    world.answer(place, isLost: Int.random(in: 0..<5, using: &generator) == 0)
                }
            case 7: world.connected.formSymmetricDifference([node])
            case 8 where world.alive.count > 2 && world.alive.contains(node):
                world.alive.remove(node)
                world.questions.removeAll { $0.node == node }
                for other in world.alive.sorted() {
                    for room in rooms where world.nodes[other]?.node(of: room) == node {
                        if let step = world.nodes[other]?.homeIsGone(room) { world.take(step, of: other) }
                    }
                }
            default: break
            }
        }
        world.connected = world.alive
        world.settleAll()
        for _ in 0..<2 {
            for node in world.alive.sorted() { world.recheck(node) }
            world.settleAll()
        }
        for room in rooms {
            let homes = world.alive.filter { world.nodes[$0]?.isHere(room) == true }
            #expect(homes.count <= 1, "seed \(seed): \(room.text) has homes \(homes)")
            if let home = homes.first { #expect(world.registry[room]?.home.node == home) }
            for node in world.alive.sorted() {
                guard let believed = world.nodes[node]?.node(of: room), world.alive.contains(believed) else { continue }
                #expect(homes == [believed], "seed \(seed): node \(node) takes \(believed) for the home of \(room.text)")
            }
        }
        // Requests of nodes that are gone wait for nothing any more.
        for (request, _) in world.answers { #expect(!world.waiting.contains(request)) }
    }
}
