import FoundationEssentials
import LoadReport
import Testing

@Suite("Limits of scenarios")
struct LoadLimitsTests {
    private static let bounds: [(name: String, holding: Double, breaking: Double)] = [
        ("audioLatencyP50Milliseconds", 3, 0.1), ("audioLatencyP99Milliseconds", 3, 1), ("videoLatencyP99Milliseconds", 9.1, 5),
        ("jitterP99Milliseconds", 0.5, 0.1), ("joinToFirstFrameP99Milliseconds", 61, 10), ("handshakeP99Milliseconds", 31, 10),
        ("handshakesPerSecondMin", 78, 79), ("deliveredShareMin", 0.999, 0.9999), ("deliveredFairnessMin", 0.97, 0.99), ("fairnessMax", 2, 0.9),
        ("failedClientsMax", 1, 0), ("cpuSecondsPerMillionFramesMax", 16, 15), ("rssKiBPerConnectionMax", 22, 21),
        ("loopIterationP999Milliseconds", 1, 0.5),
    ]

    private static func outcome(_ name: String, _ bound: Double, _ report: LoadReport) throws -> LimitOutcome? {
        let limits = try JSONDecoder().decode(LoadLimits.self, from: Data("{\"\(name)\":\(bound)}".utf8))
        let outcomes = limits.judge(report)
        #expect(outcomes.count == 1)
        return outcomes.first
    }

    @Test("each limit holds up to its bound and is broken beyond", arguments: bounds)
    func judged(name: String, holding: Double, breaking: Double) throws {
        #expect(try Self.outcome(name, holding, sampleReport())?.holds == true)
        #expect(try Self.outcome(name, breaking, sampleReport())?.holds == false)
    }

    @Test("every limit is tried here, but for the one that the sample has nothing of")
    func complete() {
        #expect(Set(Self.bounds.map(\.name)).union(["dataLatencyP99Milliseconds"]) == Set(LimitName.allCases.map(\.rawValue)))
    }

    @Test("a limit of what was not measured is broken")
    func unmeasured() throws {
        let outcome = try Self.outcome("dataLatencyP99Milliseconds", 1_000, sampleReport())
        #expect(outcome?.holds == false)
        #expect(outcome?.measured == nil)
        #expect(try Self.outcome("rssKiBPerConnectionMax", 1_000, sampleReport(part: 1))?.holds == false)
    }

    @Test("no limits, no outcomes; null is none")
    func none() throws {
        #expect(try JSONDecoder().decode(LoadLimits.self, from: Data("{\"fairnessMax\":null}".utf8)) == LoadLimits())
        #expect(LoadLimits().judge(sampleReport()).isEmpty)
    }

    @Test(
        "a misspelt limit, and a bound that is none, are refused",
        arguments: ["{\"fairnesMax\":1}", "{\"fairnessMax\":-1}", "{\"fairnessMax\":\"1\"}"])
    func refused(json: String) {
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(LoadLimits.self, from: Data(json.utf8)) }
    }

    @Test("limits survive JSON")
    func roundTrip() throws {
        var limits = LoadLimits()
        limits.fairnessMax = 1.5
        limits.deliveredShareMin = 0.5
        #expect(try JSONDecoder().decode(LoadLimits.self, from: JSONEncoder().encode(limits)) == limits)
    }
}
