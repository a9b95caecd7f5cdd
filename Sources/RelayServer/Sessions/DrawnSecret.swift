import TLSTransport

/// A text that nobody guesses, from the system's generator, in hexadecimal. What a client is to show once is known here by its digest alone.
struct DrawnSecret: Sendable {
    let text: String

    init(byteCount: Int) {
        var generator = SystemRandomNumberGenerator()
        text = hexadecimal((0..<byteCount).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    var digest: SHA256Digest { DrawnSecret.digest(of: text) }

    /// Of a text that a client shows.
    static func digest(of text: String) -> SHA256Digest { SHA256Digest(hashing: Array(text.utf8)) }
}
