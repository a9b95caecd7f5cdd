import MediaProtocol
import RelayBase
import RelayClient
import Testing

@Suite("Protocol §5.2: what a publisher that has fallen behind still sends")
struct LiveEdgeTests {
    private struct Frame {
        let lateMilliseconds: UInt64
        var isKey = false
        var isDiscardable = false
    }

    private static func sent(_ kind: MediaKind, isBehind: Bool = true, _ frames: [Frame]) -> (places: [Int], gaps: [Int], skipped: UInt64) {
        var edge = LiveEdge(kind: kind)
        var places: [Int] = []
        var gaps: [Int] = []
        for (place, frame) in frames.enumerated()
        where edge.takes(
            latenessNanoseconds: frame.lateMilliseconds * 1_000_000, isKey: frame.isKey, isDiscardable: frame.isDiscardable, isBehind: isBehind)
        {
            places.append(place)
            if edge.takeGap() { gaps.append(place) }
        }
        return (places, gaps, edge.skipped)
    }

    @Test("audio older than its deadline is left out, and the first frame behind it says that there was a gap")
    func audio() {
        let limit = UInt64(Limits().audioDeadlineMilliseconds)
        let frames = [3_000, limit + 1, limit, 20, 0].map { Frame(lateMilliseconds: $0, isKey: true) }
        let result = Self.sent(.audio, frames)
        #expect(result.places == [2, 3, 4] && result.gaps == [2] && result.skipped == 2)
    }

    @Test("video goes on with a key frame that is in time; a late one starts nothing")
    func video() {
        let frames = [
            Frame(lateMilliseconds: 2_000), Frame(lateMilliseconds: 1_000, isKey: true), Frame(lateMilliseconds: 300), Frame(lateMilliseconds: 200),
            Frame(lateMilliseconds: 100, isKey: true), Frame(lateMilliseconds: 60),
        ]
        let result = Self.sent(.video, frames)
        #expect(result.places == [4, 5] && result.gaps == [4] && result.skipped == 4)
    }

    @Test("a late frame that no other needs costs nothing but itself")
    func discardable() {
        let frames = [Frame(lateMilliseconds: 10, isKey: true), Frame(lateMilliseconds: 900, isDiscardable: true), Frame(lateMilliseconds: 390)]
        let result = Self.sent(.video, frames)
        #expect(result.places == [0, 2] && result.gaps == [2] && result.skipped == 1)
    }

    @Test("on a machine that was busy for a moment nothing is left out", arguments: [MediaKind.audio, .video])
    func busy(kind: MediaKind) {
        let result = Self.sent(kind, isBehind: false, [3_000, 2_000, 1_000].map { Frame(lateMilliseconds: $0) })
        #expect(result.places == [0, 1, 2] && result.gaps.isEmpty && result.skipped == 0)
    }
}
