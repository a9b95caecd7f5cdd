import Foundation
import RelayBase
import Testing

@testable import RelayServer

@Suite("Audit")
struct AuditTests {
    private static func folder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appending(path: "segue-audit-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    private func records(_ path: String) throws -> [[String: String]] {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map { line in
            try JSONDecoder().decode([String: String].self, from: Data(line.utf8))
        }
    }

    @Test("records are whole lines in order, and all of them are there when it stops")
    func order() throws {
        let folder = try Self.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "audit.jsonl").path()
        let log = try Log(format: .json)
        defer { log.stop() }
        let audit = Audit(log: log, file: try AuditFile(path: path, log: log))
        for number in 0..<500 { audit.record("act", by: "urn:a", isAdministrator: true, from: "192.0.2.1:1", .done, [("number", "\(number)")]) }
        audit.stop()
        #expect(try records(path).map { $0["number"] } == (0..<500).map { "\($0)" })
        #expect(audit.lost == 0)
    }

    @Test("what a client says stays within its line and its field, and hides no field of the record's own")
    func hostileText() throws {
        let fields = [
            ("act", "join"), ("actor", "a\n{\"act\":\"forged\"}\u{1B}[2J\"\\"), ("outcome", "refused"), ("act", "forged"), ("time", "1970"),
        ]
        let line = AuditFile.line(AuditRecord(wallMilliseconds: 1_700_000_000_000, fields: fields))
        #expect(!line.contains("\n") && !line.unicodeScalars.contains("\u{1B}"))
        let record = try JSONDecoder().decode([String: String].self, from: Data(line.utf8))
        #expect(record["act"] == "join" && record["actor"] == fields[1].1 && record["time"]?.hasPrefix("2023-") == true)
    }

    @Test("refusals beyond the rate are counted and told, and never crowd out what was done")
    func flood() throws {
        let folder = try Self.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "audit.jsonl").path()
        let log = try Log(format: .json)
        defer { log.stop() }
        let audit = Audit(log: log, file: try AuditFile(path: path, log: log))
        for _ in 0..<5_000 { audit.record("join", by: "", from: "192.0.2.1:1", .refused("not_allowed")) }
        audit.record("mute", by: "urn:host", from: "192.0.2.1:1", .done)
        audit.stop()
        let records = try records(path)
        let kept = records.count { $0["act"] == "join" }
        #expect(UInt64(kept) + audit.lost == 5_000)
        #expect(records.contains { $0["act"] == "mute" })
        let told = records.filter { $0["act"] == "audit.lost" }.compactMap { $0["count"].flatMap(UInt64.init) }.reduce(0, +)
        #expect(told == audit.lost)
    }

    @Test("acts of one participant beyond the rate are counted and told, and crowd out neither an administrator's nor another participant's")
    func flooder() throws {
        let folder = try Self.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "audit.jsonl").path()
        let log = try Log(format: .json)
        defer { log.stop() }
        let audit = Audit(log: log, file: try AuditFile(path: path, log: log))
        for _ in 0..<3_000 { audit.record("pair.request", by: "urn:mallory", from: "192.0.2.1:1", .done) }
        for number in 0..<20 {
            audit.record("mute", by: "urn:host:\(number)", from: "192.0.2.2:1", .done)
            audit.record("DELETE /v1/rooms/{room}", by: "urn:operator", isAdministrator: true, from: "192.0.2.3:1", .done)
            audit.record("join", by: "urn:mallory", from: "192.0.2.1:1", .refused("not_allowed"))
        }
        audit.stop()
        let records = try records(path)
        let kept = records.count { $0["act"] == "pair.request" }
        #expect(kept >= ActBudget.perActorPerSecondMax && UInt64(kept) + audit.lost == 3_000)
        // However slow the machine is, it is not a thousand times slower than the bound.
        #expect(audit.lost > 0)
        for act in ["DELETE /v1/rooms/{room}", "join"] { #expect(records.count { $0["act"] == act } == 20) }
        // By chance one of the hosts may share the flooder's place.
        #expect(records.count { $0["act"] == "mute" } >= 18)
        let told = records.filter { $0["act"] == "audit.lost" }.compactMap { $0["count"].flatMap(UInt64.init) }.reduce(0, +)
        #expect(told == audit.lost)
    }

    @Test("one actor has a rate, all together have one, and both fill again")
    func budgets() {
        var budget = ActBudget(now: .zero)
        func kept(_ actor: String, _ tries: Int, at milliseconds: UInt64) -> Int {
            (0..<tries).count { _ in budget.take(actor, now: MonotonicInstant.zero.advanced(byMilliseconds: milliseconds)) }
        }
        #expect(kept("urn:a", 500, at: 0) == ActBudget.perActorPerSecondMax)
        #expect(kept("urn:a", 500, at: 500) == ActBudget.perActorPerSecondMax / 2)
        // Some of the others may share a place.
        let others = (0..<200).map { kept("urn:\($0)", 10, at: 500) }.reduce(0, +)
        #expect(others == ActBudget.perSecondMax - ActBudget.perActorPerSecondMax / 2)
        #expect(kept("urn:b", 1, at: 500) == 0)
        #expect(kept("urn:b", 1, at: 1_500) == 1)
    }
}
