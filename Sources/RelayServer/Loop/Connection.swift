import HTTPProtocol
import HTTPTransport
import Reactor
import RelayBase
import RelayRooms
import TLSTransport

/// What reading HTTP/1.1 takes: not as much a part of the connection as that it would not be let go of when it has become a WebSocket.
final class HTTP1Reading {
    var headParser: HTTPRequestHeadParser
    var bodyReader: HTTPBodyReader?
    /// The content of the answer that is being sent, behind ``Connection/outbound``.
    var content: OutgoingContent?

    init(limits: Limits) {
        headParser = HTTPRequestHeadParser(limits: limits)
    }
}

/// Content that is too long to be queued: it stays with whoever made it, and is sent from there as the client reads.
struct OutgoingContent {
    private let bytes: [UInt8]
    private(set) var sentCount = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    var isSent: Bool { sentCount == bytes.count }

    /// The next bytes, at most so many; ``sent(_:)`` says that they have gone.
    func next(_ countMax: Int) -> ArraySlice<UInt8> { bytes[sentCount..<min(bytes.count, sentCount + countMax)] }

    mutating func sent(_ count: Int) { sentCount += count }
}

/// One TCP connection of one loop: TLS handshake, then HTTP/1.1 (which may become a WebSocket) or HTTP/2 (which may carry several).
final class Connection {
    enum Phase {
        /// A proxy's header comes before everything else.
        case proxyHeader
        /// Without TLS: the first bytes tell HTTP/2 from HTTP/1.1.
        case preface
        case handshaking
        case http1
        case webSocket(Channel)
        case http2(HTTP2Session)
        /// What is queued is still sent; nothing is read any more.
        case closing
    }

    let secure: SecureConnection
    let descriptor: FileDescriptor
    /// The client's: the socket's, or what a proxy's header says.
    var address: SocketAddress
    var hop: Hop
    var handle = Handle(index: 0, generation: 0)
    var phase = Phase.handshaking
    /// Whose certificate this end's handshake verified: the client's own, or a proxy's. Whose a request is, ``EventLoop/identify(_:_:)`` says.
    var identity: PeerIdentity?
    /// HTTP/1.1: bytes of a head that is not complete.
    var inbound = ByteQueue()
    private(set) var reading: HTTP1Reading?
    /// HTTP/1.1: part of a head has come, and it must be whole by the deadline.
    var isHeadBegun = false
    /// HTTP/1.1: a body that has not ended; it is the exchange's, or it is thrown away.
    var bodyReader: HTTPBodyReader? {
        get { reading?.bodyReader }
        set { reading?.bodyReader = newValue }
    }
    /// HTTP/1.1: responses to be sent; before a WebSocket's frames.
    var outbound = ByteQueue()
    /// Requests of the API that are not answered yet; over HTTP/1.1 one at most.
    var exchanges: [HTTPExchange] = []
    /// HTTP/2: the WebSockets by stream.
    var channels: [(stream: HTTP2StreamID, channel: Channel)] = []
    /// HTTP/1.1: the WebSocket's ``Channel/isHeld``.
    var isHeld = false
    /// HTTP/2: whose turn it is among WebSockets of one urgency.
    var turns = EgressTurns()
    /// What may be sent: see ``ConnectionFlow``.
    var flow = ConnectionFlow()
    var closesAfterOutbound = false
    /// HTTP/2: the client is not trusted any more; the connection ends with its last WebSocket.
    var endsWithChannels = false
    /// When the phase must have moved on.
    var deadline = MonotonicInstant.distantFuture
    var timer: TimerID?
    var handshakeCounted = true
    /// It is in the loop's ``EventLoop/handshakes``.
    var awaitsHandshake = false
    var wantsWrite = false
    /// When the kernel last took bytes, or none were waiting.
    var lastProgress: MonotonicInstant
    /// HTTP/2: when the last request came, or part of a long answer was sent.
    var lastRequest: MonotonicInstant
    /// The loop's count of reloads when the handshake began.
    let contextGeneration: Int
    var isDirty = false
    /// Bytes were left in the receive buffers so that other connections get their turn.
    var readsLater = false
    /// Requests wait for a later turn; nothing more is read meanwhile.
    var requestShare = RequestTurns.Share()
    var closeReason: String?
    /// Tokens in requests for WebSockets.
    var tokenBudget: RequestBudget

    init(
        secure: SecureConnection, descriptor: FileDescriptor, address: SocketAddress, hop: Hop, contextGeneration: Int, limits: Limits,
        now: MonotonicInstant
    ) {
        self.hop = hop
        self.contextGeneration = contextGeneration
        lastProgress = now
        tokenBudget = RequestBudget(perSecond: EventLoop.tokenTriesPerSecond, now: now)
        lastRequest = now
        self.secure = secure
        self.descriptor = descriptor
        self.address = address
        reading = HTTP1Reading(limits: limits)
    }

    /// The kernel took less than it was given: sealing more now would only make what is queued older.
    var isBlocked: Bool { secure.hasUnsent }

    /// The connection has become a WebSocket, or is HTTP/2.
    func endReading() {
        reading = nil
    }

    func exchange(of stream: HTTP2StreamID) -> HTTPExchange? {
        exchanges.first { $0.stream == stream }
    }

    func channel(of stream: HTTP2StreamID) -> Channel? {
        channels.first { $0.stream == stream }?.channel
    }
}
