import HTTPProtocol
import HTTPTransport
import Reactor
import RelayBase
import RelayRooms
import TLSTransport
import WebSocketProtocol

extension EventLoop {
    /// Responses that a client has not read; it pipelines no further than this.
    private static let pipelinedBytesMax = 256 << 10

    func receivedHTTP1(_ connection: Connection, _ bytes: UnsafeMutableRawBufferPointer) {
        // After the last response nothing is read into memory any more.
        guard !connection.closesAfterOutbound else { return }
        unsafe connection.inbound.append(UnsafeRawBufferPointer(bytes))
        // Whoever sends on and on behind a request that is not answered yet is not waited for.
        if connection.inbound.count > EventLoop.pipelinedBytesMax + limits.requestHeadBytesMax {
            close(connection, reason: "pipelined_too_far")
            return
        }
        serveHTTP1(connection)
    }

    /// Takes whole requests out of what has come, one after the other, as many as the turn allows.
    private func serveHTTP1(_ connection: Connection) {
        while connections.contains(connection.handle), !connection.closesAfterOutbound, !connection.inbound.isEmpty {
            // What is behind a long answer waits until that has gone.
            guard case .http1 = connection.phase, let reading = connection.reading, reading.content == nil, !isWatching(connection) else { return }
            // One long answer is nobody's fault, but whoever does not read it gets no other.
            if connection.outbound.count > EventLoop.pipelinedBytesMax { flush(connection) }
            if connection.outbound.count > EventLoop.pipelinedBytesMax {
                closeAfterFlush(connection, reason: "pipelined_too_far")
                return
            }
            do {
                if let exchange = connection.exchanges.first {
                    // What follows waits for its turn.
                    guard exchange.stage == .body, try takeBody(connection, exchange) else { return }
                    continue
                }
                if connection.bodyReader != nil {
                    guard skipBody(connection) else { return }
                    continue
                }
                guard requestTurns.begin(&connection.requestShare, of: connection.handle) else { return }
                let begun = MonotonicClock.now()
                defer { requestTurns.ended(MonotonicClock.now().nanoseconds(since: begun)) }
                switch try reading.headParser.parse(connection.inbound.span) {
                case .needMoreBytes:
                    beginHead(connection)
                    return
                case .complete(let head, let headBytes):
                    connection.inbound.consume(headBytes)
                    connection.isHeadBegun = false
                    try answerHTTP1(connection, head)
                }
            } catch {
                refuseHTTP1(connection, error)
                return
            }
        }
        connection.inbound.releaseIfEmpty()
    }

    /// A head that has begun has its own, shorter time than an idle connection.
    private func beginHead(_ connection: Connection) {
        guard !connection.isHeadBegun else { return }
        connection.isHeadBegun = true
        setDeadline(connection, now.advanced(byMilliseconds: limits.requestHeadMillisecondsMax))
    }

    /// Goes on with what came behind a request that has its answer now.
    func resumeHTTP1(_ connection: Connection) {
        guard connections.contains(connection.handle), case .http1 = connection.phase else { return }
        serveHTTP1(connection)
    }

    /// Reads on in a body that an exchange waits for. Answers false when more bytes are needed.
    private func takeBody(_ connection: Connection, _ exchange: HTTPExchange) throws(HTTPFault) -> Bool {
        guard let step = try readBody(connection) else { return false }
        let refusal = unsafe take(UnsafeRawBufferPointer(rebasing: connection.inbound.readable[step.content]), exchange)
        connection.inbound.consume(step.consumed)
        if let refusal {
            exchange.endsConnection = true
            finish(exchange, refusal)
        } else if step.isComplete {
            connection.bodyReader = nil
            perform(exchange)
        }
        return step.isComplete || step.consumed > 0
    }

    /// Without optional chaining: an access that is not checked at run time must be seen to end.
    private func readBody(_ connection: Connection) throws(HTTPFault) -> HTTPBodyStep? {
        guard var reader = connection.bodyReader else { return nil }
        defer { connection.bodyReader = reader }
        return unsafe try reader.read(RawSpan(_unsafeBytes: connection.inbound.readable))
    }

