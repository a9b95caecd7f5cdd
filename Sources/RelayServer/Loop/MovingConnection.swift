import HTTPProtocol
import HTTPTransport
import Reactor
import RelayBase
import TLSTransport

/// A connection on its way from one loop to another: the socket, what has been agreed over it, and the WebSockets that it carries, none of which has a session.
///
/// Safe to hand over: the loop that makes it has let go of everything in it before (its selector, its timers, its lists, its scratch), and the mailbox's lock
/// orders what it has written before what the other loop reads. Only the ``Connection`` object stays behind, closed and with no way to the socket that is taken.
final class MovingConnection: @unchecked Sendable {  // Safe: one loop makes it and forgets it, one loop takes it.
    enum Transport {
        /// The rest of the HTTP/1.1 response that has opened it comes before its frames.
        case webSocket(Channel)
        case http2(HTTP2Session, [(stream: HTTP2StreamID, channel: Channel)])
    }

    let secure: SecureConnection
    let descriptor: FileDescriptor
    let address: SocketAddress
    let hop: Hop
    let identity: PeerIdentity?
    let transport: Transport
    /// HTTP/1.1: responses that are still to be sent.
    var outbound = ByteQueue()
    let endsWithChannels: Bool
    let tokenBudget: RequestBudget
    /// What the certificate was measured by; `nil` when it is still to be measured.
    let trustVersion: SHA256Digest?
    let admission: Admission
    private var isTaken = false

    init(_ connection: Connection, _ transport: Transport, trustVersion: SHA256Digest?, admission: Admission) {
        secure = connection.secure
        descriptor = connection.descriptor
        address = connection.address
        hop = connection.hop
        identity = connection.identity
        self.transport = transport
        endsWithChannels = connection.endsWithChannels
        tokenBudget = connection.tokenBudget
        self.trustVersion = trustVersion
        self.admission = admission
        swap(&outbound, &connection.outbound)
    }

    func take() { isTaken = true }

    deinit {
        guard !isTaken else { return }
        // Lost on the way: a mailbox was full, or the other loop has ended.
        SystemCalls.linux.close(descriptor)
        admission.connectionEnded(address.key)
    }
}
