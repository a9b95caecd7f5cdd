import RelayRooms
import Signalling

/// What loops, the worker and the administration say to the loop that pairing lives on, ``PairDesk/loop``.
enum PairMail: Sendable {
    /// A session has said hello, or has proven more than before.
    case appeared(PresenceTable.Session)
    case vanished(MemberAddress)
    case ask(PairAsk)
    case join(PairJoin)
    /// The ledger of this version, or a later one, is on the disk, or could not be written.
    case stored(UInt64, isOnDisk: Bool)
    case signed([PairSigner.Signed], for: PairAsk)
    /// For administrators: all grants.
    case listGrants(PairReply)
    /// For administrators: ends a pair by grant, by its number.
    case revokeGrant(String, PairReply)
}

/// A request about pairs, as it is decided on the loop that pairing lives on.
struct PairAsk: Sendable {
    let address: MemberAddress
    let requestID: UInt64
    let request: ClientRequest
    /// For the audit log: who asks, and from where.
    let actor: String
    let isAdministrator: Bool
    let origin: String
    /// For counting wrong codes.
    let source: PairSource
    /// Its pairs were signed by the worker already.
    var isSigned = false
}

/// A join of a pair's room: passed on to the room's home once the pair is known to be one.
struct PairJoin: Sendable {
    let request: JoinRequest
    /// Of the key that the client has proven by its certificate.
    let fingerprint: String
    /// What it presents as grant.
    let grant: String?
}

/// How an administrator's request is answered: a message that `loop` understands, made of the result.
struct PairReply: Sendable {
    let loop: Int
    let message: @Sendable (Result<[PairGrant], PairRefusal>) -> LoopMessage
}