    /// Reads on in a body that nobody wants. Answers false when more bytes are needed. Its request has been answered: a fault in it is not answered
    /// once more, but nothing after it can be read.
    private func skipBody(_ connection: Connection) -> Bool {
        do {
            guard let step = try connection.bodyReader?.read(connection.inbound.span) else { return true }
            connection.inbound.consume(step.consumed)
            if step.isComplete { connection.bodyReader = nil }
            return step.isComplete || step.consumed > 0
        } catch {
            closeAfterFlush(connection, reason: "http_\(snakeCased("\(error)"))")
            return false
        }
    }

    private func answerHTTP1(_ connection: Connection, _ head: HTTPRequestHead) throws(HTTPFault) {
        counters.httpRequests &+= 1
        setDeadline(connection, now.advanced(byMilliseconds: limits.idleHTTPMillisecondsMax))
        let (head, requester) = identify(head, connection)
        switch UpgradeDecision(head) {
        case .accept(let request) where Endpoints.isWebSocketPath(request.path, echo: shared.configuration.echo):
            upgrade(connection, request, head, requester)
            return
        case .refuse(let refusal) where Endpoints.isWebSocketPath(head.path, echo: shared.configuration.echo):
            let answer = ProblemDocument(refusal).response(extra: refusal.responseFields(over: head.version))
            respond(connection, nil, head, answer, endsConnection: head.refusesContinue)
        case .accept, .refuse, .notRequested:
            // A body that is too large by its own account is refused before its request is answered.
            let reader = head.framing == .none ? nil : try HTTPBodyReader(framing: head.framing, bodyBytesMax: limits.controlMessageBytesMax)
            switch beginAPI(head, connection, requester, stream: nil, hasBody: head.framing != .none) {
            case .elsewhere: respond(connection, nil, head, response(to: head, requester), endsConnection: head.refusesContinue)
            case .answer(let answer): respond(connection, nil, head, answer.response, endsConnection: head.refusesContinue)
            case .exchange(let exchange): beginHTTP1(connection, exchange, reader)
            }
            guard !connection.closesAfterOutbound, connection.exchanges.first?.endsConnection != true else { return }
            connection.bodyReader = connection.bodyReader ?? reader
            return
        }
        guard head.framing != .none, !connection.closesAfterOutbound else { return }
        connection.bodyReader = try HTTPBodyReader(framing: head.framing, bodyBytesMax: limits.controlMessageBytesMax)
    }

