import HTTPProtocol
import HTTPTransport
import Reactor
import RelayBase
import Signalling
import TLSTransport
import WebSocketProtocol

extension ClientSession {
    /// Works on what has come, one event at a time; false when there is nothing more for now.
    func step() throws(ClientFault) -> Bool {
        if unsafe chunkOffset < chunk.count || isInBundle {
            try decodeNext()
            return true
        }
        if unsafe chunk.count > 0 { finishChunk() }
        if isWritable {
            isWritable = false
            try becameWritable()
            return true
        }
        if hasStreamEvents, let http2 {
            guard let event = http2.nextEvent() else {
                hasStreamEvents = false
                return true
            }
            try handle(event, http2)
            return true
        }
        guard isReadable, !isReadingStopped, !hasEnded else { return false }
        return try receive()
    }

    /// The chunk is decoded whole: what it lay in can be used again.
    private func finishChunk() {
        if chunkIsFromStream, case .openHTTP2(let session, let stream) = phase {
            unsafe session.consume(stream, chunk.count)
            loop.markDirty(self)
        }
        unsafe chunk = unsafe UnsafeMutableRawBufferPointer(start: nil, count: 0)
        chunkOffset = 0
        chunkIsFromStream = false
        if !early.isEmpty, case .openHTTP1 = phase {
            early.removeAll()
            early.releaseIfEmpty()
        }
    }

    private func becameWritable() throws(ClientFault) {
        switch phase {
        case .connecting:
            do {
                try Socket.connectResult(of: descriptor, calls: loop.calls)
            } catch {
                throw .connect(error)
            }
            phase = .securing
            isReadable = true
        case .securing, .upgrading, .negotiating, .requesting, .openHTTP1, .openHTTP2:
            do {
                if try secure.flush() { loop.markDirty(self) }
            } catch {
                throw .transport(error)
            }
        case .ended: break
        }
    }

    // MARK: Receiving

    private func receive() throws(ClientFault) -> Bool {
        guard receivesLeft > 0 else {
            // The socket tells again of what is in it, but not of what is buffered here.
            loop.enqueueLater(self)
            return false
        }
        receivesLeft -= 1
        switch phase {
        case .connecting:
            isReadable = false
            return isWritable
        case .securing: return try handshake()
        case .upgrading, .negotiating, .requesting, .openHTTP1, .openHTTP2, .ended: break
        }
        let result: Received
        do {
            unsafe result = try unsafe secure.receive()
        } catch {
            throw .transport(error)
        }
        switch unsafe result {
        case .bytes(let bytes):
            lastReceived = loop.now
            return try unsafe received(bytes)
        case .wouldBlock: isReadable = false
        case .end: ended()
        }
        return false
    }

    private func handshake() throws(ClientFault) -> Bool {
        let progress: HandshakeProgress
        do {
            progress = try secure.handshake()
        } catch {
            throw .transport(error)
        }
        loop.watchWrite(self, secure.hasUnsent)
        guard progress == .complete else {
            isReadable = false
            return false
        }
        lastReceived = loop.now
        negotiated = secure.negotiated
        guard negotiated?.applicationProtocol == options.http.applicationProtocol else {
            throw .applicationProtocol(negotiated?.applicationProtocol)
        }
        switch options.http {
        case .http1: try requestUpgrade()
        case .http2:
            var configuration = HTTP2Configuration(limits: options.limits)
            configuration.outboundBytesMax = max(configuration.outboundBytesMax, options.sendQueueBytesMax)
            phase = .negotiating(HTTP2Session(role: .client, configuration: configuration, now: loop.now))
        }
        loop.markDirty(self)
        return true
    }

    private func received(_ bytes: UnsafeMutableRawBufferPointer) throws(ClientFault) -> Bool {
        switch phase {
        case .openHTTP1:
            unsafe chunk = unsafe bytes
            chunkOffset = 0
        case .upgrading(let parser, let offer):
            unsafe early.append(UnsafeRawBufferPointer(bytes))
            try readHead(parser, offer)
        case .negotiating(let session), .requesting(let session, _), .openHTTP2(let session, _):
            do {
                try unsafe session.receive(UnsafeRawBufferPointer(bytes), now: loop.now)
            } catch {
                throw .http2(error)
            }
            hasStreamEvents = true
            loop.markDirty(self)
        case .connecting, .securing, .ended: break
        }
        return true
    }

    /// The transport is over: after the closing handshake that is as it should be.
    private func ended() {
        if closing.isClosed {
            try? secure.shutdown()
            loop.end(self, .closed(closing.receivedCode, reason: closeReason))
        } else {
            loop.end(self, .failed(.connectionLost))
        }
    }

    // MARK: HTTP/1.1

    private func requestUpgrade() throws(ClientFault) {
        let offer = WebSocketHandshake.Offer(key: WebSocketHandshake.key(loop.keys.nonce()), subprotocols: [options.subprotocol])
        let head = HTTPRequestHead.webSocketUpgrade(
            authority: options.authority, path: options.path, key: offer.key, subprotocols: offer.subprotocols)
        do {
            outbound.append(try head.serialized())
        } catch {
            throw .request("\(error)")
        }
        phase = .upgrading(HTTPResponseHeadParser(limits: options.limits), offer)
    }

