import Reactor
import RelayRooms
import TLSTransport

/// Which sessions of all loops can be resumed. Touched when a session says hello, is lost, comes back and ends; never per frame.
final class ResumeTickets: Sendable {
    typealias Table = ResumeTable<SHA256Digest>

    private static let shardCount = 16
    private static let tokenBytes = 32
    static let tokenTextBytes = tokenBytes * 2

    private let shards: [Locked<Table>]
    private let parked: Locked<ParkedCounts>

    init(parkedPerIdentityMax: Int) {
        shards = (0..<ResumeTickets.shardCount).map { _ in Locked(Table()) }
        parked = Locked(ParkedCounts(perNameMax: parkedPerIdentityMax))
    }

    /// A new token for a session, from the system's generator, and the digest that it is known by here.
    func issue(_ session: Table.Session) -> (token: String, digest: SHA256Digest) {
        var generator = SystemRandomNumberGenerator()
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for _ in 0..<ResumeTickets.tokenBytes {
            let byte = UInt8.random(in: .min ... .max, using: &generator)
            text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
        let digest = SHA256Digest(hashing: text)
        insert(digest, session)
        return (String(decoding: text, as: UTF8.self), digest)
    }

    func claim(_ token: String, by owner: ResumeOwner, onlyOn loop: Int?) -> (digest: SHA256Digest, claim: Table.Claim) {
        let digest = SHA256Digest(hashing: Array(token.utf8))
        return (digest, shard(of: digest).withLock { $0.claim(digest, by: owner, onlyOn: loop) })
    }

    func giveBack(_ claim: ResumeClaim) {
        shard(of: claim.digest).withLock { $0.giveBack(claim.digest, claim.number) }
    }

    func insert(_ digest: SHA256Digest, _ session: Table.Session) {
        shard(of: digest).withLock { $0.insert(digest, session) }
    }

    func remove(_ digest: SHA256Digest) {
        shard(of: digest).withLock { $0.remove(digest) }
    }

    /// Takes one more session into keeping; false when there are as many of that identity as may be.
    func park(_ name: String) -> Bool {
        parked.withLock { $0.add(name) }
    }

    func unpark(_ name: String) {
        parked.withLock { $0.remove(name) }
    }

    private func shard(of digest: SHA256Digest) -> Locked<Table> {
        shards[Int(digest.bytes[0]) % shards.count]
    }
}
