import Glibc
import WebSocketProtocol

/// Masking keys from the system's generator (RFC 6455 §5.3, §10.3), a thousand at a time.
struct MaskingKeys {
    /// The most that one call of getentropy(3) gives.
    private static let entropyBytesMax = 256

    private var keys = [UInt32](repeating: 0, count: 1_024)
    private var next = 1_024

    mutating func take() -> WebSocketMaskingKey {
        if next == keys.count { refill() }
        defer { next += 1 }
        return WebSocketMaskingKey(keys[next])
    }

    /// 16 bytes for a `Sec-WebSocket-Key`.
    mutating func nonce() -> [UInt8] {
        var bytes: [UInt8] = []
        for _ in 0..<4 {
            let value = take().bigEndianValue
            for shift in [24, 16, 8, 0] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: value >> shift)) }
        }
        return bytes
    }

    private mutating func refill() {
        unsafe keys.withUnsafeMutableBytes { buffer in
            for start in stride(from: 0, to: buffer.count, by: Self.entropyBytesMax) {
                let count = min(Self.entropyBytesMax, buffer.count - start)
                let result = unsafe getentropy(buffer.baseAddress.map { unsafe $0 + start }, count)
                precondition(result == 0, "getentropy(3) does not fail on Linux")
            }
        }
        next = 0
    }
}
