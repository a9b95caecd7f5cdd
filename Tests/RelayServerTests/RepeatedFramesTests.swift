import Testing

@testable import RelayServer

@Suite("Protocol §3.18: what a publisher sends again after it came back")
struct RepeatedFramesTests {
    @Test(
        "frames up to the last that came are repeated, across the wrap of the numbers",
        arguments: [
            (UInt32(10), [UInt32(8), 9, 10, 11, 12], 3), (UInt32(0), [UInt32.max, 0, 1], 2), (UInt32.max, [UInt32.max - 1, .max, 0, 1], 2),
            (UInt32(5), [UInt32(6), 7], 0),
        ] as [(UInt32, [UInt32], Int)])
    func repeated(last: UInt32, sent: [UInt32], dropped: Int) {
        var repeats: RepeatedFrames? = RepeatedFrames(after: [last])
        var count = 0
        for sequence in sent {
            switch repeats?.look(at: sequence, isConfiguration: false) {
            case .repeated: count += 1
            case .newAgain: repeats = nil
            case .new, nil: break
            }
        }
        #expect(count == dropped)
        #expect(repeats == nil)
    }

    @Test("a configuration goes with the frame that it precedes, and ends no search")
    func configurations() {
        var repeats = RepeatedFrames(after: [10])
        let verdicts = [(UInt32(10), true), (11, true), (10, false), (11, false)].map { repeats.look(at: $0.0, isConfiguration: $0.1) }
        #expect(verdicts == [.repeated, .new, .repeated, .newAgain])
    }

    @Test("a publisher that numbers its frames in its own way is heard again")
    func bounded() {
        var repeats = RepeatedFrames(after: [10])
        var dropped = 0
        while repeats.look(at: 10, isConfiguration: false) == .repeated { dropped += 1 }
        #expect(dropped == RepeatedFrames.framesMax - 1)
    }

    @Test("each spatial layer is looked at by its own numbers; one of which none has come repeats nothing")
    func layers() {
        var repeats = RepeatedFrames(after: [10, nil, 3])
        let verdicts = [(UInt32(4), 2), (10, 0), (1, 1), (9, 7), (3, 2), (11, 0)].map { repeats.look(at: $0.0, layer: $0.1, isConfiguration: false) }
        #expect(verdicts == [.new, .repeated, .new, .new, .new, .newAgain])
    }
}
