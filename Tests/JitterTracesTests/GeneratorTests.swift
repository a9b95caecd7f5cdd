import Testing

@testable import jitter_traces

@Suite("Generated traces")
struct GeneratorTests {
    private static func trace(_ name: String, seed: UInt64 = 1) throws -> ArrivalTrace {
        Generators.trace(try #require(Generators.all.first { $0.name == name }), seed: seed)
    }

    @Test("a seed gives the same trace, another seed another", arguments: Generators.all.map(\.name))
    func seeds(name: String) throws {
        #expect(try Self.trace(name) == Self.trace(name))
        #expect(try Self.trace(name) != Self.trace(name, seed: 2))
    }

    @Test("Gilbert: 2 % in bursts of 3")
    func gilbert() throws {
        let lost = try Self.trace("gilbert-2").packets.map { $0.received == nil }
        let share = Double(lost.count { $0 }) / Double(lost.count)
        let bursts = zip([false] + lost, lost).count { !$0 && $1 }
        #expect((0.01...0.035).contains(share))
        #expect((2...4.2).contains(Double(lost.count { $0 }) / Double(bursts)))
    }

    @Test("drift: the sender's clock gains or loses 0.3 s in 10 min", arguments: [("drift-fast-500", -1.0), ("drift-slow-500", 1.0)])
    func drift(name: String, sign: Double) throws {
        let trace = try Self.trace(name)
        let late = zip(trace.packets, trace.mediaTimes()).map { Double(($0.received ?? 0) - $1) / 1e6 }
        let begin = late[..<100].min() ?? 0
        let end = late[(late.count - 100)...].min() ?? 0
        #expect(abs((end - begin) - sign * 300) < 5)
    }

    @Test("a stall ends in a burst", arguments: [("freeze-5s", 5.0), ("stall-2s", 2.0)])
    func stalls(name: String, seconds: Double) throws {
        let times = try Self.trace(name).arrivals.compactMap(\.received)
        let gap = zip(times, times.dropFirst()).map { $1 - $0 }.max() ?? 0
        #expect(abs(Double(gap) / 1e9 - seconds) < 0.1)
        let end = try #require(zip(times, times.dropFirst()).first { $1 - $0 == gap }?.1)
        #expect(times.count { $0 >= end && $0 < end + 40_000_000 } > Int(seconds * 45))
    }

    @Test("in order where TCP would be, out of order where it is not")
    func order() throws {
        for name in ["gaussian-5", "spikes", "drift-fast-500"] {
            let times = try Self.trace(name).packets.compactMap(\.received)
            #expect(zip(times, times.dropFirst()).allSatisfy { $0 <= $1 })
        }
        let times = try Self.trace("gaussian-20").packets.compactMap(\.received)
        #expect(zip(times, times.dropFirst()).contains { $0 > $1 })
    }

    @Test("speech talks 39 % of the time, in talkspurts of a second (ITU-T P.59)")
    func speech() {
        let pattern = SpeechPattern()
        let places = (0..<pattern.period).map { pattern.place(at: Int64($0) * SpeechPattern.unit) }
        let talk = Double(places.count { $0.isTalking }) / Double(places.count)
        #expect((0.3...0.5).contains(talk))
        #expect((2.0...3.3).contains(Double(places.count) / 50 / Double((places.last?.spurt ?? 0) + 1)))
        #expect(zip(places, places.dropFirst()).allSatisfy { $1.spurt == $0.spurt || ($1.spurt == $0.spurt + 1 && $1.isTalking) })
    }

    @Test("a pause that is not sent is one packet that says so, then one each 400 ms")
    func pauses() {
        let pattern = SpeechPattern()
        let sent = (0..<3_000).map { pattern.isSent(at: Int64($0) * SpeechPattern.unit) }
        let talking = (0..<3_000).map { pattern.place(at: Int64($0) * SpeechPattern.unit).isTalking }
        for step in 1..<3_000 {
            if talking[step] { #expect(sent[step] == (true, false)) }
            if talking[step - 1], !talking[step] { #expect(sent[step] == (true, true)) }
        }
        #expect((0.3...0.6).contains(Double(sent.count { $0.isSent }) / 3_000))
    }
}
