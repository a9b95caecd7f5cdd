import RelayBase
import Testing

@testable import RelayRooms

/// A broker with a clock and clients that are connected to it, without a relay.
final class PairHarness {
    static let openPolicy: AccessPolicy = {
        var policy = AccessPolicy()
        guard let everybody = IdentityPattern("*") else { preconditionFailure("a star is a pattern") }
        policy.pairRequests = [.init(a: [everybody], b: [everybody])]
        policy.pairCodes = [everybody]
        return policy
    }()

    var broker: PairBroker
    var generator = SeededGenerator(seed: 7)
    var milliseconds: UInt64 = 1_000_000
    private var nextToken: UInt64 = 1

    init(_ policy: AccessPolicy = PairHarness.openPolicy, ledger: PairLedger? = nil, limits: PairLimits = PairLimits()) {
        broker = PairBroker(policy: policy, ledger: ledger ?? PairLedger(limits: limits), limits: limits, digest: PairHarness.digest)
    }

    /// Stands in for SHA-256: other bytes, other digits.
    static let digest: @Sendable ([UInt8]) -> String = { bytes in
        var words: [UInt64] = [1, 2, 3, 4]
        for byte in bytes {
            for place in words.indices { words[place] = (words[place] ^ UInt64(byte)) &* (0x0000_0100_0000_01B3 + UInt64(place) * 2) }
        }
        return words.map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    var moment: PairMoment {
        PairMoment(now: MonotonicInstant.zero.advanced(byMilliseconds: milliseconds), unixMilliseconds: 1_800_000_000_000 + Int64(milliseconds))
    }

    func wait(seconds: Double) {
        milliseconds += UInt64(seconds * 1_000)
        broker.expire(at: moment)
    }

    /// A fingerprint that begins with a word's bytes.
    static func key(_ word: String) -> String {
        let digits = word.utf8.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return String((digits + String(repeating: "0", count: 64)).prefix(64))
    }

    static func principal(_ name: String, key: String? = nil, proofs: ProofSet = .certificate) -> Principal {
        let uri = "urn:segue:client:\(name)"
        return Principal(
            name: uri, names: [PrincipalName(.uri, uri)], fingerprint: proofs.hasCertificate ? PairHarness.key(key ?? name) : nil, proofs: proofs)
    }

    /// Connects a client: `name` is its identity, `key` one of its keys.
    func connect(_ name: String, key: String? = nil, proofs: ProofSet = .certificate, device: String? = nil) -> MemberAddress {
        let address = MemberAddress(loop: 0, token: nextToken)
        nextToken += 1
        broker.appeared(.init(address: address, principal: PairHarness.principal(name, key: key, proofs: proofs), device: device), at: moment)
        return address
    }

    func request(_ address: MemberAddress, _ name: String, key: String? = nil) throws(PairRefusal) -> PairBroker.Requested {
        try broker.request(
            by: address, peer: "urn:segue:client:\(name)", fingerprint: key.map(PairHarness.key), at: moment, using: &generator)
    }

    /// Requests where no policy pairs the two outright.
    func ask(_ address: MemberAddress, _ name: String, key: String? = nil) throws -> String {
        guard case .open(let id, _) = try request(address, name, key: key) else {
            Issue.record("a pair at once")
            return ""
        }
        return id
    }

    func accept(_ address: MemberAddress, _ id: String) throws(PairRefusal) -> PairView {
        try broker.accept(id, by: address, at: moment, using: &generator)
    }

    func code(_ address: MemberAddress) throws(PairRefusal) -> String {
        try broker.openCode(by: address, at: moment, using: &generator).code.text
    }

    func enter(_ address: MemberAddress, _ code: String, from source: UInt64 = 1) throws(PairRefusal) -> PairView {
        try broker.enter(code, by: address, from: PairSource(high: 0, low: source), at: moment, using: &generator)
    }

    func admits(_ name: String, to room: RoomName, presenting grant: PairGrant? = nil) -> Bool {
        do throws(PairRefusal) {
            try broker.admit(PairHarness.key(name), to: room, presenting: grant, at: moment)
            return true
        } catch {
            return false
        }
    }

    /// What was told since the last look, and to whom.
    func news() -> [(MemberAddress, PairEvent)] {
        broker.takeEffects().flatMap { effect -> [(MemberAddress, PairEvent)] in
            if case .tell(let addresses, let event) = effect { addresses.map { ($0, event) } } else { [] }
        }
    }
}

/// The refusal that a body throws; `nil` when it throws none.
func pairRefusal<Result>(_ body: () throws(PairRefusal) -> Result) -> PairRefusal? {
    do throws(PairRefusal) {
        _ = try body()
        return nil
    } catch {
        return error
    }
}
