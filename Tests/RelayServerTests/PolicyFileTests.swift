import Foundation
import RelayRooms
import Testing

@testable import RelayServer

@Suite("The policy file")
struct PolicyFileTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private func parse(_ text: String) throws -> AccessPolicy { try PolicyFile.parse(Array(text.utf8)) }

    private func faults(_ text: String) -> [String] {
        do {
            _ = try parse(text)
            return []
        } catch let invalid as ServerConfiguration.Invalid {
            return invalid.faults.map(\.path)
        } catch {
            return ["\(error)"]
        }
    }

    @Test("the annotated sample is a valid policy and uses every key")
    func sample() throws {
        let policy = try PolicyFile.read(Self.root.appending(path: "Deploy/policy.json5").path())
        #expect(policy.admins.count == 1)
        #expect(policy.access.count == 4)
        #expect(policy.rooms.first?.settings.requires == [.certificate, .token])
        #expect(policy.rooms.first?.settings.bitRateMax == 2_000_000)
        #expect(!policy.pairs.isEmpty && !policy.pairRequests.isEmpty && !policy.pairCodes.isEmpty)
        #expect(policy.grantSeconds == AccessPolicy().grantSeconds)
    }

    @Test("an empty object denies everything")
    func empty() throws {
        #expect(try parse("{}") == AccessPolicy())
    }

    @Test("everything that a file says is taken over")
    func everything() throws {
        let policy = try parse(
            """
            { admins: ["urn:a"], access: [{identities: ["*"], rooms: ["r"], roles: ["listener", "host"], publish: ["audio", "data"]}],
              rooms: [{rooms: ["r", "s"], lobby: true, requires: ["token"], participantsMax: 2, publishersMax: 1, bitRateMax: 1000,
                       flushHoldMicroseconds: 0}],
              pairing: {pairs: [{a: ["urn:a"], b: ["urn:b"]}], requests: [{from: ["x@y"], to: ["z"]}], codes: ["*"], grantSeconds: 1} }
            """)
        #expect(policy.admins.map(\.text) == ["urn:a"])
        let access = try #require(policy.access.first)
        #expect(access.roles == [.listener, .host] && access.publish == [.audio, .data])
        let settings = try #require(policy.rooms.first?.settings)
        #expect(settings.hasLobby && settings.requires == .token)
        #expect(settings.participantsMax == 2 && settings.publishersMax == 1 && settings.bitRateMax == 1_000 && settings.flushHoldMicroseconds == 0)
        #expect(policy.pairs.first?.a.first?.text == "urn:a" && policy.pairRequests.first?.b.first?.text == "z")
        #expect(policy.grantSeconds == 1)
    }

    @Test("publish left out is everything, and an empty list nothing")
    func publishDefaults() throws {
        let rule = "identities: [\"*\"], rooms: [\"*\"], roles: [\"speaker\"]"
        #expect(try parse("{access: [{\(rule)}]}").access.first?.publish == .all)
        #expect(try parse("{access: [{\(rule), publish: []}]}").access.first?.publish == [])
    }

    @Test(
        "each fault is told with its path",
        arguments: [
            ("[]", ["policy"]), ("not json", ["policy"]), ("", ["policy"]), ("{colour: 1}", ["policy.colour"]),
            ("{admins: \"*\"}", ["policy.admins"]), ("{admins: [\"a b\"]}", ["policy.admins[0]"]), ("{admins: [7]}", ["policy.admins[0]"]),
            ("{access: [{}]}", ["policy.access[0].identities", "policy.access[0].rooms", "policy.access[0].roles"]),
            ("{access: [{identities: [], rooms: [\"*\"], roles: [\"host\"]}]}", ["policy.access[0].identities"]),
            ("{access: [{identities: [\"*\"], rooms: [\"a/b\"], roles: [\"boss\"]}]}", ["policy.access[0].rooms[0]", "policy.access[0].roles[0]"]),
            ("{access: [{identities: [\"*\"], rooms: [\"*\"], roles: [\"host\", \"host\"]}]}", ["policy.access[0].roles"]),
            ("{access: [{identities: [\"*\"], rooms: [\"*\"], roles: [\"host\"], publish: [\"smell\"]}]}", ["policy.access[0].publish[0]"]),
            ("{access: [{identities: [\"*\"], rooms: [\"*\"], roles: [\"host\"], until: 1}]}", ["policy.access[0].until"]),
            ("{rooms: [{rooms: [\"*\"], flushHoldMicroseconds: 20001}]}", ["policy.rooms[0].flushHoldMicroseconds"]),
            ("{rooms: [{rooms: [\"*\"], participantsMax: 0, bitRateMax: 10}]}", ["policy.rooms[0].participantsMax", "policy.rooms[0].bitRateMax"]),
            ("{rooms: [{rooms: [\"*\"], requires: [\"password\"], lobby: \"yes\"}]}", ["policy.rooms[0].lobby", "policy.rooms[0].requires[0]"]),
            ("{pairing: {pairs: [{a: [\"*\"]}], grantSeconds: 0}}", ["policy.pairing.pairs[0].b", "policy.pairing.grantSeconds"]),
        ])
    func faultPaths(text: String, paths: [String]) {
        #expect(faults(text) == paths)
    }

    @Test("the number of rules and of patterns is bounded")
    func bounds() {
        let rule = "{identities:[\"*\"],rooms:[\"*\"],roles:[\"host\"]}"
        #expect(faults("{access:[\(Array(repeating: rule, count: 10_000).joined(separator: ","))]}").isEmpty)
        #expect(faults("{access:[\(Array(repeating: rule, count: 10_001).joined(separator: ","))]}") == ["policy.access"])
        let names = Array(repeating: "\"*\"", count: 100_001).joined(separator: ",")
        #expect(faults("{admins:[\(names)]}") == ["policy.admins"])
    }

    @Test("a file that is not there is a fault of the key that names it")
    func missing() {
        #expect(throws: ServerConfiguration.Invalid.self) { try PolicyFile.read("/nonexistent/policy.json5") }
    }

    @Test("in development mode everybody may be everything, and only the operator administers")
    func development() throws {
        func principal(_ name: String) -> Principal {
            Principal(name: name, names: [PrincipalName(.uri, name)], fingerprint: nil, proofs: .certificate)
        }
        let policy = AccessPolicy.development
        let room = try #require(RoomName("demo", bytesMax: 128))
        #expect(try policy.admission(of: principal("urn:segue:client:operator"), to: room, asking: nil).role == .host)
        #expect(try policy.admission(of: principal("urn:segue:client:alice"), to: room, asking: nil).role == .speaker)
        for role in Role.allCases { #expect(try policy.admission(of: principal("urn:segue:client:alice"), to: room, asking: role).role == role) }
        #expect(policy.isAdmin(principal("urn:segue:client:operator")) && !policy.isAdmin(principal("urn:segue:client:alice")))
        // Outright pairs would leave nothing to be asked for.
        #expect(!policy.pairs(principal("urn:a"), principal("urn:b")))
        #expect(policy.mayRequestPair(principal("urn:a"), of: principal("urn:b")) && policy.mayUsePairCodes(principal("urn:a")))
    }

    @Test("what is no regular file is refused at once, and never waited for", .timeLimit(.minutes(1)))
    func noFile() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "segue-policy-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let fifo = folder + "/fifo"
        #expect(unsafe mkfifo(fifo, 0o600) == 0)
        for path in [fifo, folder, "/dev/zero", folder + "/none"] {
            do throws(ServerConfiguration.Invalid) {
                _ = try PolicyFile.read(path)
                Issue.record("\(path) was read")
            } catch {
                #expect(error.faults.map(\.path) == ["policy"])
                #expect(error.faults.first?.file == path)
            }
        }
        #expect(throws: StateFault.self) { try StateFolder.read(fifo, bytesMax: 10) }
    }
}
