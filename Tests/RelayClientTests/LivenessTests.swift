import MediaProtocol
import Reactor
import RelayBase
import RelayClient
import RelayRooms
import RelayServer
import Signalling
import Testing

@Suite("Time exchanges and receiver reports between client and relay", .serialized)
struct LivenessTests {
    @Test(
        "a session that exchanges time knows its clock; its application hears nothing of it, and asks on its own as before", arguments: Route.bothHTTP
    )
    func clock(_ route: Route) throws {
        let relay = try Relay()
        let clients = try Clients(relay)
        let session = try clients.open(route) { $0.timeExchangeMilliseconds = 20 }
        let silent = try clients.open(route)
        try clients.ready(session)
        try clients.ready(silent)
        try clients.wait("exchanges") { session.messagesSent >= 10 }
        let estimate = try #require(session.clockEstimate)
        // Client and relay are one process here: what there is of an offset is the path's.
        #expect(abs(estimate.offsetMilliseconds) <= estimate.roundTripMillisecondsMin / 2 + 5)
        #expect(estimate.roundTripMillisecondsMin >= 0)
        #expect(clients[session].answers.isEmpty && clients[session].refusals.isEmpty)
        #expect(silent.clockEstimate == nil)
        #expect(try clients.answer(session, .time(.init(clientTime: 3))).clientTime == 3)
    }

    @Test("what receivers on any loop report reaches the publisher, and nobody else", arguments: [1, 4])
    func reports(loops: Int) throws {
        let relay = try Relay(loops: loops)
        let clients = try Clients(relay)
        let publisher = try clients.join("heard")
        let stream = try clients.publish(publisher, .audio, "opus")
        let listeners = try (0..<8).map { _ in try clients.join("heard") }
        for listener in listeners { try clients.subscribeAll(listener) }
        func newest() -> RelayMessage.StreamQuality? {
            clients[publisher].news.reversed().lazy.compactMap { if case .streamReport(let quality) = $0 { quality } else { nil } }.first
        }
        for round in 1...100 as ClosedRange<UInt64> where newest()?.receivers != listeners.count {
            for (place, listener) in listeners.enumerated() {
                var report = ClientRequest.StreamReport(stream: stream)
                report.received = round * 80
                report.played = round * 80
                report.concealed = place == 0 ? round * 20 : 0
                report.bufferMilliseconds = Double(place) * 10
                _ = try clients.answer(listener, .report(.init(streams: [report])))
            }
            let until = MonotonicClock.now().advanced(byMilliseconds: 300)
            try clients.wait("a moment") { MonotonicClock.now() >= until }
        }
        let quality = try #require(newest())
        #expect(quality.stream == stream)
        #expect(quality.receivers == 8)
        #expect(abs(quality.concealedShare - 0.2 / 8) < 1e-9)
        #expect(abs(quality.concealedShareMax - 0.2) < 1e-9)
        #expect(quality.bufferMilliseconds == 35 && quality.bufferMillisecondsMax == 70)
        for listener in listeners {
            #expect(!clients[listener].news.contains { if case .streamReport = $0 { true } else { false } })
        }
    }

    @Test("RFC 3550 §6.4.1 jitter is the mean deviation of arrivals from timestamps; a new timeline is none")
    func jitter() {
        let start = MonotonicInstant(nanoseconds: 5_000_000_000)
        var steady = InterarrivalJitter()
        for number in 0..<100 as Range<UInt32> {
            steady.take(timestamp: .max - 4_800 &+ number * 960, ticksPerSecond: 48_000, now: start.advanced(byMilliseconds: UInt64(number) * 20))
        }
        #expect(steady.milliseconds < 0.001)
        var uneven = InterarrivalJitter()
        for number in 0..<1_000 as Range<UInt32> {
            let late: UInt64 = number.isMultiple(of: 2) ? 8 : 0
            uneven.take(timestamp: number * 960, ticksPerSecond: 48_000, now: start.advanced(byMilliseconds: UInt64(number) * 20 + late))
        }
        #expect(abs(uneven.milliseconds - 8) < 0.1)
        uneven.take(timestamp: 3_000_000_000, ticksPerSecond: 48_000, now: start.advanced(byMilliseconds: 20_000))
        #expect(abs(uneven.milliseconds - 8) < 0.1)
    }
}
