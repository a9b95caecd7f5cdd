import HTTPTransport
import RelayBase
import Signalling
import TLSTransport
import WebSocketProtocol

extension ClientSession {
    // MARK: Receiving

    /// Decodes the chunk's next frame and acts on it.
    func decodeNext() throws(ClientFault) {
        if lendNextOfBundle() { return }
        guard unsafe chunkOffset < chunk.count else { return }
        let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: chunk[chunkOffset...])
        let step: WebSocketInboundStep
        do {
            step = try unsafe inbound.next(rest, now: loop.now)
        } catch {
            fail(error)
            throw .webSocket(error)
        }
        chunkOffset += step.consumed
        switch step.event {
        case .needMoreBytes, .finished: break
        case .message(.binary, _, let location): try unsafe media(inbound.payload(location, in: rest))
        case .message(.text, _, let location): try message(unsafe Array(inbound.payload(location, in: rest)))
        case .ping(let location):
            guard closing.maySend else { return }
            unsafe WebSocketFrameEncoder.append(.pong, inbound.payload(location, in: rest), maskingKey: loop.keys.take(), to: &outbound)
            try boundQueue()
        case .pong: break
        case .close(let code, let location):
            closeReason = unsafe String(decoding: inbound.payload(location, in: rest), as: UTF8.self)
            receivedClose(code)
        }
    }

    private func message(_ bytes: [UInt8]) throws(ClientFault) {
        if options.ignoresParticipants, ClientSession.isOfParticipant(bytes) { return }
        let message: RelayMessage?
        do {
            message = try RelayMessage.decode(bytes)
        } catch {
            close(.invalidFramePayloadData, reason: "not a message of the protocol")
            try? flush()
            throw .malformedMessage
        }
        switch message {
        case .welcome(_, let welcome):
            loop.tell(self, .welcome(welcome))
            welcomed()
        case .ok(let id, let answer): if !takesAnswer(id, answer.serverTime) { loop.tell(self, .answer(id, answer)) }
        case .error(let id?, _) where takesAnswer(id, nil): break
        case .error(let id, let refusal): loop.tell(self, .refused(id, refusal))
        case .some(let news): loop.tell(self, .news(news))
        // A newer relay may say more than this client knows.
        case nil: break
        }
    }

    /// Whether a message is one of `participant.…`, by its end: the relay writes members in their order, of which `type` is the last.
    private static func isOfParticipant(_ bytes: [UInt8]) -> Bool {
        guard bytes.count > 2, let quote = bytes.dropLast(2).lastIndex(of: UInt8(ascii: "\"")) else { return false }
        return bytes[..<quote].suffix(7).elementsEqual("\"type\":".utf8) && bytes[quote...].starts(with: "\"participant.".utf8)
    }

    /// A relay that pings and does not read must not fill this client's memory.
    private func boundQueue() throws(ClientFault) {
        guard queuedBytes <= options.sendQueueBytesMax * 2 else { throw .silent }
        loop.markDirty(self)
    }

    private func receivedClose(_ code: WebSocketCloseCode?) {
        switch closing.receiveClose(code, now: loop.now) {
        case .reply(let code, _):
            WebSocketFrameEncoder.appendClose(code, maskingKey: loop.keys.take(), to: &outbound)
            endStreamHalf()
        case .finished: endStreamHalf()
        case .ignore: break
        }
        loop.schedule(self)
    }

    /// Over HTTP/2 both ends end the stream; over HTTP/1.1 a client waits for the relay to end the connection (RFC 6455 §7.1.1).
    private func endStreamHalf() {
        loop.markDirty(self)
        endsBy = closing.nextDeadline
    }

    /// The relay broke a rule of the WebSocket protocol: it is told, and the connection ends (RFC 6455 §7.1.7).
    private func fail(_ fault: WebSocketFault) {
        if case .sendThenEnd(let code) = closing.fail(fault, now: loop.now) {
            WebSocketFrameEncoder.appendClose(code, reason: "\(fault.closeReason)", maskingKey: loop.keys.take(), to: &outbound)
        }
        try? flush()
        try? secure.shutdown()
    }

    // MARK: Sending

    /// Sends what is queued, as far as the kernel and the relay's flow control take it.
    func flush() throws(ClientFault) {
        do {
            if let http2 {
                try flushHTTP2(http2)
            } else {
                try flushHTTP1()
            }
        } catch {
            throw .transport(error)
        }
        if case .connecting = phase { return }
        loop.watchWrite(self, secure.hasUnsent)
        if wasFull, isOpen, queuedBytes < options.sendQueueBytesMax / 2 {
            wasFull = false
            loop.tell(self, .writable)
        }
    }

    private func flushHTTP1() throws(TransportFault) {
        switch phase {
        case .connecting, .securing, .ended: return
        case .upgrading, .negotiating, .requesting, .openHTTP1, .openHTTP2: break
        }
        while !outbound.isEmpty, !secure.hasUnsent {
            let count = min(outbound.count, ClientLoop.sendBytes)
            try unsafe secure.send(UnsafeRawBufferPointer(rebasing: outbound.readable[..<count]))
            outbound.consume(count)
        }
        outbound.releaseIfEmpty()
    }

    private func flushHTTP2(_ session: HTTP2Session) throws(TransportFault) {
        while !secure.hasUnsent {
            var moved = 0
            if case .openHTTP2(_, let stream) = phase {
                if !outbound.isEmpty {
                    moved = min(outbound.count, session.sendCapacity(stream, wanted: min(outbound.count, 16 << 10)), ClientLoop.sendBytes)
                    if moved > 0 {
                        unsafe session.write(stream, UnsafeRawBufferPointer(rebasing: outbound.readable[..<moved]))
                        outbound.consume(moved)
                    }
                }
                if outbound.isEmpty, closing.isClosed { session.endStream(stream) }
            }
            let more = session.produce(into: &loop.http2Output, upTo: ClientLoop.sendBytes, now: loop.now)
            defer { loop.http2Output.removeAll() }
            if !loop.http2Output.isEmpty {
                try unsafe secure.send(loop.http2Output.readable)
                hasStreamEvents = true
                loop.enqueue(self)
            }
            if !more, moved == 0 || outbound.isEmpty { break }
        }
        outbound.releaseIfEmpty()
    }

    // MARK: Time

    private static let timerMillisecondsMax: UInt64 = 5_000

    func nextDeadline(now: MonotonicInstant) -> MonotonicInstant {
        var deadline = now.advanced(byMilliseconds: Self.timerMillisecondsMax)
        deadline = min(deadline, closing.nextDeadline)
        if let http2 { deadline = min(deadline, http2.nextDeadline) }
        switch phase {
        case .openHTTP1, .openHTTP2:
            deadline = min(deadline, inbound.nextDeadline)
            deadline = min(deadline, lastPing.advanced(byMilliseconds: options.pingMilliseconds))
            deadline = min(deadline, lastReceived.advanced(byMilliseconds: options.silenceMillisecondsMax))
            deadline = min(deadline, clock.due)
        case .connecting, .securing, .upgrading, .negotiating, .requesting, .ended:
            deadline = min(deadline, openedAt.advanced(byMilliseconds: options.openMillisecondsMax))
        }
        return max(deadline, now.advanced(byMilliseconds: 1))
    }

    func timerFired() {
        let now = loop.now
        switch phase {
        case .ended: return
        case .connecting, .securing, .upgrading, .negotiating, .requesting:
            if now >= openedAt.advanced(byMilliseconds: options.openMillisecondsMax) {
                loop.end(self, .failed(.openTimeout))
                return
            }
        case .openHTTP1, .openHTTP2:
            if closing.expired(now: now) {
                // Both close frames have passed, or the relay does not answer ours: what matters is known either way.
                loop.end(self, closing.isClosed ? .closed(closing.receivedCode, reason: closeReason) : .failed(.connectionLost))
                return
            }
            if inbound.expired(now: now) != nil {
                fail(.messageIncompleteTooLong)
                loop.end(self, .failed(.webSocket(.messageIncompleteTooLong)))
                return
            }
            if now.milliseconds(since: lastReceived) >= options.silenceMillisecondsMax {
                loop.end(self, .failed(.silent))
                return
            }
            if closing.maySend, now.milliseconds(since: lastPing) >= options.pingMilliseconds {
                lastPing = now
                WebSocketFrameEncoder.append(.ping, RawSpan(), maskingKey: loop.keys.take(), to: &outbound)
                loop.markDirty(self)
            }
            exchangeTimeIfDue()
        }
        if let http2 {
            do {
                try http2.deadlineReached(now: now)
            } catch {
                loop.end(self, .failed(.http2(error)))
                return
            }
        }
        loop.schedule(self)
    }
}
