import AudioSession
import HTTPTransport
import Reactor
import RelayBase
import RelayRooms
import Signalling
import TLSTransport
import WebSocketProtocol

/// One WebSocket, over HTTP/1.1 or as a stream of HTTP/2: the same engine behind both.
final class Channel {
    enum Purpose {
        case session
        /// The test-only echo path.
        case echo
        /// No WebSocket at all: an answer that plays a room's mix.
        case listener
    }

    enum SessionState {
        case awaitingHello
        case ready
        /// A join is on its way to the room's home.
        indirect case joining(Joining)
        indirect case waiting(LobbyPlace, RoomAdmission)
        case inRoom(Membership)
    }

    /// What carries the WebSocket; `nil` while the session is parked.
    unowned var connection: Connection?
    var stream: HTTP2StreamID?
    let purpose: Purpose
    /// Who the client has proven to be; `nil` until then.
    var principal: Principal?
    /// The certificate that a proxy passed on, to be verified anew as long as the session lives.
    var forwarded: ForwardedPeer?
    /// The loop that pairing lives on knows of the session.
    var isPresent = false
    var handle = Handle(index: 0, generation: 0)
    var inbound: WebSocketInbound
    var closing: WebSocketClosing
    var deflate: MessageCompression?
    /// Of a listener, what it is sent.
    var listening: Listening?
    var state = SessionState.awaitingHello
    /// Requests behind a join that is under way.
    var waitingRequests = WaitingRequests()
    var sessionID = ""
    /// The device's name, as it said in `hello`.
    var device: String?
    /// How it wants to be served, as it said in `hello`.
    var wishes = SessionWishes()
    /// Frames are held until then so that others join them in a bundle.
    var heldUntil: MonotonicInstant?
    /// The bearer token that the session lives by; `nil` without one.
    var token: VerifiedToken?
    var tokenBudget: RequestBudget
    /// Framed messages that go before everything: the rest of a media message that was begun.
    var unfinished = ByteQueue()
    /// Framed control messages, reserved lane: never behind media.
    var control = ByteQueue()
    /// The message of ``control`` that was begun: nothing may go before its rest.
    var begunControl = BegunMessage()
    /// Bytes of padding that are to be sent when nothing else is due.
    var paddingBytes = 0
    var pendingPublishes = 0
    /// The audio session, once the client has said that it has one.
    var audio: AudioStanding?
    /// The client wanted to go on with a session that the relay does not have.
    var hasLostSession = false
    /// What is left of the bit rate in the room that was left last.
    var spentBitRate: BitRateBudget?
    /// Frames of a room that was left may still come.
    var hasPublished = false
    let openedAt: MonotonicInstant
    var lastReceived: MonotonicInstant
    var liveness: ChannelLiveness
    /// When the peer last took bytes while some were waiting for it.
    var lastProgress: MonotonicInstant
    var requestBudget: RequestBudget
    var timer: TimerID?
    var closeReason: String?
    /// In a cluster: what other nodes know of the session is not what it is any more.
    var ticketIsStale = false
    /// Its end here is not the session's: another node goes on with it.
    var goesOnElsewhere = false
    /// A session of another node that goes on here, as soon as its room's home knows.
    var arriving: SessionRecord?
    /// How the session can be resumed, and whether it waits for that.
    var resumption = Resumption()
    /// Nothing more is taken from the transport until a ``ResumeClaim`` is settled; what has come waits.
    var isHeld: Bool { waitingClaim != nil }
    var heldInput = ByteQueue()
    /// What it waits for.
    var claim: ResumeClaim? {
        get { waitingClaim?.claim }
        set { waitingClaim = newValue.map(WaitingClaim.init) }
    }
    private var waitingClaim: WaitingClaim?
    /// The client's address, as far as it is known.
    var clientAddress: SocketAddress
    /// HTTP/2: the batch in which the WebSocket had nothing more to send, or no window to send it in.
    var satisfiedInBatch: UInt64 = 0
    /// The transport ends once everything queued is sent.
    var endsAfterFlush = false
    var isGone = false
    /// More control messages wait than the bound allows: closed at the end of the turn, when nobody is in the middle of something.
    var hasOverflowed = false

    init(
        connection: Connection, stream: HTTP2StreamID?, purpose: Purpose, principal: Principal?, inbound: WebSocketInboundConfiguration,
        deflate: MessageCompression?, limits: Limits, now: MonotonicInstant
    ) {
        self.connection = connection
        clientAddress = connection.address
        self.stream = stream
        self.purpose = purpose
        self.principal = principal
        self.inbound = WebSocketInbound(inbound)
        self.deflate = deflate
        closing = WebSocketClosing(role: .server, closeHandshakeMillisecondsMax: limits.closeHandshakeMillisecondsMax)
        openedAt = now
        lastReceived = now
        liveness = ChannelLiveness(pingMilliseconds: limits.pingMilliseconds, now: now)
        lastProgress = now
        tokenBudget = RequestBudget(perSecond: EventLoop.tokenTriesPerSecond, now: now)
        requestBudget = RequestBudget(perSecond: limits.controlMessagesPerSecondMax, now: now)
    }

