import Reactor
import RelayBase
import RelayRooms
import Signalling
import WebSocketProtocol

extension EventLoop {
    private static let deviceBytesMax = SignallingBounds.deviceBytesMax

    /// The first request of a session. Whoever has proven nobody's name yet does it here, by a token, or does not get in.
    func hello(_ channel: Channel, _ id: UInt64, _ hello: ClientRequest.Hello) throws(Refusal) {
        guard channel.sessionID == "" else { throw .helloTwice }
        guard hello.versions.contains(EventLoop.protocolVersion) else { throw .noCommonVersion }
        if let device = hello.device, device.utf8.count > EventLoop.deviceBytesMax { throw .badValue("device") }
        let wishes = try SessionWishes(hello.wishes)
        if let token = hello.token { try prove(channel, token, act: "hello") }
        guard channel.principal != nil else {
            shared.audit.record("hello", by: "", from: "\(channel.clientAddress)", .refused(Refusal.unauthenticated.code))
            throw .unauthenticated
        }
        if let resume = hello.resume {
            if resume.hasLayerOutOfRange { throw .badValue("resume.received.layer") }
            try beginResume(channel, id, hello, resume, hello.wishes.map { _ in wishes })
            return
        }
        channel.sessionID = shared.sessionIDs.next()
        channel.device = hello.device
        channel.wishes = wishes
        keepAlive(channel, every: wishes.keepAliveMilliseconds)
        channel.state = .ready
        counters.sessions += 1
        welcome(channel, id, resumed: nil)
        if channel.hasLostSession { tellReset(channel) }
        channel.hasLostSession = false
        enterPresence(channel)
    }

    /// The answer to `hello`, with a new token to resume by.
    ///
    /// - Parameter resumed: where a session stands that was resumed, as JSON.
    func welcome(_ channel: Channel, _ id: UInt64, resumed: [UInt8]?) {
        let limits = RelayMessage.SessionLimits(
            controlMessageBytesMax: limits.controlMessageBytesMax, audioFrameBytesMax: limits.audioFrameBytesMax,
            videoFrameBytesMax: limits.videoFrameBytesMax, dataFrameBytesMax: limits.dataFrameBytesMax,
            streamsPerParticipantMax: limits.streamsPerParticipantMax, controlMessagesPerSecondMax: limits.controlMessagesPerSecondMax)
        var welcome = RelayMessage.Welcome(
            version: EventLoop.protocolVersion, session: channel.sessionID, identity: channel.identity, limits: limits,
            serverTime: Double(WallClock.now()), node: shared.node)
        if self.limits.resumeMilliseconds > 0 {
            let ticket = shared.resumeTickets.issue(resumable(channel))
            channel.resumption.ticket = ticket.digest
            channel.resumption.welcomedAt = now
            welcome.resumeToken = ticket.token
            welcome.resumeMilliseconds = self.limits.resumeMilliseconds
            channel.ticketIsStale = true
            writeTicket(channel)
        }
        let message = RelayMessage.welcome(id: id, welcome)
        sendText(channel, resumed.map { message.encoded(with: "resumed", $0) } ?? message.encoded)
    }

    /// A token beside a certificate, or a newer one before the last one ends.
    func authenticate(_ channel: Channel, _ id: UInt64, _ request: ClientRequest.Authenticate) throws(Refusal) {
        // The join was decided by what was proven before.
        if case .joining = channel.state { throw .pending }
        try prove(channel, request.token, act: "authenticate")
        // What the token says of rooms may be more or less than what was known before.
        review(channel)
        enterPresence(channel)
        var answer = RelayMessage.Answer()
        answer.expires = channel.token.map { Double($0.endsAt) * 1_000 }
        send(channel, .ok(id: id, answer))
    }

    private func prove(_ channel: Channel, _ token: String, act: String) throws(Refusal) {
        do throws(TokenRefusal) {
            try prove(channel, by: token, act: act)
        } catch {
            throw .tokenRefused(error.sentence)
        }
    }
}
