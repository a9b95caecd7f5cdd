import HTTPProtocol
import HTTPTransport
import Reactor
import RelayBase
import RelayRooms
import Signalling
import Synchronization
import TLSTransport
import WebSocketProtocol

extension EventLoop {
    enum Acceptance {
        /// With the token that the request showed, if any.
        case accept(Channel.Purpose, WebSocketHandshake.Response, VerifiedToken?)
        case refuse(HTTPStatus, detail: String, fields: [HTTPField] = [])
    }

    static let subprotocol = "segue.v1"
    static let echoSubprotocol = "segue-echo"

    /// Whether a WebSocket is opened for a request, the same over both HTTP versions.
    func acceptance(
        of request: WebSocketRequest, _ head: HTTPRequestHead, _ requester: Requester, _ connection: Connection,
        over transport: WebSocketHandshake.Transport
    ) -> Acceptance {
        let isEcho = request.path == Endpoints.echoPath
        switch shared.configuration.origins.decide(origin: request.origin) {
        case .allowed, .absent: break
        // With a web client of the relay's own, its page may open what the page is for.
        case .refused where web != nil && isOwnOrigin(request.origin, head): break
        case .refused: return refuse(request, requester, code: "origin", "This origin may not open a session.")
        }
        // Where tokens are in use, whoever has no certificate may still show one with `hello`.
        guard requester.identity != nil || (tokens != nil && !isEcho) else {
            return refuse(request, requester, code: "certificate_needed", "A session needs a client certificate.")
        }
        guard !shared.readiness.isDraining else { return .refuse(.serviceUnavailable, detail: "The relay is going away.") }
        let token: VerifiedToken?
        do {
            token = try bearer(head, requester, connection)
        } catch {
            return .refuse(error.status, detail: error.detail, fields: error.fields)
        }
        var asked = WebSocketHandshake.Request()
        if let key = request.key { asked.keys = [key] }
        asked.versions = [WebSocketHandshake.version]
        asked.subprotocols = request.subprotocols
        if let extensions = request.extensionsValue { asked.extensions = [extensions] }
        let answer: WebSocketHandshake.Response
        do {
            let supported = isEcho ? EventLoop.echoSubprotocol : EventLoop.subprotocol
            let deflate = isEcho || Endpoints.asksForTextCompression(request.query) ? PerMessageDeflate.Policy() : nil
            answer = try WebSocketHandshake.answer(asked, over: transport, supported: [supported], deflate: deflate)
        } catch {
            return .refuse(.badRequest, detail: "The WebSocket handshake is malformed: \(error).")
        }
        // The test path also serves clients that offer no subprotocol at all.
        guard answer.subprotocol != nil || (isEcho && request.subprotocols.isEmpty) else {
            return .refuse(.badRequest, detail: "The subprotocol \(EventLoop.subprotocol) must be offered.")
        }
        return .accept(isEcho ? .echo : .session, answer, token)
    }

    /// The audit tells of who was not let in.
    private func refuse(_ request: WebSocketRequest, _ requester: Requester, code: String, _ detail: String) -> Acceptance {
        shared.audit.record("WebSocket \(request.path)", by: requester.principal?.name ?? "", from: "\(requester.address)", .refused(code))
        return .refuse(.forbidden, detail: detail)
    }

    func openChannel(
        _ connection: Connection, stream: HTTP2StreamID?, _ purpose: Channel.Purpose, _ requester: Requester, _ token: VerifiedToken?,
        _ deflate: PerMessageDeflate?
    ) -> Channel? {
        var inbound = WebSocketInboundConfiguration(role: .server, limits: limits)
        inbound.allowsCompression = deflate != nil
        if purpose == .echo {
            inbound.textBytesMax = shared.configuration.echoMessageBytesMax
            inbound.binaryBytesMax = shared.configuration.echoMessageBytesMax
            // The conformance suite fragments as no client of ours may.
            inbound.messageFragmentsMax = .max
            inbound.fragmentBytesMin = 0
        }
        let channel = Channel(
            connection: connection, stream: stream, purpose: purpose, principal: requester.principal, inbound: inbound,
            deflate: deflate.map { MessageCompression($0) },
            limits: limits, now: now)
        guard let handle = channels.insert(channel) else { return nil }
        channel.handle = handle
        channel.forwarded = requester.forwarded
        if let token { channel.take(token) }
        counters.webSockets += 1
        shared.webSockets.add(1, ordering: .acquiringAndReleasing)
        counters.webSocketsOpened &+= 1
        scheduleChannelTimer(channel)
        return channel
    }

