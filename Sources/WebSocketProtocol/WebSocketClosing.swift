package import RelayBase

/// Decides the closing handshake of one WebSocket (RFC 6455 §7). It sends nothing: each answer says what the caller is to do.
///
/// ```
///            sendClose            receiveClose
///   open ───────────────▶ closeSent ───────────────▶ closed
///     └─── receiveClose: reply ──────────────────────▶ closed
///     └─── fail: close frame if none was sent ───────▶ closed
/// ```
package struct WebSocketClosing: Sendable {
    private enum State: Sendable {
        case open
        case closeSent(deadline: MonotonicInstant)
        case closed(deadline: MonotonicInstant)
    }

    /// What to do with the transport once the closing handshake is over: the server ends it first, so that the state after the end is on its side
    /// (RFC 6455 §7.1.1); a client waits for that until ``nextDeadline``.
    package enum TransportEnding: Sendable, Equatable {
        case endAfterFlush
        case awaitPeer
    }

    package enum OnReceiveClose: Sendable, Equatable {
        /// Send a close frame with this code, `nil` for an empty one; then see to the transport.
        case reply(WebSocketCloseCode?, then: TransportEnding)
        /// Our close frame has its answer; see to the transport.
        case finished(TransportEnding)
        /// A close frame was handled before.
        case ignore
    }

    package enum OnSendClose: Sendable, Equatable {
        /// Send the close frame; no frame may follow it.
        case send
        /// One was sent before: send nothing.
        case alreadyClosing
    }

    package enum OnFail: Sendable, Equatable {
        /// Send a close frame with this code, then end the transport without waiting for an answer (RFC 6455 §7.1.7).
        case sendThenEnd(WebSocketCloseCode)
        /// A close frame was sent before: end the transport after what is queued.
        case end
    }

    package let role: WebSocketRole
    private let closeHandshakeMillisecondsMax: UInt64
    private var state = State.open
    /// The code of the connection's close (RFC 6455 §7.1.5): that of the peer's close frame, 1005 when it had none, 1006 while none has come.
    package private(set) var receivedCode = WebSocketCloseCode.abnormalClosure

    package init(role: WebSocketRole, closeHandshakeMillisecondsMax: UInt64) {
        self.role = role
        self.closeHandshakeMillisecondsMax = closeHandshakeMillisecondsMax
    }

    /// Whether frames may still be sent: no close frame has gone out.
    package var maySend: Bool {
        switch state {
        case .open: true
        case .closeSent, .closed: false
        }
    }

    /// Whether both close frames have passed, or the connection was failed.
    package var isClosed: Bool {
        switch state {
        case .open, .closeSent: false
        case .closed: true
        }
    }

    /// When waiting for the peer's close frame, or for the end of the transport, is over.
    package var nextDeadline: MonotonicInstant {
        switch state {
        case .open: .distantFuture
        case .closeSent(let deadline), .closed(let deadline): deadline
        }
    }

    /// Whether the transport is to be ended by force at `now`.
    package func expired(now: MonotonicInstant) -> Bool { now >= nextDeadline }

    /// The peer's close frame has come with this code.
    package mutating func receiveClose(_ code: WebSocketCloseCode?, now: MonotonicInstant) -> OnReceiveClose {
        switch state {
        case .open:
            receivedCode = code ?? .noStatusReceived
            state = .closed(deadline: deadline(from: now))
            return .reply(code, then: ending)
        case .closeSent:
            receivedCode = code ?? .noStatusReceived
            state = .closed(deadline: deadline(from: now))
            return .finished(ending)
        case .closed:
            return .ignore
        }
    }

    /// This end wants to close.
    package mutating func sendClose(now: MonotonicInstant) -> OnSendClose {
        switch state {
        case .open:
            state = .closeSent(deadline: deadline(from: now))
            return .send
        case .closeSent, .closed:
            return .alreadyClosing
        }
    }

    /// The peer broke a rule: the connection is failed (RFC 6455 §7.1.7).
    package mutating func fail(_ fault: WebSocketFault, now: MonotonicInstant) -> OnFail {
        switch state {
        case .open:
            state = .closed(deadline: deadline(from: now))
            return .sendThenEnd(fault.closeCode)
        case .closeSent:
            state = .closed(deadline: deadline(from: now))
            return .end
        case .closed:
            return .end
        }
    }

    private var ending: TransportEnding {
        switch role {
        case .server: .endAfterFlush
        case .client: .awaitPeer
        }
    }

    private func deadline(from now: MonotonicInstant) -> MonotonicInstant {
        now.advanced(byMilliseconds: closeHandshakeMillisecondsMax)
    }
}
