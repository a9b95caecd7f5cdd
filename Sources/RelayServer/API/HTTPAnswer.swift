import HTTPProtocol
import Reactor
import RelayRooms
import TLSTransport

/// What a request of the API is answered with. Its content, if any, is whole: nothing is streamed.
struct HTTPAnswer: Sendable {
    var status: HTTPStatus
    /// Fields besides those that every answer of the API has.
    var fields: [HTTPField] = []
    var contentType = HTTPAnswer.json
    var body: [UInt8] = []
    /// Of HEAD, where GET has no length and no end.
    var isOpenEnded = false

    static let json = "application/json"

    /// - Parameter body: JSON in UTF-8.
    init(_ status: HTTPStatus, json body: [UInt8], fields: [HTTPField] = []) {
        self.status = status
        self.body = body
        self.fields = fields
    }

    /// An answer without content.
    init(_ status: HTTPStatus, fields: [HTTPField] = []) {
        self.status = status
        self.fields = fields
    }

    /// - Parameter detail: one sentence for a person; it repeats neither what the client sent nor any secret.
    static func problem(_ status: HTTPStatus, _ detail: String, fields: [HTTPField] = []) -> HTTPAnswer {
        var answer = HTTPAnswer(status, json: ProblemDocument(status: status, detail: detail).json(), fields: fields)
        answer.contentType = ProblemDocument.contentType
        return answer
    }

    /// Head and content as they are sent. Nothing that the API says may be kept by a cache, or be taken for something else by a browser.
    var response: Endpoints.Response {
        var fields: HTTPFields = [HTTPField("cache-control", "no-store"), HTTPField("x-content-type-options", "nosniff")]
        if !body.isEmpty || isOpenEnded { fields.append("content-type", contentType) }
        if !status.forbidsContent, !isOpenEnded { fields.append("content-length", "\(body.count)") }
        for field in self.fields { fields.append(field) }
        return (HTTPResponseHead(status: status, fields: fields), body)
    }
}

/// Names a request that waits for its answer: valid from any thread, and harmless once the request is gone.
struct ResponseTicket: Sendable, Hashable {
    let loop: Int
    /// The loop's handle of the exchange, packed.
    let token: UInt64
}

/// A request of the API as its handler sees it: the head is checked, the content is whole.
struct APIRequest: Sendable {
    let operation: APIOperation
    /// For answering later, by `shared.answer(ticket, …)`.
    let ticket: ResponseTicket
    /// What stands in the path where the template has names, in order, decoded.
    let parameters: [String]
    /// Decoded, in the order in which they came.
    let query: [(name: String, value: String)]
    let body: [UInt8]
    /// Who asks; `nil` without a certificate.
    let principal: Principal?
    /// What the principal's certificate said; `nil` too when the client has gone meanwhile.
    let certificate: PeerIdentity?
    let address: String
}

/// What a handler comes to.
enum APIOutcome: Sendable {
    case answer(HTTPAnswer)
    /// Somebody holds the ticket and answers by it; after the operation's time the client is told 503.
    case later
}

extension Shared {
    /// Answers a request from any thread. A second answer, or one that comes too late, goes nowhere.
    func answer(_ ticket: ResponseTicket, _ answer: HTTPAnswer) {
        // A full mailbox is a loop that has more than enough to do; the request's time runs out there.
        _ = mailboxes[ticket.loop].post(.httpAnswer(token: ticket.token, answer))
    }
}
