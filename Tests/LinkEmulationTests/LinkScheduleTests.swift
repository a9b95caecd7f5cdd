import Testing

@testable import LinkEmulation

@Suite("The words that describe a link")
struct LinkScheduleTests {
    @Test(
        "changes are read with their units and directions",
        arguments: [
            ("rate=2000", [DirectedChange(directions: .both, change: .bitsPerSecond(2e6))]),
            ("ab.delay=20.5", [DirectedChange(directions: .aToB, change: .delayNanoseconds(20_500_000))]),
            (
                "ba.loss=1,stall=1",
                [DirectedChange(directions: .bToA, change: .lossShare(0.01)), DirectedChange(directions: .both, change: .stall(true))]
            ),
            (
                "jitter=3,queue=25000",
                [
                    DirectedChange(directions: .both, change: .jitterNanoseconds(3_000_000)),
                    DirectedChange(directions: .both, change: .queueBytesMax(25_000)),
                ]
            ),
            ("stall=0", [DirectedChange(directions: .both, change: .stall(false))]),
        ])
    func changes(text: String, expected: [DirectedChange]) throws {
        #expect(try DirectedChange.list(text) == expected)
    }

    @Test(
        "what says nothing about a link is refused",
        arguments: [
            "", "rate", "rate=", "rate=-1", "rate=nan", "rate=inf", "rate=1e12", "delay=1e9", "loss=101", "queue=1e10", "speed=1", "xy.rate=1",
            "rate=1,,", "ab.=1",
        ])
    func refused(text: String) {
        #expect(throws: LinkSyntaxFault.self) { try DirectedChange.list(text) }
    }

    @Test("a schedule gives its changes at their times, in order, each once")
    func schedule() throws {
        var schedule = LinkSchedule()
        try schedule.add("10:rate=200")
        try schedule.add("2.5:stall=1,ab.delay=1")
        try schedule.add("10:rate=300")
        #expect(schedule.nextOffsetNanoseconds == 2_500_000_000)
        #expect(schedule.next(elapsedNanoseconds: 2_499_999_999) == nil)
        #expect(schedule.next(elapsedNanoseconds: 2_500_000_000)?.change == .stall(true))
        #expect(schedule.next(elapsedNanoseconds: 2_500_000_000)?.change == .delayNanoseconds(1_000_000))
        #expect(schedule.next(elapsedNanoseconds: 2_500_000_000) == nil)
        #expect(schedule.next(elapsedNanoseconds: 60_000_000_000)?.change == .bitsPerSecond(200e3))
        #expect(schedule.next(elapsedNanoseconds: 60_000_000_000)?.change == .bitsPerSecond(300e3))
        #expect(schedule.nextOffsetNanoseconds == nil)
    }

    @Test(
        "an entry without a time, or with an impossible one, is refused",
        arguments: ["rate=1", ":rate=1", "-1:rate=1", "x:rate=1", "1e9:rate=1", "1:"])
    func refusedEntries(text: String) {
        var schedule = LinkSchedule()
        #expect(throws: LinkSyntaxFault.self) { try schedule.add(text) }
    }
}
