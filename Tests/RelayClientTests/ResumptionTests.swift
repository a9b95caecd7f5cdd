import MediaProtocol
import Signalling
import Testing

@testable import RelayClient

@Suite("Coming back: when, and what has come before")
struct ResumptionTests {
    /// Draws the same bits nearly each time: whoever draws until it is content gets something else in the end.
    private struct Fixed: RandomNumberGenerator {
        let bits: UInt64
        private var draws: UInt64 = 0

        init(bits: UInt64) {
            self.bits = bits
        }

        mutating func next() -> UInt64 {
            draws += 1
            return draws.isMultiple(of: 8) ? bits ^ (draws << 32) : bits
        }
    }

    @Test("tries come soon at first, then ever more rarely, within their bounds", arguments: [UInt64(0), .max / 3, .max])
    func backoff(_ bits: UInt64) {
        var generator = Fixed(bits: bits)
        var backoff = ResumeBackoff()
        let waits = (0..<12).map { _ in backoff.next(using: &generator) }
        #expect(waits[0] <= backoff.firstMillisecondsMax)
        for (place, wait) in waits.dropFirst().enumerated() {
            let whole = min(backoff.baseMilliseconds << UInt64(place), backoff.millisecondsMax)
            #expect(wait >= whole / 2 && wait <= whole)
        }
    }

    @Test("many clients do not come all at once")
    func spread() {
        var generator = SystemRandomNumberGenerator()
        let firsts = Set(
            (0..<200).map { _ in () }.map { _ -> UInt64 in
                var backoff = ResumeBackoff()
                return backoff.next(using: &generator)
            })
        #expect(firsts.count > 20)
    }

    @Test("a frame is new once, across the wrap of the numbers; configurations always are")
    func marks() {
        var marks = ReceivedMarks()
        func take(_ stream: UInt32, _ sequence: UInt32, _ kind: MediaKind = .audio) -> Bool {
            marks.take(MediaHeader(kind: kind, stream: StreamID(stream), sequence: sequence, timestamp: sequence &* 960))
        }
        let taken = [UInt32.max - 1, .max, 0, .max, 0, 1].map { take(1, $0) }
        #expect(taken == [true, true, true, false, false, true])
        let others = [take(2, 1), take(1, 1, .configuration), take(1, 1, .configuration)]
        #expect(others == [true, true, true])
        #expect(marks.all.map(\.stream) == [1, 2])
        #expect(marks.all[0].sequence == 1 && marks.all[0].timestamp == 960)
    }

    @Test("frames of each spatial layer are numbered apart; what is said of a stream is its last frame, of whichever layer")
    func layers() {
        var marks = ReceivedMarks()
        func take(_ layer: UInt8, _ sequence: UInt32) -> Bool {
            marks.take(
                MediaHeader(
                    kind: .video, layer: MediaLayer(spatial: layer, temporal: 0), stream: StreamID(1), sequence: sequence, timestamp: sequence))
        }
        let taken = [(UInt8(0), UInt32(7)), (1, 3), (1, 3), (0, 7)].map { take($0.0, $0.1) }
        #expect(taken == [true, true, false, false])
        #expect(marks.all == [.init(stream: 1, sequence: 3, timestamp: 3, layer: 1)])
        let back = take(0, 8)
        #expect(back && marks.all == [.init(stream: 1, sequence: 8, timestamp: 8)])
    }
}
