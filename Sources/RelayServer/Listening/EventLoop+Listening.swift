import FoundationEssentials
import HTTPProtocol
import HTTPTransport
import Reactor
import RelayBase
import RelayRooms
import Signalling
import Synchronization
import TLSTransport
import WebSocketProtocol

/// A room's mix by HTTP alone, for whatever plays Ogg: a participant without a WebSocket, in the role of a listener.
extension EventLoop {
    private struct Asked: Decodable {
        let room: String
    }

    private struct Given: Encodable {
        let url: String
        let expires: Double
    }

    private static let mixChannels = 2

    // MARK: Requests

    /// `POST /v1/listen`: an address that is good once.
    func createListening(_ request: APIRequest) -> APIOutcome {
        guard let exchange = exchanges[Handle(packed: request.ticket.token)], let principal = exchange.principal else { return .later }
        guard let asked = try? JSONDecoder().decode(Asked.self, from: Data(request.body)) else {
            return .answer(.problem(.badRequest, "The member 'room' must be there, and be text."))
        }
        guard let (room, _) = listenable(asked.room, principal) else { return .answer(refusedListening(exchange, asked.room)) }
        let ticket = ListenTicket(
            room: room, principal: principal, token: exchange.token, forwarded: exchange.forwarded,
            expires: now.advanced(byMilliseconds: ListenTickets.milliseconds))
        guard let text = shared.listenTickets.issue(ticket, now: now) else {
            return .answer(.problem(.serviceUnavailable, "Too many tickets are out.", fields: [HTTPField("retry-after", "60")]))
        }
        let given = Given(url: "/listen/\(text).ogg", expires: Double(WallClock.now() + ListenTickets.milliseconds))
        return .answer(AdminJSON.answer(.created, given))
    }

    /// `GET /listen/{ticket}.ogg`. HEAD spends no ticket.
    func listen(_ request: APIRequest) -> APIOutcome {
        guard let exchange = exchanges[Handle(packed: request.ticket.token)] else { return .later }
        guard exchange.head.method == .get else { return .answer(EventLoop.listeningHead) }
        guard let ticket = shared.listenTickets.take(request.parameters[0], now: now) else {
            return .answer(.problem(.notFound, "There is no such ticket, or not any more."))
        }
        return listen(exchange, ticket)
    }

    /// `GET /v1/listen/{room}.ogg`: the same at once, for who can show a certificate or a token.
    func listenToRoom(_ request: APIRequest) -> APIOutcome {
        guard let exchange = exchanges[Handle(packed: request.ticket.token)], let principal = exchange.principal else { return .later }
        guard let (room, _) = listenable(request.parameters[0], principal) else {
            return .answer(refusedListening(exchange, request.parameters[0]))
        }
        guard exchange.head.method == .get else { return .answer(EventLoop.listeningHead) }
        let ticket = ListenTicket(
            room: room, principal: principal, token: exchange.token, forwarded: exchange.forwarded, expires: .distantFuture)
        return listen(exchange, ticket)
    }

    private static let listeningHead: HTTPAnswer = {
        var answer = HTTPAnswer(.ok)
        answer.contentType = Listening.contentType
        answer.isOpenEnded = true
        return answer
    }()

    /// What the policy says to somebody who wants to listen to a room; `nil`: no. A pair's room is the pair's alone.
    private func listenable(_ text: String, _ principal: Principal) -> (RoomName, RoomAdmission)? {
        guard let name = RoomName(text, bytesMax: limits.roomNameBytesMax),
            let admission = try? policy.admission(of: principal, to: name, asking: .listener)
        else { return nil }
        return (name, admission)
    }

    private func refusedListening(_ exchange: HTTPExchange, _ room: String) -> HTTPAnswer {
        shared.audit.record(
            exchange.route.name, by: exchange.principal?.name ?? "", from: exchange.address, .refused(Refusal.notAllowed.code), [("room", room)])
        return .problem(.forbidden, "The policy does not allow that.")
    }

    // MARK: Beginning

