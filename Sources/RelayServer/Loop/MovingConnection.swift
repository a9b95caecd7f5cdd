import HTTPProtocol
import HTTPTransport
import Reactor
import RelayBase
import Synchronization
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
    private let shared: Shared
    private var isTaken = false

    init(_ connection: Connection, _ transport: Transport, trustVersion: SHA256Digest?, shared: Shared) {
        secure = connection.secure
        descriptor = connection.descriptor
        address = connection.address
        hop = connection.hop
        identity = connection.identity
        self.transport = transport
        endsWithChannels = connection.endsWithChannels
        tokenBudget = connection.tokenBudget
        self.trustVersion = trustVersion
        self.shared = shared
        swap(&outbound, &connection.outbound)
    }

    func take() { isTaken = true }

    /// Lost on the way: a mailbox was full, or the other loop has no room for it or has ended. What it held is the process's, and is given back: the socket, its
    /// place in the counts, and the claims of its newcomers, who may try again.
    deinit {
        guard !isTaken else { return }
        SystemCalls.linux.close(descriptor)
        shared.admission.connectionEnded(address.key)
        let channels =
            switch transport {
            case .webSocket(let channel): [channel]
            case .http2(_, let carried): carried.map(\.channel)
            }
        shared.webSockets.subtract(channels.count, ordering: .acquiringAndReleasing)
        for channel in channels { if let claim = channel.claim { shared.resumeTickets.giveBack(claim) } }
    }
}