    private func beginHTTP1(_ connection: Connection, _ exchange: HTTPExchange, _ reader: HTTPBodyReader?) {
        // The exchange has a time of its own.
        setDeadline(connection, .distantFuture)
        switch exchange.stage {
        case .body:
            connection.bodyReader = reader
            // RFC 9110 §10.1.1: not to a client that sends on without being told to.
            guard exchange.head.expectsContinue, connection.inbound.isEmpty else { return }
            connection.outbound.append(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
            markDirty(connection)
        case .answer:
            exchange.endsConnection = exchange.head.refusesContinue
            perform(exchange)
        }
    }

    /// This loop's counters are brought up to date first, so that a client sees in the metrics what it has just done; other loops' are a quarter of a
    /// second old at most.
    func response(to head: HTTPRequestHead, _ requester: Requester) -> Endpoints.Response {
        if head.path == Endpoints.metricsPath { shared.board.publish(snapshot(), at: index) }
        let answer = Endpoints(
            shared: shared, web: web, identity: requester.identity, uptimeSeconds: Double(now.nanoseconds(since: startedAt)) / 1e9
        ).response(to: head)
        if answer.head.status == .forbidden {
            shared.audit.record("GET \(head.path)", by: requester.principal?.name ?? "", from: "\(requester.address)", .refused("certificate_needed"))
        }
        return answer
    }

    /// Sends a whole answer, over whichever version its request came.
    func respond(
        _ connection: Connection, _ stream: HTTP2StreamID?, _ head: HTTPRequestHead, _ answer: Endpoints.Response, endsConnection: Bool
    ) {
        let answer = (head: answer.head, body: head.method == .head ? [] : answer.body)
        if let stream {
            guard case .http2(let session) = connection.phase else { return }
            respondHTTP2(session, stream, answer)
            connection.lastRequest = now
            markDirty(connection)
            renewDeadline(connection, session)
        } else {
            if !connection.closesAfterOutbound { setDeadline(connection, now.advanced(byMilliseconds: limits.idleHTTPMillisecondsMax)) }
            writeHTTP1(connection, answer.head, answer.body, keepsAlive: head.keepAlive && !shared.readiness.isDraining && !endsConnection)
        }
    }

    private func writeHTTP1(_ connection: Connection, _ response: HTTPResponseHead, _ body: [UInt8], keepsAlive: Bool) {
        var response = response
        if !keepsAlive { response.fields.append("connection", "close") }
        counters.responses[response.status.code, default: 0] &+= 1
        guard let bytes = try? response.serialized(date: date.current()) else {
            close(connection, reason: "response_invalid")
            return
        }
        connection.outbound.append(bytes)
        if body.count > EventLoop.egressBytes, let reading = connection.reading {
            reading.content = OutgoingContent(body)
        } else {
            connection.outbound.append(body)
        }
        markDirty(connection)
        if !keepsAlive { closeAfterFlush(connection, reason: "response_complete") }
    }

    private func refuseHTTP1(_ connection: Connection, _ fault: HTTPFault) {
        // This is the answer to a request whose content is at fault, too.
        for exchange in connection.exchanges { abandon(exchange) }
        let (response, body) = ProblemDocument(fault).response()
        writeHTTP1(connection, response, body, keepsAlive: false)
        connection.closeReason = "http_\(snakeCased("\(fault)"))"
    }

    func timedOutHTTP1(_ connection: Connection) {
        let progressEnd = connection.lastProgress.advanced(byMilliseconds: limits.idleHTTPMillisecondsMax)
        if connection.reading?.content != nil, now < progressEnd {
            // A slow reader is nobody's fault, as long as it reads.
            setDeadline(connection, progressEnd)
        } else if connection.closesAfterOutbound || connection.isBlocked {
            close(connection, reason: connection.closeReason ?? "close_timeout")
        } else if connection.requestShare.isWaiting {
            // The client has done its part.
            setDeadline(connection, now.advanced(byMilliseconds: limits.idleHTTPMillisecondsMax))
        } else if connection.inbound.isEmpty, connection.bodyReader == nil {
            connection.closeReason = "idle"
            closeAfterFlush(connection, reason: "idle")
        } else {
            let (response, body) = ProblemDocument(status: .requestTimeout, detail: "The request did not arrive in time.").response()
            writeHTTP1(connection, response, body, keepsAlive: false)
            connection.closeReason = "request_timeout"
        }
    }

    // MARK: Upgrade

    private func upgrade(_ connection: Connection, _ request: WebSocketRequest, _ head: HTTPRequestHead, _ requester: Requester) {
        switch acceptance(of: request, head, requester, connection, over: .http1) {
        case .refuse(let status, let detail, let fields):
            let (response, body) = ProblemDocument(status: status, detail: detail).response(extra: fields)
            writeHTTP1(connection, response, body, keepsAlive: false)
        case .accept(let purpose, let answer, let token):
            let head = HTTPResponseHead.webSocketAccepted(
                accept: answer.accept ?? "", subprotocol: answer.subprotocol, extensions: answer.extensions)
            counters.responses[101, default: 0] &+= 1
            guard let bytes = try? head.serialized(date: date.current()) else {
                close(connection, reason: "response_invalid")
                return
            }
            connection.outbound.append(bytes)
            guard let channel = openChannel(connection, stream: nil, purpose, requester, token, answer.deflate) else { return }
            connection.phase = .webSocket(channel)
            connection.endReading()
            setDeadline(connection, .distantFuture)
            markDirty(connection)
            // Frames may have come right behind the request.
            if !connection.inbound.isEmpty {
                var early = ByteQueue()
                unsafe early.append(connection.inbound.readable)
                connection.inbound.removeAll()
                connection.inbound.releaseIfEmpty()
                unsafe receivedWebSocket(channel, early.readableInPlace)
            }
        }
    }
}

extension HTTPRequestHead {
    /// The client waits for leave to send a body that is not wanted: it does not get it, and whether it sends the body all the same nobody can tell.
    fileprivate var refusesContinue: Bool { framing != .none && expectsContinue }
}

extension Endpoints {
    static func isWebSocketPath(_ path: String, echo: Bool) -> Bool {
        path == sessionPath || (echo && path == echoPath)
    }
}