    private func listen(_ exchange: HTTPExchange, _ ticket: ListenTicket) -> APIOutcome {
        guard let connection = exchange.connection, connections.contains(connection.handle) else { return .later }
        guard !shared.readiness.isDraining else { return .answer(.problem(.serviceUnavailable, "The relay is going away.")) }
        guard let (name, admission) = listenable(ticket.room.text, ticket.principal) else {
            return .answer(.problem(.forbidden, "The policy does not allow that."))
        }
        let channel = Channel(
            connection: connection, stream: exchange.stream, purpose: .listener, principal: ticket.principal,
            inbound: WebSocketInboundConfiguration(role: .server, limits: limits), deflate: nil, limits: limits, now: now)
        guard let handle = channels.insert(channel) else { return .answer(.problem(.serviceUnavailable, "There are too many sessions.")) }
        channel.handle = handle
        channel.forwarded = ticket.forwarded
        channel.token = ticket.token
        channel.listening = Listening(exchange.head, limits: limits)
        channel.sessionID = shared.sessionIDs.next()
        channel.state = .ready
        // It is heard of by what it takes, and says nothing.
        channel.lastReceived = .distantFuture
        channel.liveness.nextPing = .distantFuture
        counters.sessions += 1
        counters.webSockets += 1
        shared.webSockets.add(1, ordering: .acquiringAndReleasing)
        release(exchange, connection)
        if let stream = exchange.stream {
            connection.channels.append((stream, channel))
        } else {
            connection.phase = .webSocket(channel)
            connection.endReading()
            connection.inbound.removeAll()
            setDeadline(connection, .distantFuture)
        }
        scheduleChannelTimer(channel)
        postJoin(beginJoin(channel, 0, name, admission, displayName: nil))
        return .later
    }

    /// The room has taken it: the answer begins.
    func beginListening(_ channel: Channel) {
        guard let listening = channel.listening, let connection = channel.connection, let membership = channel.membership else { return }
        var fields: HTTPFields = [
            HTTPField("content-type", Listening.contentType), HTTPField("cache-control", "no-store"), HTTPField("x-content-type-options", "nosniff"),
            HTTPField("cross-origin-resource-policy", "same-origin"),
        ]
        counters.responses[200, default: 0] &+= 1
        if let stream = channel.stream {
            guard case .http2(let session) = connection.phase else { return }
            session.respond(
                stream, status: 200, fields: [("date", date.current())] + fields.lines.map { ($0.name, $0.value) }, endOfStream: false)
        } else {
            fields.append(listening.head.version == .http11 ? HTTPField("transfer-encoding", "chunked") : HTTPField("connection", "close"))
            guard let bytes = try? HTTPResponseHead(status: .ok, fields: fields).serialized(date: date.current()) else { return }
            connection.outbound.append(bytes)
        }
        enterMix(channel, membership, channels: EventLoop.mixChannels)
        markDirty(connection)
    }

    /// The room has not taken it.
    func refuseListening(_ channel: Channel, _ detail: String, retry: Bool) {
        guard let listening = channel.listening, let connection = channel.connection else { return }
        leaveRoom(channel, reason: .left)
        let answer = HTTPAnswer.problem(retry ? .serviceUnavailable : .forbidden, detail)
        respond(connection, channel.stream, listening.head, answer.response, endsConnection: true)
    }

    // MARK: Sending

    /// Writes what a listener is due into `room`.
    func fill(_ channel: Channel, _ listening: Listening, _ room: UnsafeMutableRawBufferPointer, upTo last: Lane) -> Int {
        while channel.unfinished.isEmpty, let membership = channel.membership {
            let lent = unsafe UnsafeMutableRawBufferPointer(rebasing: listening.pulled.reserve(Listening.pullBytes)[..<Listening.pullBytes])
            let count = unsafe membership.room.fanout.pull(Int(membership.subscriber.index), into: lent, now: now, upTo: last)
            guard count > 0 else { break }
            listening.pulled.commit(count)
            counters.mediaBytesOut &+= UInt64(count)
            listening.write(into: &channel.unfinished)
        }
        var filled = 0
        unsafe EventLoop.move(&channel.unfinished, room, &filled)
        return filled
    }

    /// It is out of the room, for whichever reason: the answer ends with what is queued.
    func endListening(_ channel: Channel) {
        guard let listening = channel.listening, !channel.isGone, !channel.endsAfterFlush else { return }
        listening.end(into: &channel.unfinished)
        channel.closeReason = channel.closeReason ?? "listening_ended"
        channel.endsAfterFlush = true
        markDirty(channel)
    }
}
