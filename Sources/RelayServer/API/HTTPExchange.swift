import HTTPProtocol
import HTTPTransport
import Reactor
import RelayBase
import RelayRooms
import TLSTransport

/// A request of the API between its head and its answer. It belongs to one loop, and outlives its client only to be told of in the audit.
final class HTTPExchange {
    enum Stage {
        case body
        case answer
    }

    /// `nil` once the client has gone.
    weak var connection: Connection?
    /// `nil` over HTTP/1.1.
    let stream: HTTP2StreamID?
    let head: HTTPRequestHead
    let route: APIRoute
    let parameters: [String]
    let query: [(name: String, value: String)]
    let principal: Principal?
    let address: String
    var stage = Stage.answer
    var body: [UInt8] = []
    var handle = Handle(index: 0, generation: 0)
    var timer: TimerID?
    /// The certificate that a proxy passed on, for an answer that goes on.
    var forwarded: ForwardedPeer?
    /// What the loops that were asked have said so far.
    var gathering: AdminGathering?
    /// HTTP/1.1: what follows on the connection cannot be told from a body that was not asked for.
    var endsConnection = false

    /// At most this many of one connection at a time; over HTTP/1.1 there is one.
    static let perConnectionMax = 16
    static let perLoopMax = 4_096

    init(
        connection: Connection, stream: HTTP2StreamID?, head: HTTPRequestHead, route: APIRoute, parameters: [String],
        query: [(name: String, value: String)], principal: Principal?, address: String
    ) {
        self.connection = connection
        self.stream = stream
        self.head = head
        self.route = route
        self.parameters = parameters
        self.query = query
        self.principal = principal
        self.address = address
    }

    func request(loop: Int) -> APIRequest {
        APIRequest(
            operation: route.operation, ticket: ResponseTicket(loop: loop, token: handle.packed), parameters: parameters, query: query, body: body,
            principal: principal, certificate: connection?.identity, address: address)
    }
}
