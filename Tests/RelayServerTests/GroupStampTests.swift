import RelayBase
import Testing

@testable import RelayServer

@Suite("When a cached group began, at another loop")
struct GroupStampTests {
    private static func instant(_ microseconds: UInt64) -> MonotonicInstant { MonotonicInstant(nanoseconds: microseconds * 1_000) }

    @Test(
        "it is never later than the truth, and less than a millisecond earlier",
        arguments: [(70_000_500, 70_000_900, 70_003_200), (65_535_999, 65_536_000, 65_540_000), (1_999, 2_000, 2_001), (500, 10_000_000, 10_400_000)]
            as [(UInt64, UInt64, UInt64)])
    func crossing(start: UInt64, sent: UInt64, received: UInt64) {
        let found = GroupStamp(Self.instant(start), now: Self.instant(sent)).start(now: Self.instant(received))
        #expect(found <= Self.instant(start))
        #expect(Self.instant(start).nanoseconds - found.nanoseconds < 1_000_000)
    }

    @Test("a group of long ago is old, however long ago", arguments: [60_000_000, 131_072_000, 900_000_000] as [UInt64])
    func old(age: UInt64) {
        let now = Self.instant(1_000_000_000)
        let found = GroupStamp(Self.instant(1_000_000_000 - age), now: now).start(now: now)
        #expect(now.milliseconds(since: found) >= 30_000)
    }

    @Test("a turn that began before the group takes it for its own time")
    func early() {
        let found = GroupStamp(Self.instant(5_003_000), now: Self.instant(5_003_000)).start(now: Self.instant(5_001_000))
        #expect(found == Self.instant(5_001_000))
    }
}
