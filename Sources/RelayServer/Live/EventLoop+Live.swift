import HTTPProtocol
import HTTPTransport
import Reactor
import RelayBase
import RelayRooms
import TLSTransport

/// An administrator that watches `/v1/live`.
final class LiveWatcher {
    /// `nil` once the client has gone.
    weak var connection: Connection?
    /// `nil` over HTTP/1.1.
    let stream: HTTP2StreamID?
    let principal: Principal
    /// The certificate that a proxy passed on, to be verified anew.
    let forwarded: ForwardedPeer?
    /// HTTP/1.1 has chunks, 1.0 only the connection's end.
    let isChunked: Bool
    /// When the client had taken everything, or began.
    var progressAt: MonotonicInstant

    init(_ exchange: HTTPExchange, _ principal: Principal, now: MonotonicInstant) {
        connection = exchange.connection
        stream = exchange.stream
        self.principal = principal
        forwarded = exchange.forwarded
        isChunked = exchange.head.version == .http11
        progressAt = now
    }
}

/// `GET /v1/live`: an answer that goes on for as long as its client stays.
///
/// A watcher has one overview on its way at most: whoever has not taken the last one misses the next, and whoever takes none for too long is let go.
extension EventLoop {
    private static let eventStream = "text/event-stream"

    /// Begins the answer, unless there are enough already.
    func watchLive(_ request: APIRequest) -> APIOutcome {
        guard let exchange = exchanges[Handle(packed: request.ticket.token)], let connection = exchange.connection,
            let principal = exchange.principal
        else { return .later }
        guard exchange.head.method == .get else {
            var answer = HTTPAnswer(.ok)
            answer.contentType = EventLoop.eventStream
            answer.isOpenEnded = true
            return .answer(answer)
        }
        guard shared.live.admit(max: limits.liveWatchersMax) else {
            return .answer(.problem(.serviceUnavailable, "Too many watch already.", fields: [HTTPField("retry-after", "10")]))
        }
        let watcher = LiveWatcher(exchange, principal, now: now)
        release(exchange, connection)
        live.append(watcher)
        guard beginEvents(watcher, connection, exchange.head) else {
            endLive { $0 === watcher }
            return .later
        }
        shared.live.begin()
        return .later
    }

    private func beginEvents(_ watcher: LiveWatcher, _ connection: Connection, _ head: HTTPRequestHead) -> Bool {
        var fields: HTTPFields = [
            HTTPField("content-type", EventLoop.eventStream), HTTPField("cache-control", "no-store"), HTTPField("x-content-type-options", "nosniff"),
        ]
        counters.responses[200, default: 0] &+= 1
        if let stream = watcher.stream {
            guard case .http2(let session) = connection.phase else { return false }
            let lines = [("date", date.current())] + fields.lines.map { ($0.name, $0.value) }
            guard session.respond(stream, status: 200, fields: lines, endOfStream: false) else { return false }
            session.setUrgency(stream, EventLoop.contentUrgency(session.priority(stream)))
        } else {
            fields.append(watcher.isChunked ? HTTPField("transfer-encoding", "chunked") : HTTPField("connection", "close"))
            guard let bytes = try? HTTPResponseHead(status: .ok, fields: fields).serialized(date: date.current()) else { return false }
            connection.outbound.append(bytes)
            setDeadline(connection, .distantFuture)
        }
        markDirty(connection)
        return true
    }

    /// Whether a connection, or a stream of it, has an answer that goes on: nothing that follows on an HTTP/1.1 connection is answered, and it is not idle.
    func isWatching(_ connection: Connection) -> Bool {
        !live.isEmpty && live.contains { $0.connection === connection }
    }

    // MARK: Telling

    /// An overview is there for everybody.
    func tellLive(_ event: LiveEvent) {
        var lost: [LiveWatcher] = []
        for watcher in live where !tell(watcher, event) { lost.append(watcher) }
        for watcher in lost {
            endLive { $0 === watcher }
            guard let connection = watcher.connection, connections.contains(connection.handle) else { continue }
            if let stream = watcher.stream, case .http2(let session) = connection.phase {
                session.reset(stream, .cancel)
                markDirty(connection)
            } else {
                close(connection, reason: "live_ended")
            }
        }
    }

    /// - Returns: false when the watcher is to go: it may not watch any more, or takes nothing.
    private func tell(_ watcher: LiveWatcher, _ event: LiveEvent) -> Bool {
        guard let connection = watcher.connection, connections.contains(connection.handle), policy.isAdmin(watcher.principal),
            watcher.forwarded.map({ context.fault(ofForwarded: $0) == nil }) ?? true
        else { return false }
        switch connection.phase {
        case .http2(let session):
            guard let stream = watcher.stream, session.queuedCount(stream) == 0 else { return isInTime(watcher) }
            session.write(stream, content: event.bytes)
        case .http1:
            guard let reading = connection.reading, reading.content == nil, connection.outbound.isEmpty, !connection.isBlocked else {
                return isInTime(watcher)
            }
            reading.content = OutgoingContent(watcher.isChunked ? event.chunk : event.bytes)
        case .proxyHeader, .preface, .handshaking, .webSocket, .closing: return false
        }
        watcher.progressAt = now
        markDirty(connection)
        return true
    }

    private func isInTime(_ watcher: LiveWatcher) -> Bool {
        now.milliseconds(since: watcher.progressAt) < limits.stallMillisecondsMax
    }

    /// The connection, or the stream of it, is no more.
    func endLive(_ connection: Connection, _ stream: HTTP2StreamID? = nil) {
        guard !live.isEmpty else { return }
        endLive { $0.connection === connection && (stream == nil || $0.stream == stream) }
    }

    private func endLive(where isMeant: (LiveWatcher) -> Bool) {
        let before = live.count
        live.removeAll(where: isMeant)
        for _ in live.count..<before { shared.live.leave() }
    }

    // MARK: This loop's share

    func surveyLive(round: UInt64) {
        var share = LiveShare(round: round, at: MonotonicClock.now(), counters: snapshot())
        share.rooms = LiveShare.largest(home.rooms.values.lazy.map { AdminRoom($0) })
        share.certificates = clientCertificates()
        // All loops have the same context.
        if index == 0 {
            share.certificates += context.certificateEnds.map { end in
                LiveCertificate(what: end.part == .server ? .server : .authority, name: end.name, notAfter: Double(end.notAfter) * 1_000)
            }
        }
        shared.live.board.publish(share, at: index)
        shared.live.wake.signal()
    }

    /// Those of this loop's clients that end soonest, each once.
    private func clientCertificates() -> [LiveCertificate] {
        let bound = Int64(WallClock.now() / 1_000) + LiveShare.clientCertificateSeconds
        var found: [String: LiveCertificate] = [:]
        for handle in connections.handles {
            guard let connection = connections[handle], let identity = connection.hop.forwarded?.identity ?? connection.identity,
                identity.notAfter < bound
            else { continue }
            let session = connection.webSockets.first { $0.sessionID != "" }?.sessionID
            guard session != nil || found[identity.serialNumber] == nil else { continue }
            found[identity.serialNumber] = LiveCertificate(
                what: .client, name: identity.name, notAfter: Double(identity.notAfter) * 1_000, session: session)
        }
        return LiveShare.soonest(found.values)
    }
}
