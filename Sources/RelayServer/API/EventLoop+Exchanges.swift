import HTTPProtocol
import HTTPTransport
import Reactor
import RelayBase
import RelayRooms

/// Requests whose answer takes more than their head: because content must come first, or because somebody else knows it.
extension EventLoop {
    /// What the head of a request came to.
    enum HeadOutcome {
        /// Not the API's: an endpoint, or nothing.
        case elsewhere
        case answer(HTTPAnswer)
        case exchange(HTTPExchange)
    }

    /// What an answer over HTTP/1.1 may take; what the loops know is there sooner.
    private static let answerMillisecondsMax: UInt64 = 10_000

    /// Whether more requests of the connection can be taken on.
    func begin(_ exchange: HTTPExchange, _ connection: Connection, awaitsBody: Bool) -> HTTPAnswer? {
        guard connection.exchanges.count < HTTPExchange.perConnectionMax, let handle = exchanges.insert(exchange) else {
            return .problem(.serviceUnavailable, "Too many requests are under way.", fields: [HTTPField("retry-after", "1")])
        }
        exchange.handle = handle
        exchange.stage = awaitsBody ? .body : .answer
        connection.exchanges.append(exchange)
        setTimer(exchange, awaitsBody ? limits.requestHeadMillisecondsMax : EventLoop.answerMillisecondsMax)
        return nil
    }

    func setTimer(_ exchange: HTTPExchange, _ milliseconds: UInt64) {
        if let timer = exchange.timer { timers.cancel(timer) }
        exchange.timer = timers.schedule(
            at: now.advanced(byMilliseconds: milliseconds), TimerEvent(payload: exchange.handle.packed, kind: TimerKind.exchange))
    }

    // MARK: Content

    /// Takes content as it comes. An answer says that it must not go on.
    func take(_ bytes: UnsafeRawBufferPointer, _ exchange: HTTPExchange) -> HTTPAnswer? {
        guard exchange.body.count + bytes.count <= limits.controlMessageBytesMax else {
            return .problem(.contentTooLarge, HTTPFault.contentTooLarge.detail)
        }
        unsafe exchange.body.append(contentsOf: bytes)
        return nil
    }

    /// The content is whole, or none is wanted: the handler's turn.
    func perform(_ exchange: HTTPExchange) {
        exchange.stage = .answer
        setTimer(exchange, EventLoop.answerMillisecondsMax)
        if exchange.route.content == .json, !JSONShape.isObject(exchange.body) {
            finish(exchange, .problem(.badRequest, "The content must be one JSON object."))
            return
        }
        let request = exchange.request(loop: index)
        exchange.body = []
        switch perform(request) {
        case .answer(let answer): finish(exchange, answer)
        case .later: break
        }
    }

    // MARK: Answer

    /// The answer has come from wherever it was made.
    func answered(_ token: UInt64, _ answer: HTTPAnswer) {
        guard let exchange = exchanges[Handle(packed: token)] else { return }
        let connection = exchange.connection
        finish(exchange, answer)
        if let connection { resumeHTTP1(connection) }
    }

    /// Ends an exchange: it is told of in the audit, and its client gets the answer if it is still there.
    func finish(_ exchange: HTTPExchange, _ answer: HTTPAnswer) {
        guard remove(exchange) else { return }
        audit(exchange, answer)
        guard let connection = exchange.connection, connections.contains(connection.handle) else { return }
        connection.exchanges.removeAll { $0 === exchange }
        respond(connection, exchange.stream, exchange.head, answer.response, endsConnection: exchange.endsConnection)
    }

    /// The answer has begun and goes on by itself: it is told of in the audit, once, and is no exchange any more.
    func release(_ exchange: HTTPExchange, _ connection: Connection) {
        guard remove(exchange) else { return }
        audit(exchange, HTTPAnswer(.ok))
        connection.exchanges.removeAll { $0 === exchange }
    }

    /// Whether it was there.
    private func remove(_ exchange: HTTPExchange) -> Bool {
        guard exchanges.remove(exchange.handle) != nil else { return false }
        if let timer = exchange.timer { timers.cancel(timer) }
        exchange.timer = nil
        return true
    }

    /// The time for the content, or for the answer, has passed.
    func exchangeTimer(_ exchange: HTTPExchange) {
        exchange.timer = nil
        let connection = exchange.connection
        switch exchange.stage {
        case .body:
            exchange.endsConnection = true
            finish(exchange, .problem(.requestTimeout, "The content did not arrive in time."))
        case .answer:
            finish(exchange, .problem(.serviceUnavailable, "The answer was not there in time.", fields: [HTTPField("retry-after", "1")]))
            if let connection { resumeHTTP1(connection) }
        }
    }

    /// The client has gone. What it asked for goes on, and is told of in the audit; a body that will not come is forgotten.
    func abandon(_ exchange: HTTPExchange) {
        exchange.connection?.exchanges.removeAll { $0 === exchange }
        exchange.connection = nil
        if exchange.stage == .body { _ = remove(exchange) }
    }
}