    private func readHead(_ parser: HTTPResponseHeadParser, _ offer: WebSocketHandshake.Offer) throws(ClientFault) {
        var parser = parser
        let step: HTTPHeadStep<HTTPResponseHead>
        do {
            step = try parser.parse(unsafe RawSpan(_unsafeBytes: early.readable))
        } catch {
            throw .responseHead(error)
        }
        guard case .complete(let head, let headBytes) = step else {
            phase = .upgrading(parser, offer)
            return
        }
        early.consume(headBytes)
        guard head.status == .switchingProtocols else {
            // An interim response is followed by the final one (RFC 9110 §15.2).
            if head.status.isInformational {
                phase = .upgrading(HTTPResponseHeadParser(limits: options.limits), offer)
                if !early.isEmpty { try readHead(HTTPResponseHeadParser(limits: options.limits), offer) }
                return
            }
            throw .refused(status: head.status.code, detail: unsafe ProblemDetail.text(of: early.readable))
        }
        guard head.fields.hasToken("websocket", in: "upgrade"), head.fields.hasToken("upgrade", in: "connection") else {
            throw .handshake(.acceptMismatch)
        }
        try confirm(offer, over: .http1, head.fields)
        phase = .openHTTP1
        unsafe chunk = unsafe early.readableInPlace
        opened()
    }

    private func confirm(_ offer: WebSocketHandshake.Offer, over transport: WebSocketHandshake.Transport, _ fields: HTTPFields) throws(ClientFault) {
        let response: WebSocketHandshake.Response
        do {
            response = try WebSocketHandshake.confirm(
                offer, over: transport, accept: fields.all("sec-websocket-accept"), subprotocols: fields.all("sec-websocket-protocol"),
                extensions: fields.all("sec-websocket-extensions"))
        } catch {
            throw .handshake(error)
        }
        guard response.subprotocol == options.subprotocol else { throw .subprotocol }
    }

    private func opened() {
        loop.tell(self, .opened)
        if options.saysHello {
            send(
                .hello(
                    .init(
                        versions: [1], client: .init(name: options.clientName, version: options.clientVersion), token: options.token,
                        device: options.device, wishes: options.wishes, resume: options.resume)))
        }
        loop.schedule(self)
    }

    // MARK: HTTP/2

    private func handle(_ event: HTTP2Event, _ session: HTTP2Session) throws(ClientFault) {
        switch event {
        case .settingsReceived(let extendedConnect):
            guard case .negotiating = phase else { return }
            guard extendedConnect else { throw .request("\(HTTP2RequestRefusal.extendedConnectNotEnabled)") }
            try requestStream(session)
        case .response(let id, let status, let fields, _):
            guard case .requesting(_, let stream) = phase, id == stream else { return }
            guard (200...299).contains(status) else { throw .refused(status: status, detail: "") }
            let offer = WebSocketHandshake.Offer(key: "", subprotocols: [options.subprotocol])
            try confirm(offer, over: .http2, HTTPFields(fields.map { HTTPField($0.name, $0.value) }))
            phase = .openHTTP2(session, stream)
            opened()
            takeStreamBytes(session, stream)
        case .dataAvailable(let id):
            guard case .openHTTP2(_, let stream) = phase, id == stream else { return }
            takeStreamBytes(session, stream)
        case .endOfStream(let id):
            guard case .openHTTP2(_, let stream) = phase, id == stream, closing.isClosed else { return }
            session.endStream(stream)
            loop.markDirty(self)
        case .streamClosed(let id, let code):
            switch phase {
            case .openHTTP2(_, let stream) where id == stream: streamEnded(session, code)
            case .requesting(_, let stream) where id == stream: throw code == .refusedStream ? .goingAway : .streamReset(code)
            default: break
            }
        case .writable: loop.markDirty(self)
        case .goAwayReceived:
            switch phase {
            case .negotiating: throw .goingAway
            default: break
            }
        case .request, .headerListTooLarge, .pingAcknowledged: break
        }
    }

    private func requestStream(_ session: HTTP2Session) throws(ClientFault) {
        let fields: [HTTP2Field] = [
            (":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "https"), (":path", options.path), (":authority", options.authority),
            ("sec-websocket-version", WebSocketHandshake.version), ("sec-websocket-protocol", options.subprotocol),
        ]
        do {
            phase = .requesting(session, try session.request(fields: fields, endOfStream: false))
        } catch {
            throw .request("\(error)")
        }
        loop.markDirty(self)
    }

    private func takeStreamBytes(_ session: HTTP2Session, _ stream: HTTP2StreamID) {
        unsafe chunk = unsafe session.inboundInPlace(stream)
        chunkOffset = 0
        chunkIsFromStream = true
    }

    private func streamEnded(_ session: HTTP2Session, _ code: HTTP2ErrorCode) {
        guard closing.isClosed else {
            loop.end(self, .failed(code == .noError ? .connectionLost : .streamReset(code)))
            return
        }
        session.goAway(.noError)
        try? flush()
        try? secure.shutdown()
        loop.end(self, .closed(closing.receivedCode, reason: closeReason))
    }
}

/// The sentence of a problem document (RFC 9457 §3.1.4), found without trusting the text to be one.
enum ProblemDetail {
    private static let bytesMax = 4_096

    static func text(of body: UnsafeRawBufferPointer) -> String {
        let bytes = unsafe Array(body.prefix(bytesMax))
        let text = String(decoding: bytes, as: UTF8.self)
        guard let key = text.firstRange(of: "\"detail\":\"") else { return "" }
        let sentence = text[key.upperBound...].prefix { $0 != "\"" && $0 != "\\" }
        return String(String.UnicodeScalarView(sentence.unicodeScalars.filter { $0.value >= 32 && $0.value != 127 }))
    }
}