    // MARK: Receiving

    /// Decodes what has come, in place, and acts on it.
    func receivedWebSocket(_ channel: Channel, _ bytes: UnsafeMutableRawBufferPointer) {
        channel.lastReceived = now
        var offset = 0
        while !channel.isGone {
            if channel.isHeld {
                unsafe channel.heldInput.append(UnsafeRawBufferPointer(rebasing: bytes[offset...]))
                return
            }
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[offset...])
            let step: WebSocketInboundStep
            do {
                step = try unsafe channel.inbound.next(rest, now: now)
            } catch {
                fail(channel, error)
                return
            }
            offset += step.consumed
            switch step.event {
            case .needMoreBytes:
                noteIncomplete(channel)
                return
            case .finished: return
            case .message(let kind, let compressed, let location):
                unsafe message(channel, kind, compressed: compressed, channel.inbound.payload(location, in: rest))
            case .ping(let location):
                guard channel.closing.maySend else { continue }
                unsafe WebSocketFrameEncoder.append(.pong, channel.inbound.payload(location, in: rest), maskingKey: nil, to: &channel.control)
                markDirty(channel)
                boundControl(channel)
            case .pong(let location): unsafe receivedPong(channel, channel.inbound.payload(location, in: rest))
            case .close(let code, _): receivedClose(channel, code)
            }
        }
    }

    private func message(_ channel: Channel, _ kind: WebSocketMessageKind, compressed: Bool, _ payload: UnsafeRawBufferPointer) {
        guard channel.closing.maySend else { return }
        noteMessage(channel)
        if compressed {
            unsafe compressedMessage(channel, kind, payload)
            return
        }
        switch (channel.purpose, kind) {
        case (.session, .binary): unsafe mediaMessage(channel, payload)
        case (.session, .text): unsafe request(channel, Array(payload))
        case (.echo, _): unsafe echo(channel, kind, payload)
        }
    }

    private func compressedMessage(_ channel: Channel, _ kind: WebSocketMessageKind, _ payload: UnsafeRawBufferPointer) {
        // Media is compressed already: it is never inflated (protocol document, transport).
        if channel.purpose == .session, kind == .binary {
            beginClose(channel, .unsupportedData, reason: "media may not be compressed", counted: "compressed_media")
            return
        }
        let bound = channel.purpose == .echo ? shared.configuration.echoMessageBytesMax : limits.controlMessageBytesMax
        let inflated: [UInt8]
        do {
            inflated = try unsafe channel.inflate(payload, bound: bound, isText: kind == .text)
        } catch {
            fail(channel, error)
            return
        }
        switch channel.purpose {
        case .session: request(channel, inflated)
        case .echo: unsafe inflated.withUnsafeBytes { unsafe echo(channel, kind, $0) }
        }
    }

    private func echo(_ channel: Channel, _ kind: WebSocketMessageKind, _ payload: UnsafeRawBufferPointer) {
        unsafe channel.append(kind == .text ? .text : .binary, payload)
        markDirty(channel)
        if channel.control.count > shared.configuration.echoMessageBytesMax * 4 {
            beginClose(channel, .tryAgainLater, reason: "echo not read", counted: "echo_not_read")
        }
    }

    private func receivedClose(_ channel: Channel, _ code: WebSocketCloseCode?) {
        channel.closeReason = channel.closeReason ?? EventLoop.label(ofPeerCode: code)
        finishMedia(channel, reason: .left)
        switch channel.closing.receiveClose(code, now: now) {
        case .reply(let code, _):
            WebSocketFrameEncoder.appendClose(code, maskingKey: nil, to: &channel.control)
            endAfterFlush(channel)
        case .finished: endAfterFlush(channel)
        case .ignore: break
        }
    }

    /// Private codes are counted together: a peer must not make up metrics.
    private static func label(ofPeerCode code: WebSocketCloseCode?) -> String {
        switch code?.rawValue ?? 1_005 {
        case 3_000...3_999: "peer_3xxx"
        case 4_000...4_999: "peer_4xxx"
        case let code: "peer_\(code)"
        }
    }

    // MARK: Closing

    /// The peer broke a rule of the WebSocket protocol.
    func fail(_ channel: Channel, _ fault: WebSocketFault) {
        channel.closeReason = channel.closeReason ?? "\(fault.closeCode.rawValue)_\(snakeCased(fault.rawValue))"
        finishMedia(channel, reason: .left)
        channel.inbound.finish()
        if case .sendThenEnd(let code) = channel.closing.fail(fault, now: now) {
            WebSocketFrameEncoder.appendClose(code, reason: "\(fault.closeReason)", maskingKey: nil, to: &channel.control)
        }
        endAfterFlush(channel)
    }

    /// Closes from this end: a rule of the session was broken, or the relay goes away. The peer's close frame is waited for.
    func beginClose(_ channel: Channel, _ code: WebSocketCloseCode, reason: String, counted: String) {
        guard !endParked(channel, reason: "\(code.rawValue)_\(counted)") else { return }
        guard !channel.isGone, case .send = channel.closing.sendClose(now: now) else { return }
        channel.closeReason = channel.closeReason ?? "\(code.rawValue)_\(counted)"
        finishMedia(channel, reason: .left)
        WebSocketFrameEncoder.appendClose(code, reason: reason, maskingKey: nil, to: &channel.control)
        scheduleChannelTimer(channel)
        markDirty(channel)
    }

    /// Media ends here: what was begun is finished, and nothing of the room follows.
    private func finishMedia(_ channel: Channel, reason: RelayMessage.LeaveReason) {
        if let membership = channel.membership { finishBegun(channel, membership) }
        leaveRoom(channel, reason: reason)
    }

    private func endAfterFlush(_ channel: Channel) {
        channel.endsAfterFlush = true
        scheduleChannelTimer(channel)
        markDirty(channel)
    }

    /// The WebSocket is no more: its connection or stream has ended. Its session may outlive it.
    func channelGone(_ channel: Channel, reason: String) {
        guard channels.contains(channel.handle), !channel.isParked else { return }
        let reason = channel.closeReason ?? reason
        counters.webSockets -= 1
        shared.webSockets.subtract(1, ordering: .acquiringAndReleasing)
        counters.webSocketsClosed[reason, default: 0] &+= 1
        if !park(channel, because: reason) { forget(channel, reason: reason, leaving: .lost) }
    }

    /// The end of a channel and of its session, if it had one.
    func forget(_ channel: Channel, reason: String, leaving: RelayMessage.LeaveReason) {
        guard channels.remove(channel.handle) != nil else { return }
        channel.isGone = true
        leaveRoom(channel, reason: leaving)
        leavePresence(channel)
        leaveAudio(channel, crashed: leaving == .lost)
        if let timer = channel.timer { timers.cancel(timer) }
        giveBackClaim(of: channel)
        withdrawTickets(of: channel)
        guard channel.sessionID != "" else { return }
        counters.sessions -= 1
        shared.log.info(
            "session_ended",
            [
                ("session", channel.sessionID), ("identity", channel.principal?.name ?? ""), ("address", "\(channel.clientAddress)"),
                ("reason", reason), ("seconds", "\(now.milliseconds(since: channel.openedAt) / 1_000)"),
            ])
    }

    /// A peer that makes the relay talk and does not listen is closed.
    func boundControl(_ channel: Channel) {
        guard channel.purpose == .session || channel.control.count > shared.configuration.echoMessageBytesMax * 4 else { return }
        guard channel.control.count > limits.controlQueueBytesMax, !channel.hasOverflowed else { return }
        channel.hasOverflowed = true
        overflowing.append(channel)
    }

    /// Closes whoever overflowed in this turn. Not at once: whoever made it say something goes on with its room and its streams after that.
    func closeOverflowing() {
        while let channel = overflowing.popLast() {
            channel.hasOverflowed = false
            guard !channel.isGone else { continue }
            if let connection = channel.connection { flush(connection) }
            guard !channel.isGone, channel.control.count > limits.controlQueueBytesMax else { continue }
            beginClose(channel, .tryAgainLater, reason: "control messages not read", counted: "control_queue")
        }
    }

    func sendText(_ channel: Channel, _ bytes: [UInt8]) {
        if queueText(channel, bytes) { markDirty(channel) }
    }

    /// Puts a message behind what else waits for the client, which goes out when the connection is flushed next. Answers false where nothing can be said.
    @discardableResult
    func queueText(_ channel: Channel, _ bytes: [UInt8]) -> Bool {
        // What is said to a parked session, it finds in what its client is told when it comes back.
        guard !channel.isGone, !channel.isParked, channel.closing.maySend else { return false }
        // Before the message is added: one message, however long the room's list, is nobody's fault.
        boundControl(channel)
        unsafe bytes.withUnsafeBytes { unsafe channel.append(.text, $0) }
        channel.liveness.lastSaid = now
        return true
    }

    func send(_ channel: Channel, _ message: RelayMessage) {
        sendText(channel, message.encoded)
    }
}
