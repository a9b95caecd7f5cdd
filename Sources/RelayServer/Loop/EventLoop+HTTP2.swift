import HTTPProtocol
import HTTPTransport
import Reactor
import RelayBase
import Signalling
import TLSTransport
import WebSocketProtocol

extension EventLoop {
    func receivedHTTP2(_ connection: Connection, _ session: HTTP2Session, _ bytes: UnsafeMutableRawBufferPointer) {
        do {
            try unsafe session.receive(UnsafeRawBufferPointer(bytes), now: now)
        } catch {
            connection.closeReason = error.label
        }
        drainHTTP2(connection, session)
    }

    func expireHTTP2(_ connection: Connection, _ session: HTTP2Session) {
        do {
            try session.deadlineReached(now: now)
        } catch {
            connection.closeReason = error.label
        }
        drainHTTP2(connection, session)
    }

    /// Handles what the session has to tell, as many requests as the turn allows, and sees to its deadline and output.
    func drainHTTP2(_ connection: Connection, _ session: HTTP2Session) {
        while connections.contains(connection.handle) {
            let isRequest = session.nextIsRequest
            guard !isRequest || requestTurns.begin(&connection.requestShare, of: connection.handle) else { break }
            guard let event = session.nextEvent() else { break }
            let begun = isRequest ? MonotonicClock.now() : .zero
            handle(event, connection, session)
            if isRequest { requestTurns.ended(MonotonicClock.now().nanoseconds(since: begun)) }
        }
        guard connections.contains(connection.handle) else { return }
        if connection.endsWithChannels, connection.channels.isEmpty, !connection.closesAfterOutbound {
            session.goAway(.noError)
            closeAfterFlush(connection, reason: connection.closeReason ?? "untrusted")
        }
        if session.fault != nil { closeAfterFlush(connection, reason: connection.closeReason ?? "http2_fault") }
        renewDeadline(connection, session)
        markDirty(connection)
    }

    func renewDeadline(_ connection: Connection, _ session: HTTP2Session) {
        guard !connection.closesAfterOutbound else { return }
        // Who is not read while its requests wait cannot meet a deadline.
        let deadline = connection.requestShare.isWaiting ? .distantFuture : session.nextDeadline
        setDeadline(connection, min(deadline, idleDeadline(connection)))
    }

    /// A stream is no more, whoever ended it; the time without a WebSocket runs from the last one's end.
    func streamClosed(_ connection: Connection, _ session: HTTP2Session, _ id: HTTP2StreamID, _ code: HTTP2ErrorCode) {
        if let exchange = connection.exchange(of: id) { abandon(exchange) }
        endLive(connection, id)
        guard let place = connection.channels.firstIndex(where: { $0.stream == id }) else { return }
        let channel = connection.channels.remove(at: place).channel
        connection.lastRequest = now
        channelGone(channel, reason: code == .noError ? "peer_ended" : "stream_reset")
        renewDeadline(connection, session)
    }

    /// A connection that carries no WebSocket ends some time after its last request, whatever the client left half open.
    private func idleDeadline(_ connection: Connection) -> MonotonicInstant {
        guard connection.channels.isEmpty, connection.exchanges.isEmpty, !isWatching(connection), !connection.requestShare.isWaiting else {
            return .distantFuture
        }
        return connection.lastRequest.advanced(byMilliseconds: limits.idleHTTPMillisecondsMax)
    }

    func isIdleHTTP2(_ connection: Connection) -> Bool { now >= idleDeadline(connection) }

    private func handle(_ event: HTTP2Event, _ connection: Connection, _ session: HTTP2Session) {
        switch event {
        case .request(let id, let fields, let endOfStream):
            connection.lastRequest = now
            request(connection, session, id, fields, endOfStream)
        case .headerListTooLarge(let id):
            counters.httpRequests &+= 1
            respondHTTP2(session, id, ProblemDocument(HTTPFault.tooManyFields).response())
        case .dataAvailable(let id): data(connection, session, id)
        case .endOfStream(let id):
            if let channel = connection.channel(of: id) {
                channel.closeReason = channel.closeReason ?? "peer_ended"
                endStream(connection, channel)
            } else if let exchange = connection.exchange(of: id), exchange.stage == .body {
                data(connection, session, id)
                if exchange.stage == .body, exchanges.contains(exchange.handle) { perform(exchange) }
            }
        case .streamClosed(let id, let code): streamClosed(connection, session, id, code)
        case .writable(let id):
            if connection.channel(of: id) != nil { markDirty(connection) }
        case .response, .settingsReceived, .goAwayReceived, .pingAcknowledged: break
        }
    }

    /// Takes what a stream has received. What the echo path could not give back yet stays where flow control bounds it, until the next flush.
    func data(_ connection: Connection, _ session: HTTP2Session, _ id: HTTP2StreamID) {
        let count = session.inboundCount(id)
        guard count > 0 else { return }
        if let channel = connection.channel(of: id) {
            guard !channel.isEchoFull, !channel.isHeld else { return }
            unsafe receivedWebSocket(channel, session.inboundInPlace(id))
        } else if let exchange = connection.exchange(of: id), exchange.stage == .body {
            if let refusal = unsafe take(UnsafeRawBufferPointer(session.inboundInPlace(id)), exchange) { finish(exchange, refusal) }
        }
        // A body that nobody wants is dropped; either way the peer gets its window back only now.
        session.consume(id, min(count, session.inboundCount(id)))
    }

