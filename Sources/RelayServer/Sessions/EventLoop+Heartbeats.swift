import HTTPTransport
import Reactor
import RelayBase
import RelayRooms
import Signalling
import TLSTransport
import WebSocketProtocol

/// A WebSocket's time: pings, silence, keep-alive messages, and what must have happened by when. Each has its own instant on the timer wheel.
extension EventLoop {
    func scheduleChannelTimer(_ channel: Channel) {
        var deadline = channel.isParked ? channel.resumption.parkedUntil : channel.closing.nextDeadline
        if channel.closing.maySend, !channel.isParked {
            deadline = min(deadline, channel.inbound.nextDeadline)
            deadline = min(deadline, channel.liveness.nextPing)
            deadline = min(deadline, channel.liveness.keepAliveDue)
            deadline = min(deadline, channel.lastReceived.advanced(byMilliseconds: limits.silenceMillisecondsMax))
            deadline = min(deadline, stallLook(channel))
            if isAwaitingHello(channel) { deadline = min(deadline, channel.openedAt.advanced(byMilliseconds: limits.helloMillisecondsMax)) }
        }
        // Never at once again: what is due is handled in this turn.
        deadline = max(deadline, now.advanced(byMilliseconds: 1))
        channel.liveness.timerDue = deadline
        if let timer = channel.timer, timers.reschedule(timer, at: deadline) { return }
        channel.timer = timers.schedule(at: deadline, TimerEvent(payload: channel.handle.packed, kind: TimerKind.channel))
    }

    /// A message has begun and is not complete: what has a deadline of its own since the timer was set.
    func noteIncomplete(_ channel: Channel) {
        if channel.inbound.nextDeadline < channel.liveness.timerDue { scheduleChannelTimer(channel) }
    }

    /// When to look again whether the peer has stopped reading: it cannot have been stalled for long enough before.
    private func stallLook(_ channel: Channel) -> MonotonicInstant {
        let progress = channel.connection.map { $0.isBlocked || $0.flow.isHeld ? $0.lastProgress : channel.lastProgress } ?? channel.lastProgress
        let due = progress.advanced(byMilliseconds: limits.stallMillisecondsMax)
        return due > now ? due : now.advanced(byMilliseconds: limits.stallMillisecondsMax)
    }

    /// A session in no room has small messages now and then, and keeps no memory for the largest that there was.
    private func releaseIdleMemory(_ channel: Channel) {
        guard !channel.isInRoomOrLobby else { return }
        channel.inbound.releaseIdleMemory()
        if let stream = channel.stream, let connection = channel.connection, case .http2(let session) = connection.phase {
            session.releaseIdleMemory(of: stream)
        }
    }

    private func isAwaitingHello(_ channel: Channel) -> Bool {
        guard channel.purpose == .session, case .awaitingHello = channel.state else { return false }
        return true
    }

    func channelTimer(_ channel: Channel) {
        channel.timer = nil
        defer { if !channel.isGone { scheduleChannelTimer(channel) } }
        guard !channel.isParked else {
            parkedTimer(channel)
            return
        }
        if channel.closing.expired(now: now) {
            endTransport(channel, reason: channel.closeReason ?? "close_timeout")
            return
        }
        if let fault = channel.inbound.expired(now: now) {
            fail(channel, fault)
            return
        }
        guard channel.closing.maySend else { return }
        if now.milliseconds(since: channel.lastReceived) >= limits.silenceMillisecondsMax {
            channel.closeReason = "silent"
            endTransport(channel, reason: "silent")
        } else if isStalled(channel) {
            if channel.connection.map(isUnreachable) == true {
                // Nobody is there to be told: the client may come back by another way.
                channel.closeReason = "unreachable"
                endTransport(channel, reason: "unreachable")
            } else {
                beginClose(channel, .tryAgainLater, reason: "no progress for \(limits.stallMillisecondsMax) ms", counted: "stalled")
            }
        } else if isAwaitingHello(channel), now.milliseconds(since: channel.openedAt) >= limits.helloMillisecondsMax {
            // Whoever has proven nothing yet may have tried.
            let reason = channel.principal == nil ? "unauthenticated" : "no_hello"
            beginClose(channel, .policyViolation, reason: reason, counted: reason)
        } else {
            if now >= channel.liveness.nextPing {
                releaseIdleMemory(channel)
                ping(channel)
            }
            if now >= channel.liveness.keepAliveDue { keepAlive(channel) }
        }
    }

    /// - Returns: the ping's number; later pings have higher ones.
    @discardableResult
    func ping(_ channel: Channel) -> UInt64 {
        channel.liveness.pinged(pingMilliseconds: limits.pingMilliseconds, now: now)
        let number = channel.liveness.pings.sent(at: MonotonicClock.now())
        unsafe withUnsafeBytes(of: number.bigEndian) { unsafe WebSocketFrameEncoder.append(.ping, $0, maskingKey: nil, to: &channel.control) }
        markDirty(channel)
        return number
    }

    /// A pong, asked for or not.
    func receivedPong(_ channel: Channel, _ payload: UnsafeRawBufferPointer) {
        guard payload.count == PingTracker.payloadBytes else { return }
        let number = unsafe UInt64(bigEndian: payload.loadUnaligned(as: UInt64.self))
        guard let nanoseconds = channel.liveness.pings.answered(number, at: MonotonicClock.now()) else { return }
        noteAnswered(number, channel)
        channel.liveness.roundTrip.add(nanoseconds: nanoseconds)
        counters.liveness.roundTrips.observe(Double(nanoseconds) / 1e9)
    }

    /// What the client wishes for, from now on.
    func keepAlive(_ channel: Channel, every milliseconds: UInt64?) {
        channel.liveness.keepAliveMilliseconds = milliseconds
        channel.liveness.lastSaid = now
        if milliseconds != nil { scheduleChannelTimer(channel) }
    }

    /// For what stands between and counts no pings. Whoever does not read what waits for it is helped by no more of it.
    private func keepAlive(_ channel: Channel) {
        guard channel.control.isEmpty, channel.connection?.isBlocked == false else {
            channel.liveness.lastSaid = now
            return
        }
        counters.liveness.keepAlives &+= 1
        send(channel, .keepAlive)
    }

    /// Ends what carries the WebSocket: the TCP connection, or the HTTP/2 stream.
    func endTransport(_ channel: Channel, reason: String) {
        guard let connection = channel.connection else { return }
        if let stream = channel.stream, case .http2(let session) = connection.phase {
            session.reset(stream, .cancel)
            drainHTTP2(connection, session)
        } else {
            close(connection, reason: reason)
        }
    }
}
