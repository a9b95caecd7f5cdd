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
        let secret = DrawnSecret(byteCount: ResumeTickets.tokenBytes)
        let digest = secret.digest
        insert(digest, session)
        return (secret.text, digest)
    }

    func claim(_ token: String, by owner: ResumeOwner, onlyOn loop: Int?) -> (digest: SHA256Digest, claim: Table.Claim) {
        let digest = DrawnSecret.digest(of: token)
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
