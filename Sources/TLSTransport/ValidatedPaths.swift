internal import COpenSSL
internal import Reactor

/// Clients' certificate paths that were found good under one context, so that one that comes again is not verified from scratch: path validation is two to four
/// signature checks, and most of what a resumed handshake would cost.
///
/// A verdict depends on the certificates, on the trust store with its revocation lists, and on the time. The store is the context's, and each context begins
/// with none: a new revocation list is a new context. The time is bounded to where no certificate of the path and no list of the store begins or ends. That
/// the client has the certificate's key is not part of a verdict: each full handshake proves it anew. Only good verdicts are kept.
///
/// It also lets connections of one client share one ``ForwardedPeer``.
///
/// Its lock is taken twice in a handshake.
final class ValidatedPaths: Sendable {
    private struct Entry {
        let peer: ForwardedPeer
        /// Seconds since 1970.
        let validity: Range<Int64>
    }

    private struct Table {
        var entries: [SHA256Digest: Entry] = [:]
        /// In a ring from `next` on, the oldest first.
        var order: [SHA256Digest] = []
        var next = 0
    }

    /// The oldest gives way to the newest.
    static let pathsMax = 4_096
    /// A path of more bytes is verified each time: clients choose what they send beside their certificates.
    static let pathBytesMax = 4 << 10

    private let table = Locked(Table())

    /// Whether the path was found good, and nothing that the verdict rests on begins or ends before `seconds` (since 1970).
    func isGood(_ path: SHA256Digest, at seconds: Int64) -> Bool {
        table.withLock { $0.entries[path]?.validity.contains(seconds) ?? false }
    }

    /// Whose path it is; `nil` when it is not known. That it was good once does not say that it is now.
    func peer(_ path: SHA256Digest) -> ForwardedPeer? {
        table.withLock { $0.entries[path]?.peer }
    }

    var count: Int { table.withLock { $0.entries.count } }

    func keep(_ peer: ForwardedPeer, _ path: SHA256Digest, validity: Range<Int64>) {
        table.withLock { table in
            guard table.entries.updateValue(Entry(peer: peer, validity: validity), forKey: path) == nil else { return }
            if table.order.count < ValidatedPaths.pathsMax {
                table.order.append(path)
            } else {
                table.entries[table.order[table.next]] = nil
                table.order[table.next] = path
                table.next = (table.next + 1) % ValidatedPaths.pathsMax
            }
        }
    }
}

extension TLSContext {
    /// From when to when (seconds since 1970, the end not included) a path that was just found good stays good under this context; `nil`: it does not.
    ///
    /// - Parameter chain: the path, from the leaf to the root.
    func validity(of chain: OpaquePointer?) -> Range<Int64>? {
        var start = listValidity.lowerBound
        var end = listValidity.upperBound
        for index in unsafe 0..<segue_ssl_x509_count(chain) {
            guard let certificate = unsafe segue_ssl_x509_at(chain, index),
                let notBefore = unsafe CertificateReader.unixSeconds(X509_get0_notBefore(certificate)),
                let notAfter = unsafe CertificateReader.unixSeconds(X509_get0_notAfter(certificate))
            else { return nil }
            start = max(start, notBefore)
            end = min(end, notAfter)
        }
        return start < end ? start..<end : nil
    }

    /// When all of the lists are in force: whether one of them matters for a path is not asked. Empty when they never are together.
    static func validity(of lists: [LibraryObject]) -> Range<Int64> {
        var start = Int64.min
        var end = Int64.max
        for list in lists {
            guard let issued = unsafe CertificateReader.unixSeconds(X509_CRL_get0_lastUpdate(list.pointer)) else { return 0..<0 }
            start = max(start, issued)
            guard let next = unsafe X509_CRL_get0_nextUpdate(list.pointer) else { continue }
            guard let replaced = unsafe CertificateReader.unixSeconds(next) else { return 0..<0 }
            end = min(end, replaced)
        }
        return start < end ? start..<end : 0..<0
    }
}
