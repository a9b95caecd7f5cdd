import FoundationEssentials
import Glibc
import RelayRooms

/// Why the state folder cannot be used.
package struct StateFault: Error, Sendable, CustomStringConvertible {
    package let path: String
    package let reason: String

    package var description: String { "\(path): \(reason)" }
}

/// `grants.json`: the grants, and the revocations that outlive them. It holds no secret: what makes a grant is the relay's signature.
enum GrantFile {
    static let name = "grants.json"
    private static let version = 1
    private static let bytesMax = 64 << 20

    private struct Document: Codable {
        var version: Int
        var pairs: [Pair]
    }

    private struct Pair: Codable {
        var low: Party
        var high: Party
        var grant: Grant?
        var revoked: Revocation?
    }

    private struct Party: Codable {
        var name: String?
        var fingerprint: String
        var forwarded: Bool?
    }

    private struct Grant: Codable {
        var id: String
        var basis: String
        /// Seconds since 1970, as everywhere in the file.
        var issued: Int64
        var expires: Int64
    }

    private struct Revocation: Codable {
        var at: Int64
        var until: Int64
    }

    // MARK: Reading

    /// Blocks on the disk. No file is an empty ledger; one that is not whole is a fault: to go on without it would bring revoked grants back to life.
    static func read(_ path: String, limits: PairLimits) throws(StateFault) -> PairLedger {
        var ledger = PairLedger(limits: limits)
        guard let bytes = try StateFolder.read(path, bytesMax: bytesMax) else { return ledger }
        guard let document = try? JSONDecoder().decode(Document.self, from: Data(bytes)) else {
            throw StateFault(path: path, reason: "is damaged; restore it, or move it away, which forgets all grants and revocations")
        }
        guard document.version == version else { throw StateFault(path: path, reason: "has version \(document.version), not \(version)") }
        for (index, pair) in document.pairs.enumerated() {
            guard let (keys, entry) = entry(pair) else { throw StateFault(path: path, reason: "pairs[\(index)] is damaged") }
            do { try ledger.restore(keys, entry) } catch { throw StateFault(path: path, reason: "holds more pairs than a relay may") }
        }
        return ledger
    }

    private static func entry(_ pair: Pair) -> (PairKeys, PairLedger.Entry)? {
        guard let keys = PairKeys(pair.low.fingerprint, pair.high.fingerprint) else { return nil }
        var entry = PairLedger.Entry(grant: nil, revocation: pair.revoked.map { .init(at: $0.at, until: $0.until) })
        if let stored = pair.grant {
            guard let basis = PairBasis(rawValue: stored.basis), basis != .policy, let low = pair.low.name, let high = pair.high.name,
                let grant = PairGrant(
                    id: stored.id, basis: basis, .init(name: low, fingerprint: pair.low.fingerprint, isForwarded: pair.low.forwarded ?? false),
                    .init(name: high, fingerprint: pair.high.fingerprint, isForwarded: pair.high.forwarded ?? false), issuedAt: stored.issued,
                    expiresAt: stored.expires)
            else { return nil }
            entry.grant = grant
        }
        return entry.grant == nil && entry.revocation == nil ? nil : (keys, entry)
    }

    // MARK: Writing

    /// Blocks on the disk.
    static func write(_ entries: [PairKeys: PairLedger.Entry], to path: String) throws(StateFault) {
        let pairs = entries.sorted { ($0.key.low, $0.key.high) < ($1.key.low, $1.key.high) }.map(pair)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(Document(version: version, pairs: pairs)) else {
            throw StateFault(path: path, reason: "cannot be encoded")
        }
        try StateFolder.replace(path, with: Array(data))
    }

    private static func pair(_ keys: PairKeys, _ entry: PairLedger.Entry) -> Pair {
        Pair(
            low: party(entry.grant?.low, keys.low), high: party(entry.grant?.high, keys.high),
            grant: entry.grant.map { Grant(id: $0.id, basis: $0.basis.rawValue, issued: $0.issuedAt, expires: $0.expiresAt) },
            revoked: entry.revocation.map { Revocation(at: $0.at, until: $0.until) })
    }

    private static func party(_ party: PairParty?, _ fingerprint: String) -> Party {
        Party(name: party?.name, fingerprint: fingerprint, forwarded: party?.isForwarded == true ? true : nil)
    }
}
