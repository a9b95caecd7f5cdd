import HTTPProtocol
import RelayBase
import TLSTransport
import WebSocketProtocol

extension EventLoop {
    /// Responses that a client has not read; it pipelines no further than this.
    private static let pipelinedBytesMax = 256 << 10

    func receivedHTTP1(_ connection: Connection, _ bytes: UnsafeMutableRawBufferPointer) {
        // After the last response nothing is read into memory any more.
        guard !connection.closesAfterOutbound else { return }
        unsafe connection.inbound.append(UnsafeRawBufferPointer(bytes))
        serveHTTP1(connection)
    }

    /// Takes whole requests out of what has come, one after the other.
    private func serveHTTP1(_ connection: Connection) {
        while connections.contains(connection.handle), !connection.closesAfterOutbound, !connection.inbound.isEmpty {
            guard case .http1 = connection.phase else { return }
            if connection.outbound.count > EventLoop.pipelinedBytesMax {
                closeAfterFlush(connection, reason: "pipelined_too_far")
                return
            }
            do {
                if connection.bodyReader != nil {
                    guard try skipBody(connection) else { return }
                    continue
                }
                switch try connection.headParser.parse(connection.inbound.span) {
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

    /// Reads on in a body that nobody wants. Answers false when more bytes are needed.
    private func skipBody(_ connection: Connection) throws(HTTPFault) -> Bool {
        guard let step = try connection.bodyReader?.read(connection.inbound.span) else { return true }
        connection.inbound.consume(step.consumed)
        if step.isComplete { connection.bodyReader = nil }
        return step.isComplete || step.consumed > 0
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
            let (response, body) = ProblemDocument(refusal).response(extra: refusal.responseFields(over: head.version))
            respondHTTP1(connection, response, body, head: head)
        case .accept, .refuse, .notRequested:
            let (response, body) = response(to: head, requester)
            respondHTTP1(connection, response, body, head: head)
        }
        guard head.framing != .none, !connection.closesAfterOutbound else { return }
        // A body that would be refused is not waited for.
        if head.expectsContinue {
            closeAfterFlush(connection, reason: "response_complete")
        } else {
            connection.bodyReader = try HTTPBodyReader(framing: head.framing, bodyBytesMax: limits.controlMessageBytesMax)
        }
    }

    /// This loop's counters are brought up to date first, so that a client sees in the metrics what it has just done; other loops' are a quarter of a
    /// second old at most.
    func response(to head: HTTPRequestHead, _ requester: Requester) -> Endpoints.Response {
        if head.path == Endpoints.metricsPath { shared.board.publish(snapshot(), loop: index) }
        return Endpoints(
            shared: shared, identity: requester.identity, uptimeSeconds: Double(now.nanoseconds(since: startedAt)) / 1e9
        ).response(to: head)
    }

    private func respondHTTP1(_ connection: Connection, _ response: HTTPResponseHead, _ body: [UInt8], head: HTTPRequestHead) {
        let keepsAlive = head.keepAlive && !shared.readiness.isDraining
        writeHTTP1(connection, response, head.method == .head ? [] : body, keepsAlive: keepsAlive)
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
        connection.outbound.append(body)
        markDirty(connection)
        if !keepsAlive { closeAfterFlush(connection, reason: "response_complete") }
    }

    private func refuseHTTP1(_ connection: Connection, _ fault: HTTPFault) {
        let (response, body) = ProblemDocument(fault).response()
        writeHTTP1(connection, response, body, keepsAlive: false)
        connection.closeReason = "http_\(snakeCased("\(fault)"))"
    }

    func timedOutHTTP1(_ connection: Connection) {
        if connection.closesAfterOutbound || connection.isBlocked {
            close(connection, reason: connection.closeReason ?? "close_timeout")
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

extension Endpoints {
    static func isWebSocketPath(_ path: String, echo: Bool) -> Bool {
        path == sessionPath || (echo && path == echoPath)
    }
}
