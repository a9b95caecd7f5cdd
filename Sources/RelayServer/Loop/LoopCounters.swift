import RelayRooms

/// What one loop has counted. Plain numbers in the loop's own memory; copied to the metrics board a few times a second.
struct LoopCounters: Sendable {
    var accepted: UInt64 = 0
    var handshakes: UInt64 = 0
    var resumedHandshakes: UInt64 = 0
    var refusedOutOfDescriptors: UInt64 = 0
    var httpRequests: UInt64 = 0
    var webSocketsOpened: UInt64 = 0
    var tokensAccepted: UInt64 = 0
    var proxyHeaders: UInt64 = 0
    var forwardedCertificates: UInt64 = 0
    var forwardedIgnored: UInt64 = 0
    var framesIn: UInt64 = 0
    var bytesIn: UInt64 = 0
    var framesWithoutSubscribers: UInt64 = 0
    var framesToOtherLoops: UInt64 = 0
    var framesToOtherNodes: UInt64 = 0
    var framesFromOtherLoops: UInt64 = 0
    var framesLostBetweenLoops: UInt64 = 0
    var framesAfterEnd: UInt64 = 0
    var framesMuted: UInt64 = 0
    /// Of publishers whose audio session does not let them through: interrupted, not active, without a right or an input.
    var framesInterrupted: UInt64 = 0
    var framesInactive: UInt64 = 0
    var framesWithoutRight: UInt64 = 0
    var framesWithoutInput: UInt64 = 0
    var framesRepeated: UInt64 = 0
    var configurationsDropped: UInt64 = 0
    var sessionsParked: UInt64 = 0
    var sessionsResumed: UInt64 = 0
    var sessionsHandedOver: UInt64 = 0
    var connectionsMoved: UInt64 = 0
    var framesOverBitRate: UInt64 = 0
    var mediaBytesOut: UInt64 = 0
    var sends: UInt64 = 0
    var keyFrameRequests: UInt64 = 0
    /// Times that the kernel was asked about a connection, and how long connections had more to send than the network took.
    var flowSamples: UInt64 = 0
    var heldNanoseconds: UInt64 = 0
    /// Sent to find out what a connection carries.
    var paddingBytes: UInt64 = 0
    /// What audits of the queues found wrong: 0 always.
    var framesUnaccounted: UInt64 = 0
    var iterations: UInt64 = 0
    var busyNanoseconds: UInt64 = 0
    var longestIterationNanoseconds: UInt64 = 0
    var turns = Histogram(bounds: Histogram.turnSeconds)
    var slowTurns: UInt64 = 0
    /// Times that a room's frames were held on a busy loop, and that others joined them.
    var flushesHeld: UInt64 = 0
    var flushesJoined: UInt64 = 0

    // Gauges.
    /// Of its time, that the loop has worked lately: of several, the busiest.
    var busyShare = 0.0
    var connections = 0
    var webSockets = 0
    var sessions = 0
    /// Of those.
    var parked = 0
    /// Sessions that have been active, and are interrupted or inactive.
    var sessionsHeld = 0
    var rooms = 0
    var participants = 0
    var waiting = 0
    var streams = 0
    var framesPending: UInt64 = 0
    var congestedConnections = 0
    var bitRates = BitRateClasses()
    var frames = FrameAccount()

    var liveness = LivenessCounters()

    // By reason: touched when something ends or is refused, never per frame.
    var handshakeFailures: [String: UInt64] = [:]
    var proxyHeadersRefused: [String: UInt64] = [:]
    var forwardedRefused: [String: UInt64] = [:]
    var connectionsRefused: [String: UInt64] = [:]
    var connectionsClosed: [String: UInt64] = [:]
    var webSocketsClosed: [String: UInt64] = [:]
    var responses: [Int: UInt64] = [:]
    var requestErrors: [String: UInt64] = [:]
    var tokensRefused: [String: UInt64] = [:]
    var resumesRefused: [String: UInt64] = [:]
    var interruptions: [String: UInt64] = [:]

    /// From a turn's end longer than that, somebody's frame has waited for it.
    static let slowTurnNanoseconds: UInt64 = 2_000_000

