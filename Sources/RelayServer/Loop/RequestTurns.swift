import RelayBase

/// How much of a loop's turn may go into HTTP requests: media waits meanwhile, and a client can write thousands of requests at once.
///
/// A connection has a few requests in a turn, and all connections together have a time; what is left waits in order, and nothing more is read of a connection
/// that waits. Pure: time is passed in.
struct RequestTurns {
    /// A connection's share.
    struct Share {
        fileprivate var turn: UInt64 = 0
        fileprivate var begun = 0
        fileprivate(set) var isWaiting = false
    }

    /// Of one connection in one turn.
    static let requestsMax = 8
    /// Of all connections in one turn; the request that passes it is still answered.
    static let nanosecondsMax: UInt64 = 2_000_000

    private var turn: UInt64 = 1
    private var spent: UInt64 = 0
    /// Connections whose requests wait for a later turn, in order; those before `head` are gone.
    private var waiting: [Handle] = []
    private var head = 0
    /// How many of them were there when the turn began.
    private var due = 0

    var isEmpty: Bool { head == waiting.count }

    mutating func beginTurn() {
        turn &+= 1
        spent = 0
        due = waiting.count - head
    }

    /// The next connection that may go on in this turn. One that has to wait again goes to the end.
    mutating func next() -> Handle? {
        guard due > 0, spent < Self.nanosecondsMax else { return nil }
        due -= 1
        let handle = waiting[head]
        head += 1
        if head == waiting.count {
            waiting.removeAll(keepingCapacity: true)
            head = 0
        } else if head > waiting.count / 2 {
            waiting.removeFirst(head)
            head = 0
        }
        return handle
    }

    /// Asked before each request that a connection has there, and followed by ``ended(_:)`` when the answer is yes. Otherwise it waits from now on.
    mutating func begin(_ share: inout Share, of handle: Handle) -> Bool {
        if share.turn != turn {
            share.turn = turn
            share.begun = 0
        }
        guard share.begun < Self.requestsMax, spent < Self.nanosecondsMax else {
            if !share.isWaiting { waiting.append(handle) }
            share.isWaiting = true
            return false
        }
        share.begun += 1
        return true
    }

    /// - Parameter nanoseconds: what the request took.
    mutating func ended(_ nanoseconds: UInt64) { spent &+= nanoseconds }
}

extension RequestTurns.Share {
    /// It is its turn.
    mutating func resume() { isWaiting = false }
}

extension EventLoop {
    /// Goes on with requests that had to wait, and then with what was not read meanwhile.
    func resumeRequests() {
        requestTurns.beginTurn()
        while let handle = requestTurns.next() {
            guard let connection = connections[handle] else { continue }
            connection.requestShare.resume()
            switch connection.phase {
            case .http1: resumeHTTP1(connection)
            case .http2(let session): drainHTTP2(connection, session)
            case .proxyHeader, .preface, .handshaking, .webSocket, .closing: break
            }
            // The socket does not report again what was received with those requests.
            readable(connection)
        }
    }
}