    private func request(_ connection: Connection, _ session: HTTP2Session, _ id: HTTP2StreamID, _ fields: [HTTP2Field], _ endOfStream: Bool) {
        guard !connection.endsWithChannels else {
            session.reset(id, .refusedStream)
            return
        }
        counters.httpRequests &+= 1
        let received: HTTPRequestHead
        do {
            received = try EventLoop.head(of: fields, limits: limits)
        } catch {
            switch error.resolution {
            case .respond(let status): respondHTTP2(session, id, ProblemDocument(status: status).response())
            case .resetStream: session.reset(id, .protocolError)
            }
            return
        }
        let (head, requester) = identify(received, connection)
        switch ExtendedConnectDecision(head) {
        case .accept(let request) where Endpoints.isWebSocketPath(request.path, echo: shared.configuration.echo):
            connect(connection, session, id, request, head, requester)
        case .accept:
            respondHTTP2(session, id, ProblemDocument(status: .notFound, detail: "There is no WebSocket at this path.").response())
        case .refuse(let refusal):
            respondHTTP2(session, id, ProblemDocument(refusal).response(extra: refusal.responseFields(over: .http2)))
        case .resetStream: session.reset(id, .protocolError)
        case .notRequested where head.method == .connect:
            respondHTTP2(session, id, ProblemDocument(status: .notImplemented, detail: "This is no proxy.").response())
        case .notRequested:
            switch beginAPI(head, connection, requester, stream: id, hasBody: !endOfStream) {
            case .elsewhere: respond(connection, id, head, response(to: head, requester), endsConnection: false)
            case .answer(let answer): respond(connection, id, head, answer.response, endsConnection: false)
            case .exchange(let exchange):
                if exchange.stage == .answer {
                    perform(exchange)
                } else if head.expectsContinue {
                    session.continueRequest(id)
                }
            }
        }
    }

    private static func head(of fields: [HTTP2Field], limits: Limits) throws(HTTP2HeadFault) -> HTTPRequestHead {
        var builder = HTTP2RequestHeadBuilder(limits: limits)
        for field in fields {
            let name = Array(field.name.utf8)
            let value = Array(field.value.utf8)
            unsafe try builder.append(name: name.span.bytes, value: value.span.bytes)
        }
        return try builder.finish()
    }

    func respondHTTP2(_ session: HTTP2Session, _ id: HTTP2StreamID, _ response: (head: HTTPResponseHead, body: [UInt8])) {
        counters.responses[response.head.status.code, default: 0] &+= 1
        var fields: [HTTP2Field] = [("date", date.current())]
        for field in response.head.fields.lines where field.name != "connection" { fields.append((field.name, field.value)) }
        guard session.respond(id, status: response.head.status.code, fields: fields, endOfStream: response.body.isEmpty) else { return }
        if response.body.count > EventLoop.egressBytes {
            session.setUrgency(id, EventLoop.contentUrgency(session.priority(id)))
            session.endStream(id, content: response.body)
        } else if !response.body.isEmpty {
            _ = unsafe response.body.withUnsafeBytes { unsafe session.write(id, $0) }
            session.endStream(id)
        }
    }

    /// Behind every WebSocket that says nothing about its urgency, and in turns with others of its kind.
    static func contentUrgency(_ wanted: HTTP2Priority) -> UInt8 { 4 + wanted.urgency / 2 }

    private func connect(
        _ connection: Connection, _ session: HTTP2Session, _ id: HTTP2StreamID, _ request: WebSocketRequest, _ head: HTTPRequestHead,
        _ requester: Requester
    ) {
        switch acceptance(of: request, head, requester, connection, over: .http2) {
        case .refuse(let status, let detail, let fields):
            respondHTTP2(session, id, ProblemDocument(status: status, detail: detail).response(extra: fields))
        case .accept(let purpose, let answer, let token):
            var fields: [HTTP2Field] = []
            if let subprotocol = answer.subprotocol { fields.append(("sec-websocket-protocol", subprotocol)) }
            if let extensions = answer.extensions { fields.append(("sec-websocket-extensions", extensions)) }
            counters.responses[200, default: 0] &+= 1
            guard session.respond(id, status: 200, fields: fields, endOfStream: false),
                let channel = openChannel(connection, stream: id, purpose, requester, token, answer.deflate)
            else { return }
            connection.channels.append((id, channel))
        }
    }

    /// The peer ended its half, or both close frames have passed: this end follows.
    func endStream(_ connection: Connection, _ channel: Channel) {
        guard !parkStream(connection, channel) else { return }
        leaveRoom(channel, reason: .lost)
        channel.endsAfterFlush = true
        markDirty(connection)
    }
}
