import Reactor
import RelayBase
import RelayRooms
import Signalling
import TLSTransport

/// How a session can be resumed, and as long as it is parked: until when, and by whose certificate.
struct Resumption {
    /// Of the token that the latest `welcome` gave; `nil` without one.
    var ticket: SHA256Digest?
    /// Of the token that the session was resumed by last: good again when the connection is lost before anything came from the client that had the new
    /// one by then.
    var spent: SHA256Digest?
    /// When the latest `welcome` was said.
    var welcomedAt = MonotonicInstant.zero
    var parkedUntil = MonotonicInstant.distantFuture
    /// The certificate that the session lives by while it has no connection: revoked or expired, it ends as it would have with one.
    var peer: ForwardedPeer?
}

/// A token was shown, and is taken from whoever might show it as well. It is on its way to the session's loop, and back into the table if nothing comes of it.
struct ResumeClaim: Sendable {
    let digest: SHA256Digest
    let session: ResumeTickets.Table.Session
    /// The channel that said hello; another once its connection has moved.
    var newcomer: MemberAddress
    /// Of the `hello`.
    let requestID: UInt64
    /// `nil`: the client does not say what it has.
    let received: [ClientRequest.ReceivedFrame]?
    let wishes: SessionWishes?
    let device: String?
}
