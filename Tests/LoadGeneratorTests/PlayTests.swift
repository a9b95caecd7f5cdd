import Testing

@testable import LoadGenerator

@Suite("Who plays what, and when")
struct PlayTests {
    private static func scenario(_ counts: [Int], perRoom: Int? = nil) -> LoadScenario {
        let groups = counts.map { "{who: \"g\($0)\", count: \($0)}" }.joined(separator: ", ")
        let room = perRoom.map { "clientsPerRoom: \($0), " } ?? ""
        guard let scenario = try? LoadScenario(text: Array("{name: \"x\", rampPerSecond: 10, \(room)clients: [\(groups)]}".utf8)) else {
            preconditionFailure("a good scenario")
        }
        return scenario
    }

    @Test("every client is played by exactly one part and loop", arguments: [1, 2, 3, 7], [1, 2])
    func shares(parts: Int, loops: Int) {
        let scenario = Self.scenario([3, 20])
        let seats = (1...parts).flatMap { LoadShare(part: $0, parts: parts, loops: loops).seats(scenario) }
        #expect(seats.map(\.index).sorted() == Array(0..<23))
        #expect(Set(seats.map(\.loop)) == Set(0..<loops))
        #expect(seats.allSatisfy { $0.member < scenario.groups[$0.group].count && $0.room == 0 })
    }

    @Test("those who share a small room share a part", arguments: [2, 3])
    func rooms(parts: Int) {
        let scenario = Self.scenario([20], perRoom: 2)
        var parted: [Int: Set<Int>] = [:]
        for part in 1...parts {
            for seat in LoadShare(part: part, parts: parts).seats(scenario) { parted[seat.room, default: []].insert(part) }
        }
        #expect(parted.count == 10)
        #expect(parted.values.allSatisfy { $0.count == 1 })
    }

    @Test("they begin at the scenario's pace, whoever plays them")
    func pace() {
        let scenario = Self.scenario([21])
        let last = LoadShare(part: 1, parts: 2).seats(scenario).last
        #expect(last.map { LoadShare.beginning(of: $0, scenario) } == 2_000_000_000)
    }

    // MARK: Turns

    private static let plan = TurnPlan(speaking: 3, secondsMin: 0.5, secondsMax: 2)

    @Test("so many speak at any time, turns last as long as they may, and the one who has spoken is followed by another")
    func turns() {
        var turns = SpeakerTurns(Self.plan, members: 10, seed: 4)
        var begun: [Int: UInt64] = [:]
        var time: UInt64 = 0
        var lengths: [Double] = []
        var everybody: Set<Int> = []
        var before: Set<Int> = []
        for _ in 0..<20_000 {
            turns.advance(to: time)
            let speaking = Set((0..<10).filter { turns.speaks($0) })
            #expect(speaking.count == 3)
            everybody.formUnion(speaking)
            for member in speaking.subtracting(before) { begun[member] = time }
            for member in before.subtracting(speaking) {
                if let start = begun[member], start > 0 { lengths.append(Double(time - start) / 1e9) }
            }
            before = speaking
            time += 10_000_000
        }
        #expect(everybody.count == 10)
        #expect(lengths.count > 100)
        #expect(lengths.allSatisfy { $0 > 0.48 && $0 < 2.02 })
    }

    @Test("the same seed gives the same turns, in every process; another gives others")
    func seeds() {
        func course(_ seed: UInt64) -> [[Bool]] {
            var turns = SpeakerTurns(Self.plan, members: 8, seed: seed)
            return (0..<100).map { step in
                turns.advance(to: UInt64(step) * 300_000_000)
                return (0..<8).map { turns.speaks($0) }
            }
        }
        #expect(course(1) == course(1))
        #expect(course(1) != course(2))
    }

    @Test("where all may speak at once, all do")
    func everybody() {
        var turns = SpeakerTurns(TurnPlan(speaking: 5, secondsMin: 1, secondsMax: 1), members: 3, seed: 1)
        for step in 0..<50 {
            turns.advance(to: UInt64(step) * 500_000_000)
            #expect((0..<3).allSatisfy { turns.speaks($0) })
        }
    }

    // MARK: Events

    private static func times(_ timing: LoadEvent.Timing, own: Int, all: Int) -> [UInt64] {
        var pace = EventPace(timing, own: own, all: all)
        var times: [UInt64] = []
        while let time = pace.next(), times.count < 1_000 { times.append(time) }
        return times
    }

    @Test("an event at a time happens once, and not where nobody is whom it could happen to")
    func once() {
        #expect(Self.times(.at(seconds: 2, share: 1), own: 3, all: 9) == [2_000_000_000])
        #expect(Self.times(.at(seconds: 2, share: 1), own: 0, all: 9).isEmpty)
    }

    @Test("a rate is kept by all loops together, each by its share", arguments: [(10, 10, 40), (5, 10, 20), (1, 10, 4), (0, 10, 0)])
    func rate(own: Int, all: Int, count: Int) {
        let times = Self.times(.steadily(perSecond: 4, from: 1, until: 11), own: own, all: all)
        #expect(times.count == count)
        #expect(times.allSatisfy { (1_000_000_000..<11_000_000_000).contains($0) })
        #expect(times == times.sorted())
    }

    // MARK: Tasks

    @Test("tasks come when they are due, soonest first, and in order where they are due together")
    func dueQueue() {
        var queue = DueQueue<Int>()
        for (task, due) in [(0, 5), (1, 3), (2, 9), (3, 3), (4, 1), (5, 5)] { queue.add(task, due: UInt64(due)) }
        #expect(queue.nextDue == 1)
        var order: [Int] = []
        while let (_, task) = queue.take(by: 5) { order.append(task) }
        #expect(order == [4, 1, 3, 0, 5])
        #expect(queue.take(by: 8) == nil)
        #expect(queue.take(by: 9)?.task == 2)
        #expect(queue.nextDue == nil)
    }
}
