internal import COpenSSL

/// Comparing secrets.
package enum ConstantTime {
    /// Whether both are the same bytes. The time it takes tells their lengths, and nothing of what they hold.
    package static func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        return unsafe CRYPTO_memcmp(left, right, left.count) == 0
    }

    package static func equal(_ left: String, _ right: String) -> Bool {
        equal(Array(left.utf8), Array(right.utf8))
    }
}
