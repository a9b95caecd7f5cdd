import Signalling
import WebSocketProtocol

/// Requests that depend on one before them which is not answered yet, a `join` or one about the audio session: kept in order until it is, so that a client
/// need not wait a round trip for it.
struct WaitingRequests {
    private var requests: [(id: UInt64, request: ClientRequest)] = []
    private var byteCount = 0

    static let requestsMax = 64

    var isEmpty: Bool { requests.isEmpty }

    /// A `join` may wait, too, when it comes behind a `leave`.
    private var holdsLeave: Bool { requests.contains { if case .leave = $0.request { true } else { false } } }

    /// Whether a request waits for the answer to a `join` that is under way.
    func isToWait(_ request: ClientRequest) -> Bool {
        switch request {
        case .hello, .time, .authenticate, .pairRequest, .pairAccept, .pairDecline, .pairCancel, .pairCode, .pairEnter, .pairList, .pairRevoke,
            .pairDevices:
            false
        case .join: holdsLeave
        case .leave, .publish, .unpublish, .subscribe, .unsubscribe, .requestKeyFrame, .report, .mute, .remove, .promote, .lock, .end, .admit, .deny,
            .sessionInit, .setCategory, .setActive, .interruptionBegan, .interruptionEnded, .routeChanged, .playbackPause, .playbackContinue,
            .streamStart, .streamPrime, .streamPause, .streamStop, .streamFlush, .streamReset, .setParameters:
            true
        }
    }

    /// Whether a request depends on what the session's audio session comes to by requests before it.
    func dependsOnAudio(_ request: ClientRequest) -> Bool {
        switch request {
        case .publish, .subscribe, .streamStart, .streamPrime, .streamPause, .streamStop, .streamFlush, .streamReset, .setParameters: true
        // Their verbs keep their order on the way to the desk; what an interruption stops is stopped at once.
        case .sessionInit, .setCategory, .setActive, .interruptionBegan, .interruptionEnded, .routeChanged, .playbackPause, .playbackContinue: false
        case .hello, .join, .leave, .unpublish, .unsubscribe, .time, .requestKeyFrame, .authenticate, .report, .mute, .remove, .promote, .lock, .end,
            .admit, .deny, .pairRequest, .pairAccept, .pairDecline, .pairCancel, .pairCode, .pairEnter, .pairList, .pairRevoke, .pairDevices:
            false
        }
    }

    /// Keeps a request behind those that wait already.
    ///
    /// - Parameter messageBytes: of the message that it came in.
    /// - Parameter bytesMax: what all may have come in.
    /// - Returns: false when as many wait as may.
    mutating func keep(_ id: UInt64, _ request: ClientRequest, messageBytes: Int, bytesMax: Int) -> Bool {
        guard requests.count < WaitingRequests.requestsMax, messageBytes <= bytesMax - byteCount else { return false }
        requests.append((id, request))
        byteCount += messageBytes
        return true
    }

    /// Takes all out, in order.
    mutating func takeAll() -> [(id: UInt64, request: ClientRequest)] {
        defer { self = WaitingRequests() }
        return requests
    }
}

extension EventLoop {
    /// Whether a request has to wait for the answer to one before it.
    func waits(_ channel: Channel, _ request: ClientRequest) -> Bool {
        if case .joining = channel.state { return channel.waitingRequests.isToWait(request) }
        if case .interruptionBegan = request { return false }
        // Nothing overtakes what waits already.
        if !channel.waitingRequests.isEmpty { return channel.waitingRequests.isToWait(request) }
        return channel.audio.map { $0.asksUnderWay > 0 && channel.waitingRequests.dependsOnAudio(request) } ?? false
    }

    /// What was waited for is answered: the rest is done now, in order. Where a join was refused, or leads into the lobby, each is refused as it would have been without it.
    func performWaiting(_ channel: Channel) {
        guard !channel.waitingRequests.isEmpty else { return }
        for (id, request) in channel.waitingRequests.takeAll() {
            guard !channel.isGone, channel.closing.maySend else { return }
            // Behind a `leave` and another `join` the rest waits again: it has been found to fit.
            answer(channel, id, request, messageBytes: 0)
        }
    }
}