    /// A turn ended: from the return of the wait for events to the next wait.
    mutating func noteTurn(nanoseconds: UInt64) {
        iterations &+= 1
        busyNanoseconds &+= nanoseconds
        longestIterationNanoseconds = max(longestIterationNanoseconds, nanoseconds)
        turns.observe(Double(nanoseconds) / 1e9)
        if nanoseconds > LoopCounters.slowTurnNanoseconds { slowTurns &+= 1 }
    }

    mutating func add(_ other: LoopCounters) {
        accepted &+= other.accepted
        handshakes &+= other.handshakes
        resumedHandshakes &+= other.resumedHandshakes
        refusedOutOfDescriptors &+= other.refusedOutOfDescriptors
        httpRequests &+= other.httpRequests
        webSocketsOpened &+= other.webSocketsOpened
        tokensAccepted &+= other.tokensAccepted
        proxyHeaders &+= other.proxyHeaders
        forwardedCertificates &+= other.forwardedCertificates
        forwardedIgnored &+= other.forwardedIgnored
        framesIn &+= other.framesIn
        bytesIn &+= other.bytesIn
        framesWithoutSubscribers &+= other.framesWithoutSubscribers
        framesToOtherLoops &+= other.framesToOtherLoops
        framesToOtherNodes &+= other.framesToOtherNodes
        busyShare = max(busyShare, other.busyShare)
        framesFromOtherLoops &+= other.framesFromOtherLoops
        framesLostBetweenLoops &+= other.framesLostBetweenLoops
        framesAfterEnd &+= other.framesAfterEnd
        framesMuted &+= other.framesMuted
        framesInterrupted &+= other.framesInterrupted
        framesInactive &+= other.framesInactive
        framesWithoutRight &+= other.framesWithoutRight
        framesWithoutInput &+= other.framesWithoutInput
        framesRepeated &+= other.framesRepeated
        configurationsDropped &+= other.configurationsDropped
        sessionsParked &+= other.sessionsParked
        sessionsResumed &+= other.sessionsResumed
        sessionsHandedOver &+= other.sessionsHandedOver
        connectionsMoved &+= other.connectionsMoved
        framesOverBitRate &+= other.framesOverBitRate
        mediaBytesOut &+= other.mediaBytesOut
        sends &+= other.sends
        keyFrameRequests &+= other.keyFrameRequests
        flowSamples &+= other.flowSamples
        paddingBytes &+= other.paddingBytes
        heldNanoseconds &+= other.heldNanoseconds
        congestedConnections += other.congestedConnections
        bitRates.add(other.bitRates)
        framesUnaccounted &+= other.framesUnaccounted
        iterations &+= other.iterations
        busyNanoseconds &+= other.busyNanoseconds
        longestIterationNanoseconds = max(longestIterationNanoseconds, other.longestIterationNanoseconds)
        turns.add(other.turns)
        slowTurns &+= other.slowTurns
        flushesHeld &+= other.flushesHeld
        flushesJoined &+= other.flushesJoined
        connections += other.connections
        webSockets += other.webSockets
        sessions += other.sessions
        parked += other.parked
        sessionsHeld += other.sessionsHeld
        rooms += other.rooms
        participants += other.participants
        waiting += other.waiting
        streams += other.streams
        framesPending &+= other.framesPending
        frames.add(other.frames)
        liveness.add(other.liveness)
        handshakeFailures.merge(other.handshakeFailures, uniquingKeysWith: &+)
        proxyHeadersRefused.merge(other.proxyHeadersRefused, uniquingKeysWith: &+)
        forwardedRefused.merge(other.forwardedRefused, uniquingKeysWith: &+)
        connectionsRefused.merge(other.connectionsRefused, uniquingKeysWith: &+)
        connectionsClosed.merge(other.connectionsClosed, uniquingKeysWith: &+)
        webSocketsClosed.merge(other.webSocketsClosed, uniquingKeysWith: &+)
        responses.merge(other.responses, uniquingKeysWith: &+)
        requestErrors.merge(other.requestErrors, uniquingKeysWith: &+)
        tokensRefused.merge(other.tokensRefused, uniquingKeysWith: &+)
        resumesRefused.merge(other.resumesRefused, uniquingKeysWith: &+)
        interruptions.merge(other.interruptions, uniquingKeysWith: &+)
    }
}
