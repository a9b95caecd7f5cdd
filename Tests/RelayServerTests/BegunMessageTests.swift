import RelayBase
import Testing

@testable import RelayServer

@Suite("Control messages that are cut by the room that there is")
struct BegunMessageTests {
    /// An unmasked text message with its length in as few bytes as that takes.
    private func message(_ length: Int) -> [UInt8] {
        let head: [UInt8] =
            if length < 126 {
                [0x81, UInt8(length)]
            } else if length <= 0xFFFF {
                [0x81, 126] + [8, 0].map { UInt8(truncatingIfNeeded: length >> $0) }
            } else {
                [0x81, 127] + (0..<8).map { UInt8(truncatingIfNeeded: length >> (56 - 8 * $0)) }
            }
        return head + [UInt8](repeating: 0x7E, count: length)
    }

    @Test("RFC 6455 §5.4: wherever a message is cut, in its head too, its rest is known", arguments: 0..<60 as Range<UInt64>)
    func rests(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let lengths = (0..<12).map { _ in [0, 5, 125, 126, 700, 0xFFFF, 0x1_0000, 70_000].randomElement(using: &random) ?? 0 }
        var ends: [Int] = []
        var bytes: [UInt8] = []
        for length in lengths {
            bytes += message(length)
            ends.append(bytes.count)
        }
        var begun = BegunMessage()
        var place = 0
        while place < bytes.count {
            let step = min(bytes.count - place, Int.random(in: 1...(Bool.random(using: &random) ? 12 : 60_000), using: &random))
            unsafe bytes.withUnsafeBytes { all in
                unsafe begun.note(
                    UnsafeRawBufferPointer(rebasing: all[place..<(place + step)]), UnsafeRawBufferPointer(rebasing: all[(place + step)...]))
            }
            place += step
            let end = ends.first { $0 >= place } ?? 0
            #expect(begun.rest == end - place)
        }
    }
}
