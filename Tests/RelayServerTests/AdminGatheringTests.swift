import Foundation
import HTTPProtocol
import RelayRooms
import Testing

@testable import RelayServer

@Suite("Gathering what loops know")
struct AdminGatheringTests {
    private func room(_ name: String) -> AdminRoom {
        AdminRoom(name: name, participants: 1, waiting: 0, streams: 0, locked: false)
    }

    private func participant(_ number: UInt32, loop: Int) -> AdminParticipant {
        AdminParticipant(
            participant: number, identity: nil, displayName: nil, role: nil, waiting: false, muted: nil, interrupted: false, held: false, streams: 0,
            loop: loop)
    }

    private func session(_ id: String) -> AdminSession {
        AdminSession(
            session: id, identity: nil, device: "phone", address: "192.0.2.1:1", state: .connected, transport: .http2, since: 5, room: nil,
            participant: nil, loop: 0)
    }

    private func page(_ query: String...) throws -> AdminPage {
        try #require(
            AdminPage(
                query.map { member in
                    let sides = member.split(separator: "=", omittingEmptySubsequences: false)
                    return (String(sides[0]), String(sides[1]))
                }))
    }

    private func body(_ next: AdminGathering.Next) throws -> [String: Any] {
        guard case .answer(let answer) = next else { throw CocoaError(.coderValueNotFound) }
        return try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
    }

    @Test(
        "a page's limit is a whole number within bounds, said once",
        arguments: [
            ("limit=1", 1), ("limit=500", 500), ("limit=007", 7), ("limit=0", nil), ("limit=501", nil), ("limit=-1", nil), ("limit=+1", nil),
            ("limit=1.0", nil),
            ("limit=", nil), ("limit=99999999999999999999", nil), ("limit=١", nil), ("other=x", 100),
        ] as [(String, Int?)])
    func limit(query: String, expected: Int?) {
        let sides = query.split(separator: "=", omittingEmptySubsequences: false)
        #expect(AdminPage([(String(sides[0]), String(sides[1]))])?.limit == expected)
    }

    @Test("a list is answered when every loop has spoken, sorted over all of them, and says where the next part begins")
    func partsOfSeveralLoops() throws {
        var gathering = AdminGathering(page: try page("limit=3"), asked: 3)
        guard case .wait = gathering.add(.rooms([room("d"), room("a")])), case .wait = gathering.add(.rooms([])) else {
            Issue.record("it did not wait")
            return
        }
        let answer = try body(gathering.add(.rooms([room("c"), room("b")])))
        #expect((answer["rooms"] as? [[String: Any]])?.compactMap { $0["name"] as? String } == ["a", "b", "c"])
        #expect(answer["next"] as? String == "c")
    }

    @Test("the last part has no next, and nothing is in two parts or in none", arguments: 1...7)
    func everyElementOnce(limit: Int) throws {
        let names = (0..<23).map { "room-\($0)" }
        let loops = [
            names.enumerated().filter { $0.offset % 2 == 0 }.map(\.element), names.enumerated().filter { $0.offset % 2 == 1 }.map(\.element),
        ]
        var seen: [String] = []
        var after: String?
        repeat {
            let page = try #require(AdminPage([("limit", "\(limit)")] + (after.map { [("after", $0)] } ?? [])))
            var gathering = AdminGathering(page: page, asked: 2)
            var last = AdminGathering.Next.wait
            for loop in loops { last = gathering.add(.rooms(page.cut(loop.map(room), by: \.name, after: page.after))) }
            let answer = try body(last)
            seen += try #require(answer["rooms"] as? [[String: Any]]).compactMap { $0["name"] as? String }
            after = answer["next"] as? String
        } while after != nil
        #expect(seen == names.sorted())
    }

    @Test("participants are completed by their own loops, in whatever order those speak; one whose session has gone stays without")
    func participantsOfSeveralLoops() throws {
        var gathering = AdminGathering(page: try page(), asked: 1)
        let addresses = [MemberAddress(loop: 2, token: 20), MemberAddress(loop: 0, token: 10), MemberAddress(loop: 2, token: 21)]
        let found = [participant(7, loop: 2), participant(8, loop: 0), participant(9, loop: 2)]
        guard case .ask(let questions) = gathering.add(.participants(found, addresses: addresses)) else {
            Issue.record("it asked nobody")
            return
        }
        #expect(questions.map(\.loop) == [0, 2])
        guard case .wait = gathering.add(.facts([9: session("nine")])) else {
            Issue.record("it did not wait")
            return
        }
        let list = try #require(try body(gathering.add(.facts([8: session("eight")])))["participants"] as? [[String: Any]])
        #expect(list.compactMap { $0["participant"] as? Int } == [7, 8, 9])
        #expect(list.map { $0["session"] as? String } == [nil, "eight", "nine"])
    }

    @Test("what was to be ended was there when any loop had it", arguments: [[false, false], [false, true], [true, false]])
    func ended(found: [Bool]) {
        var gathering = AdminGathering(page: nil, asked: found.count)
        var last = AdminGathering.Next.wait
        for wasThere in found { last = gathering.add(.ended(wasThere)) }
        guard case .answer(let answer) = last else {
            Issue.record("no answer")
            return
        }
        #expect(answer.status.code == (found.contains(true) ? 204 : 404))
    }

    @Test("a room that is not there is 404 in every form")
    func noRoom() {
        for finding in [AdminFinding.room(nil), .participants(nil, addresses: []), .streams(nil)] {
            var gathering = AdminGathering(page: nil, asked: 1)
            guard case .answer(let answer) = gathering.add(finding) else {
                Issue.record("no answer to \(finding)")
                continue
            }
            #expect(answer.status == .notFound)
        }
    }
}
