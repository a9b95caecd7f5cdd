import Foundation
import RelayBase
import RelayRooms
import Testing

@testable import RelayServer

@Suite("Overviews for administrators")
struct LiveOverviewTests {
    private static func instant(_ milliseconds: UInt64) -> MonotonicInstant { MonotonicInstant.zero.advanced(byMilliseconds: milliseconds) }

    private func share(_ milliseconds: UInt64, _ change: (inout LiveShare) -> Void = { _ in }) -> LiveShare {
        var share = LiveShare(round: 1, at: Self.instant(milliseconds))
        change(&share)
        return share
    }

    private func survey(_ milliseconds: UInt64, cpu: UInt64 = 0, _ shares: [LiveShare]) -> LiveSurvey {
        LiveSurvey(shares: shares, at: Self.instant(milliseconds), processorNanoseconds: cpu)
    }

    private func overview(_ survey: LiveSurvey, since before: LiveSurvey, isDraining: Bool = false) -> LiveOverview {
        LiveOverview(
            .init(
                node: "media \"1\"", version: "0.1.0", uptimeSeconds: 5, time: 1_800_000_000_123, isDraining: isDraining, stale: ["web"],
                residentBytes: 1 << 40), survey, since: before)
    }

    private func room(_ name: String, _ participants: Int, streams: Int = 0) -> AdminRoom {
        AdminRoom(name: name, participants: participants, waiting: 0, streams: streams, locked: false)
    }

    @Test("counters are summed over the loops, shares are measured since the overview before")
    func sums() {
        let before = survey(1_000, cpu: 5_000_000_000, [share(1_000), share(1_000) { $0.counters.busyNanoseconds = 1_000_000_000 }])
        let now = survey(
            3_000, cpu: 8_000_000_000,
            [
                share(3_000) {
                    $0.counters.busyNanoseconds = 500_000_000
                    $0.counters.connections = 3
                    $0.counters.sessions = 5
                    $0.counters.parked = 2
                    $0.counters.frames.expired = 7
                    $0.counters.webSocketsClosed = ["stalled": 1, "peer_ended": 4]
                },
                share(2_000) {
                    $0.counters.busyNanoseconds = 3_000_000_000
                    $0.counters.connections = 4
                    $0.counters.sessions = 1
                    $0.counters.frames.expired = 1
                    $0.counters.webSocketsClosed = ["stalled": 2]
                },
            ])
        let found = overview(now, since: before)
        #expect(found.cpuShare == 1.5)
        #expect(found.loops.map(\.busyShare) == [0.25, 1], "a loop is one thread, whatever the clocks say")
        #expect(found.loops.map(\.connections) == [3, 4] && found.connections == 7)
        #expect(found.sessions.connected == 4 && found.sessions.parked == 2)
        #expect(found.frames.dropped["expired"] == 8)
        #expect(found.closes == ["stalled": 3, "peer_ended": 4])
    }

    @Test("where no time has passed, or a count is less than before, nothing was used")
    func noTime() {
        let same = survey(1_000, cpu: 10, [share(1_000) { $0.counters.busyNanoseconds = 10 }])
        #expect(overview(same, since: same).cpuShare == 0)
        #expect(overview(survey(2_000, cpu: 5, [share(500)]), since: same).loops.map(\.busyShare) == [0])
    }

    @Test("of rooms the twenty largest of all loops, always in the same order")
    func largestRooms() {
        let first = (0..<30).map { room("a\($0)", $0) }
        let second = [room("b", 29, streams: 1), room("c", 29, streams: 1), room("d", 100)]
        let found = overview(
            survey(2_000, [share(0) { $0.rooms = LiveShare.largest(first) }, share(0) { $0.rooms = LiveShare.largest(second.reversed()) }]),
            since: survey(1_000, [share(0), share(0)]))
        #expect(found.roomsTop.count == 20)
        #expect(found.roomsTop.prefix(5).map(\.name) == ["d", "b", "c", "a29", "a28"])
    }

    @Test("of certificates all of the relay's own, and of clients' the twenty that end first")
    func certificates() {
        let clients = (0..<30).map { LiveCertificate(what: .client, name: "c\($0)", notAfter: Double(1_000 - $0)) }
        let own = [
            LiveCertificate(what: .server, name: "localhost", notAfter: 5_000), LiveCertificate(what: .authority, name: "CN=CA", notAfter: 9_000),
        ]
        let found = overview(
            survey(2_000, [share(0) { $0.certificates = own + clients.prefix(15) }, share(0) { $0.certificates = Array(clients.suffix(15)) }]),
            since: survey(1_000, [share(0), share(0)]))
        #expect(found.certificates.prefix(2).map(\.name) == ["localhost", "CN=CA"])
        #expect(found.certificates.count == 22)
        #expect(found.certificates.dropFirst(2).first?.name == "c29" && found.certificates.last?.name == "c10")
    }

    @Test("an event is one line of JSON behind its name, and the same as a chunk of HTTP/1.1", arguments: [false, true])
    func event(isDraining: Bool) throws {
        let now = survey(2_000, [share(0) { $0.rooms = [room("two\nlines \u{2028} and / \"quotes\"", 1)] }])
        let event = LiveEvent("overview", data: overview(now, since: survey(1_000, [share(0)]), isDraining: isDraining).json)
        let text = String(decoding: event.bytes, as: UTF8.self)
        #expect(text.hasPrefix("event: overview\ndata: {") && text.hasSuffix("}\n\n"))
        #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count == 4, "no line break within")
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(text.dropFirst("event: overview\ndata: ".count).utf8)) as? [String: Any])
        let names: Set<String> = [
            "node", "version", "uptimeSeconds", "time", "draining", "connections", "sessions", "rooms", "participants", "streams", "cpuShare",
            "loops",
            "frames", "closes", "residentBytes", "certificates", "stale", "roomsTop", "nodes",
        ]
        #expect(Set(object.keys) == names)
        #expect(object["time"] as? Double == 1_800_000_000_123)
        #expect(object["stale"] as? [String] == ["web"])
        #expect((object["frames"] as? [String: Any])?["in"] as? Int == 0)
        let nodes = try #require(object["nodes"] as? [[String: String]])
        #expect(nodes == [["node": "media \"1\"", "state": isDraining ? "draining" : "up"]])
        let size = String(event.bytes.count, radix: 16)
        #expect(event.chunk == Array("\(size)\r\n".utf8) + event.bytes + Array("\r\n".utf8))
    }

    @Test("no more watch than may, and whoever goes makes room")
    func admission() throws {
        let desk = try LiveDesk(loops: 1)
        let admitted = (0..<4).map { _ in desk.admit(max: 2) }
        #expect(admitted == [true, true, false, false] && desk.watchers == 2)
        desk.leave()
        #expect(desk.admit(max: 2) && !desk.admit(max: 2))
    }
}
