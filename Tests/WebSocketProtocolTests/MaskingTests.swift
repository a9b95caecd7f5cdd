import RelayBase
import Testing
import WebSocketProtocol

@Suite struct MaskingTests {
    private func reference(_ bytes: [UInt8], _ key: UInt32) -> [UInt8] {
        let keyBytes = Wire.bigEndian(UInt64(key), bytes: 4)
        return bytes.enumerated().map { $1 ^ keyBytes[$0 % 4] }
    }

    @Test("§5.3 the word-wise kernel equals the byte-wise rule at every alignment and length")
    func alignments() {
        var generator = SeededGenerator(seed: 1)
        for misalignment in 0..<16 {
            for count in 0..<70 {
                let key = UInt32.random(in: 0 ... .max, using: &generator)
                let payload = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
                var memory = [UInt8](repeating: 0xA5, count: misalignment) + payload + [0xA5, 0xA5, 0xA5, 0xA5, 0xA5, 0xA5, 0xA5, 0xA5]
                unsafe memory.withUnsafeMutableBytes {
                    var masker = WebSocketMasker(.init(key))
                    unsafe masker.apply(to: UnsafeMutableRawBufferPointer(rebasing: $0[misalignment..<misalignment + count]))
                }
                #expect(Array(memory[misalignment..<misalignment + count]) == reference(payload, key))
                #expect(memory[..<misalignment].allSatisfy { $0 == 0xA5 } && memory[(misalignment + count)...].allSatisfy { $0 == 0xA5 })
            }
        }
    }

    @Test("§5.3 the key keeps its phase over any chunks", arguments: 0..<50)
    func chunks(seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        let key = UInt32.random(in: 0 ... .max, using: &generator)
        let payload = (0..<500).map { _ in UInt8.random(in: 0...255, using: &generator) }
        var masked = payload
        var masker = WebSocketMasker(.init(key))
        var offset = 0
        while offset < masked.count {
            let count = min(Int.random(in: 0...40, using: &generator), masked.count - offset)
            unsafe masked.withUnsafeMutableBytes {
                unsafe masker.apply(to: UnsafeMutableRawBufferPointer(rebasing: $0[offset..<offset + count]))
            }
            offset += count
        }
        #expect(masked == reference(payload, key))
    }

    @Test("§5.3 masking a span twice gives it back")
    func span() {
        var bytes = Array("Hello, masked world".utf8)
        let original = bytes
        for round in 0..<2 {
            var masker = WebSocketMasker(.init(0xDEAD_BEEF))
            var span = bytes.mutableSpan
            var raw = unsafe span.mutableBytes
            masker.apply(to: &raw)
            if round == 0 { #expect(bytes != original) }
        }
        #expect(bytes == original)
    }
}
