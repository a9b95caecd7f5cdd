import Foundation
import LoadReport
import RelayServer
import Testing

@testable import LoadGenerator

@Suite("Scenario files")
struct LoadScenarioTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "LoadTests/Scenarios")

    private static func files() -> [URL] {
        let all = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
        return all.filter { $0.pathExtension == "json5" }
    }

    static let names = files().map { $0.deletingPathExtension().lastPathComponent }.sorted()

    @Test("the ten loads that there are to be are there")
    func complete() {
        #expect(
            Set(Self.names).isSuperset(of: [
                "talk", "conference", "grid", "webinar", "churn", "storm", "slow-readers", "interruptions", "pairs", "herd",
            ]))
    }

    @Test("each is read, is named as its file, says what it is, and demands something", arguments: names)
    func reads(name: String) throws {
        let scenario = try LoadScenario(text: [UInt8](Data(contentsOf: Self.folder.appending(path: "\(name).json5"))))
        #expect(scenario.name == name)
        #expect(!scenario.text.isEmpty)
        #expect(LimitName.allCases.contains { scenario.limits[keyPath: $0.bound] != nil })
        #expect(scenario.limits.failedClientsMax == 0)
        #expect(scenario.scaled(toClients: scenario.clientCount)?.groups == scenario.groups)
    }

    private static func faults(_ text: String) -> [String] {
        do {
            _ = try LoadScenario(text: Array(text.utf8))
            return []
        } catch {
            return error.faults.map(\.path)
        }
    }

    @Test("all faults are told at once, each with its path")
    func allFaults() {
        let found = Self.faults(
            """
            {
                name: "", lasts: "soon", ramp: 5,
                clients: [
                    { who: "a", count: 0, publishes: [{ kind: "smell", bytes: 8 }, { kind: "audio", layers: [{ bytes: 100 }] }] },
                    { who: "a", count: 3, joins: false, subscribes: true },
                ],
                events: [{ do: "vanish", who: "a", at: 1 }, { do: "interrupt", who: "a", at: 1 }, { do: "replace", who: "b", perSecond: 1 }, { do: "cut", who: "a" }],
                limits: { audioLatencyP99Milliseconds: -1, latencyMax: 3 },
            }
            """)
        for path in [
            "name", "lasts", "ramp", "clients[0].count", "clients[0].publishes[0].kind", "clients[0].publishes[0].bytes",
            "clients[0].publishes[1].layers",
            "clients[1].name", "clients[1].joins", "events[0].do", "events[1].who", "events[2].who", "events[3].at",
            "limits.audioLatencyP99Milliseconds",
            "limits.latencyMax",
        ] {
            #expect(found.contains(path), "\(path) is not among \(found)")
        }
    }

    @Test("what is no JSON5 object is told as such", arguments: ["", "[]", "{", "7"])
    func noObject(text: String) {
        #expect(Self.faults(text) == ["(scenario)"])
    }

    @Test("times are read in their units", arguments: [("\"2s\"", 2.0), ("\"200ms\"", 0.2), ("\"2min\"", 120), ("3.5", 3.5)])
    func times(text: String, seconds: Double) throws {
        let scenario = try LoadScenario(text: Array("{name: \"x\", lasts: \(text), clients: [{who: \"a\", count: 1}]}".utf8))
        #expect(abs(scenario.seconds - seconds) < 1e-9)
    }

    @Test(
        "another number of clients leaves fixed groups and shares the rest as before",
        arguments: [(4, [2, 1, 1]), (12, [2, 8, 2]), (102, [2, 80, 20])])
    func scaled(clients: Int, counts: [Int]) throws {
        let text = "{name: \"x\", clients: [{who: \"a\", count: 2, fixed: true}, {who: \"b\", count: 40}, {who: \"c\", count: 10}]}"
        let scenario = try LoadScenario(text: Array(text.utf8))
        #expect(scenario.scaled(toClients: clients)?.groups.map(\.count) == counts)
        #expect(scenario.scaled(toClients: 3) == nil)
    }
}
