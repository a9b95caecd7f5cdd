internal import Reactor

/// The secrets that session tickets are sealed with (RFC 5077, RFC 8446 §4.6.1), shared by every loop and every ``TLSContext`` of the process.
///
/// A secret is used for new tickets during one rotation interval, and opens old ones during the next: a ticket thus lives between one and two intervals,
/// and a stolen secret opens nothing older. The keys proper are derived from the secret *and* the trust version, so a ticket made under other authorities,
/// revocation lists or certificates does not even have a name that is known here.
///
/// Their lock is taken a few times in a handshake, never on the path of a frame.
package final class TicketKeys: Sendable {
    /// Seconds for which one secret seals new tickets.
    package let rotationSeconds: Int64

    private struct Secret {
        var bytes: [UInt8]
        var born: Int64
    }

    private struct Secrets {
        var current: Secret?
        var previous: Secret?

        mutating func rotate(every rotationSeconds: Int64, now: Int64) {
            if let secret = current, now - secret.born < rotationSeconds, now >= secret.born { return }
            // A clock that was set back must not keep a secret alive: it is retired like an old one.
            if let secret = current, now - secret.born < 2 * rotationSeconds, now >= secret.born {
                previous = secret
            } else {
                previous = nil
            }
            current = secureRandomBytes(32).map { Secret(bytes: $0, born: now) }
        }
    }

    /// What one ticket is sealed or opened with: a 16-byte name sent in the clear, an AES-256 and an HMAC-SHA-256 key.
    struct Keys {
        let name: [UInt8]
        let cipherKey: [UInt8]
        let macKey: [UInt8]
    }

    private let secrets = Locked(Secrets())

    package init(rotationSeconds: Int64 = 3_600) {
        precondition(rotationSeconds > 0, "a rotation interval is positive")
        self.rotationSeconds = rotationSeconds
    }

    /// The keys for a new ticket; `nil` when the system has no entropy to make a secret from.
    func sealingKeys(trustVersion: SHA256Digest, now: Int64) -> Keys? {
        secrets.withLock { secrets in
            secrets.rotate(every: rotationSeconds, now: now)
            return secrets.current.map { Self.keys(from: $0, trustVersion: trustVersion) }
        }
    }

    /// The keys of the ticket named `name`, and whether it should be replaced by a fresh one; `nil` when none of the live secrets made it.
    func openingKeys(name: [UInt8], trustVersion: SHA256Digest, now: Int64) -> (keys: Keys, isPrevious: Bool)? {
        secrets.withLock { secrets in
            secrets.rotate(every: rotationSeconds, now: now)
            for (secret, isPrevious) in [(secrets.current, false), (secrets.previous, true)] {
                guard let secret else { continue }
                let keys = Self.keys(from: secret, trustVersion: trustVersion)
                if keys.name == name { return (keys, isPrevious) }
            }
            return nil
        }
    }

    private static func keys(from secret: Secret, trustVersion: SHA256Digest) -> Keys {
        func derive(_ label: String) -> [UInt8] {
            expandKey(secret.bytes, info: Array("segue ticket \(label)".utf8) + trustVersion.bytes)
        }
        return Keys(name: Array(derive("name")[..<16]), cipherKey: derive("cipher"), macKey: derive("mac"))
    }
}
