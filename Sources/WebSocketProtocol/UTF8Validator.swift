/// Checks UTF-8 as it arrives, chunk by chunk, and refuses the first byte that no valid text can have there (RFC 3629 §4, RFC 6455 §8.1).
///
/// Overlong forms, surrogates and code points above U+10FFFF are refused at the byte that makes them so, not at the end of the sequence.
package struct UTF8Validator: Equatable, Sendable {
    /// Continuation bytes that the open sequence still needs, 0…3.
    private var pending: UInt8 = 0
    /// What the next continuation byte may be. Narrower than 0x80…0xBF only just after some lead bytes.
    private var lower: UInt8 = 0x80
    private var upper: UInt8 = 0xBF

    package init() {}

    /// Whether the text may end here: no sequence is open.
    package var isComplete: Bool { pending == 0 }

    /// Takes the next chunk. Answers false as soon as a byte is invalid; the validator is of no use after that.
    package mutating func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let base = bytes.baseAddress else { return true }
        let count = bytes.count
        var offset = 0
        while offset < count {
            if pending == 0 {
                while count &- offset >= 8,
                    unsafe base.loadUnaligned(fromByteOffset: offset, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
                {
                    offset &+= 8
                }
                guard offset < count else { return true }
            }
            guard append(unsafe base.load(fromByteOffset: offset, as: UInt8.self)) else { return false }
            offset &+= 1
        }
        return true
    }

    package mutating func append(_ bytes: RawSpan) -> Bool {
        unsafe bytes.withUnsafeBytes { unsafe append($0) }
    }

    /// Takes one byte; the table is that of RFC 3629 §4.
    private mutating func append(_ byte: UInt8) -> Bool {
        if pending > 0 {
            guard byte >= lower, byte <= upper else { return false }
            pending &-= 1
            lower = 0x80
            upper = 0xBF
            return true
        }
        switch byte {
        case 0x00...0x7F:
            return true
        case 0xC2...0xDF:
            pending = 1
        case 0xE0:
            pending = 2
            lower = 0xA0
        case 0xED:
            pending = 2
            upper = 0x9F
        case 0xE1...0xEF:
            pending = 2
        case 0xF0:
            pending = 3
            lower = 0x90
        case 0xF1...0xF3:
            pending = 3
        case 0xF4:
            pending = 3
            upper = 0x8F
        default:
            return false
        }
        return true
    }
}