    /// The peer of the echo path sends and does not read: nothing more is taken from it until it does.
    var isEchoFull: Bool { purpose == .echo && control.count > Channel.echoBytesMax }
    private static let echoBytesMax = 1 << 20

    /// The session waits for its client to come back.
    var isParked: Bool { connection == nil && !isGone }

    /// The certificate that the session lives by and that is not its connection's: one that a proxy passed on, or that of a connection that was lost.
    var ownPeer: ForwardedPeer? { forwarded ?? resumption.peer }

    var identity: RelayMessage.Identity? { principal.map { RelayMessage.Identity($0) } }

    var membership: Membership? {
        if case .inRoom(let membership) = state { membership } else { nil }
    }

    var isJoining: Bool {
        if case .joining = state { true } else { false }
    }

    var isInRoomOrLobby: Bool {
        switch state {
        case .inRoom, .waiting: true
        case .awaitingHello, .ready, .joining: false
        }
    }
}

/// Few sessions ever have one: it takes no room in the others.
private final class WaitingClaim {
    let claim: ResumeClaim

    init(_ claim: ResumeClaim) {
        self.claim = claim
    }
}

/// How a join that is under way was decided, and under which policy.
struct Joining {
    let name: RoomName
    let admission: RoomAdmission
    let policyGeneration: Int
    let displayName: String?
}

/// Requests a session may make: refilled evenly, a second's worth at most.
struct RequestBudget {
    private let perSecond: UInt64
    private var thousandths: UInt64
    private var filledAt: MonotonicInstant

    init(perSecond: Int, now: MonotonicInstant) {
        self.perSecond = UInt64(max(1, perSecond))
        thousandths = self.perSecond * 1_000
        filledAt = now
    }

    /// - Parameter byteCount: a message costs one request, and one more for each further KiB.
    mutating func take(byteCount: Int, now: MonotonicInstant) -> Bool {
        let elapsed = min(now.milliseconds(since: filledAt), 1_000)
        if elapsed > 0 {
            thousandths = min(thousandths + elapsed * perSecond, perSecond * 1_000)
            filledAt = now
        }
        let cost = min(1_000 * UInt64(1 + byteCount / 1_024), perSecond * 1_000)
        guard thousandths >= cost else { return false }
        thousandths -= cost
        return true
    }
}

/// One loop's share of a room: its data plane, and which of the loop's channels are in.
final class LocalRoom {
    let number: RoomNumber
    let name: RoomName
    /// The loop that decides about it, here or on another node.
    var home: Int
    var handle = Handle(index: 0, generation: 0)
    var fanout: RoomFanout
    var members: [(participant: ParticipantID, channel: Handle)] = []
    /// By slot index: where the stream comes from and where else it goes.
    var routes: [StreamRoute] = []
    /// What is heard in the streams of this loop's publishers.
    var speech = SpeechMeter()
    /// Who in the room spoke last.
    var recentSpeakers: [ParticipantID] = [] { didSet { rankedOrder = nil } }
    /// By who spoke last, as long as no stream comes or ends: see ``rankedVideo``.
    var rankedOrder: [StreamSlot]?
    /// Streams of which receiver reports are to be passed on.
    var noted: [StreamSlot] = []
    var isDirty = false
    /// Whether its frames wait on a busy loop, and for how long they may.
    var hold = FlushHold()
    var holdNanosecondsMax: UInt64 = 0
    private var flushedBytes: UInt64 = 0
    /// Somebody hears less than everything, or has: publishers are told what is of use.
    var fitsFormats = false
    /// News of who came and went waits in the members' queues.
    var owesPresence = false
    /// Resumed sessions that wait for a key frame.
    var openGaps: [OpenGap] = []
    /// What subscribers get that the relay makes of the room's sound; `nil` as long as nobody has asked for it.
    var deliveries: RoomDeliveries?

    init(number: RoomNumber, name: RoomName, home: Int, limits: Limits, budget: ByteBudget) {
        self.number = number
        self.name = name
        self.home = home
        fanout = RoomFanout(limits: limits, budget: budget)
    }

    /// Other loops of the node get streams of other nodes through this one.
    var isImporting: Bool { fanout.openSlots.contains { !routes[$0.index].remote.isEmpty } }

    /// What has come to the logs since the last flush.
    var unflushedBytes: Int { Int(clamping: fanout.appendedBytes &- flushedBytes) }

    func noteFlush() { flushedBytes = fanout.appendedBytes }
}

struct StreamRoute {
    var entry: StreamEntry
    /// This loop asked the publisher's loop for the frames.
    var isRequested = false
    /// What it asked for.
    var requestedLayers = LayerSet()
    var requestedAudio: WantedFormat?
    /// Other loops that asked this one.
    var remote: [RemoteRoute] = []
    /// The stream is in the room's list of those to be passed on.
    var isNoted = false
    /// Receivers here have reported since it was last passed on.
    var hasReports = false
    var reportsPosted: MonotonicInstant?
    /// The receivers of all loops, where the publisher is.
    var reception = StreamReception()
    /// What the publisher has been told that is wanted of its stream.
    var demand = StreamDemand()
    var formatDemand = FormatDemand()

    init(entry: StreamEntry) {
        self.entry = entry
    }
}
