import RelayBase
import Testing
import WebSocketProtocol

@Suite struct UTF8Tests {
    /// Index of the first byte at which the validator refuses; `nil` when it takes all.
    private func firstRefusal(_ bytes: [UInt8]) -> Int? {
        var validator = UTF8Validator()
        for (index, byte) in bytes.enumerated() {
            let accepted = unsafe [byte].withUnsafeBytes { unsafe validator.append($0) }
            if !accepted { return index }
        }
        return nil
    }

    private func isValid(_ bytes: [UInt8]) -> Bool {
        var validator = UTF8Validator()
        return unsafe bytes.withUnsafeBytes { unsafe validator.append($0) } && validator.isComplete
    }

    private static let valid: [[UInt8]] = [
        [], [0x00], [0x7F], [0xC2, 0x80], [0xDF, 0xBF], [0xE0, 0xA0, 0x80], [0xED, 0x9F, 0xBF], [0xEE, 0x80, 0x80], [0xEF, 0xBF, 0xBD],
        [0xEF, 0xBF, 0xBE], [0xEF, 0xBF, 0xBF], [0xF0, 0x90, 0x80, 0x80], [0xF4, 0x8F, 0xBF, 0xBF], [0xF0, 0x9F, 0xBF, 0xBF],
        Array("κόσμε".utf8), Array("Hello-µ@ßöäüàá-UTF-8!!".utf8), Array("0123456789abcdef0123456789abcdef".utf8),
    ]

    /// The bytes and the index of the byte that makes them invalid.
    private static let invalid: [([UInt8], Int)] = [
        ([0x80], 0), ([0xBF], 0), ([0xFE], 0), ([0xFF], 0), ([0xC0, 0xAF], 0), ([0xC1, 0xBF], 0), ([0xF5, 0x80], 0), ([0xF8, 0x88], 0), ([0xFC], 0),
        ([0xE0, 0x80, 0xAF], 1), ([0xE0, 0x9F, 0xBF], 1), ([0xF0, 0x80, 0x80, 0xAF], 1), ([0xF0, 0x8F, 0xBF, 0xBF], 1), ([0xED, 0xA0, 0x80], 1),
        ([0xED, 0xBF, 0xBF], 1), ([0xF4, 0x90, 0x80, 0x80], 1), ([0xC2, 0x20], 1), ([0xE1, 0x80, 0x41], 2), ([0xF1, 0x80, 0x80, 0xC0], 3),
        (Array("κόσμε".utf8) + [0xF4, 0x90], 11), (Array("aaaaaaaaaaaaaaaaaaaaaaa".utf8) + [0xFF], 23), ([0xCE, 0xCE], 1),
    ]

    @Test("RFC 3629 §4 valid sequences are complete", arguments: valid)
    func accepts(bytes: [UInt8]) {
        #expect(isValid(bytes))
        #expect(firstRefusal(bytes) == nil)
    }

    @Test("§8.1 the first impossible byte is refused, not the end of its sequence", arguments: invalid)
    func refuses(bytes: [UInt8], index: Int) {
        #expect(!isValid(bytes))
        #expect(firstRefusal(bytes) == index)
    }

    @Test("A sequence cut short is not complete", arguments: [[0xCE], [0xE1, 0x80], [0xF0, 0x9F, 0xBF]] as [[UInt8]])
    func incomplete(bytes: [UInt8]) {
        #expect(firstRefusal(bytes) == nil)
        #expect(!isValid(bytes))
    }

    @Test("Agrees with the standard library on random bytes near UTF-8, in any chunks", arguments: 0..<200)
    func agreesWithStandardLibrary(seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<20 {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 0...12, using: &generator) {
                let scalar = Unicode.Scalar(UInt32.random(in: 0...0x11_FFFF, using: &generator) >> UInt32.random(in: 0...14, using: &generator))
                bytes += Array(String(Character(scalar ?? "a")).utf8)
            }
            if !bytes.isEmpty, Bool.random(using: &generator) {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            let expected = String(validating: bytes, as: UTF8.self) != nil
            #expect(isValid(bytes) == expected)
            let cut = Int.random(in: 0...bytes.count, using: &generator)
            var validator = UTF8Validator()
            let head = unsafe bytes[..<cut].withUnsafeBytes { unsafe validator.append($0) }
            let tail = unsafe head && bytes[cut...].withUnsafeBytes { unsafe validator.append($0) }
            #expect((tail && validator.isComplete) == expected)
        }
    }
}
