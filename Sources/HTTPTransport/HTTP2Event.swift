/// One header field in the order received. Bytes that are not UTF-8 are replaced by U+FFFD: no field that the relay reads may hold any.
package typealias HTTP2Field = (name: String, value: String)

/// What happened on a connection, pulled one by one with ``HTTP2Session/nextEvent()`` after ``HTTP2Session/receive(_:now:)`` and after
/// ``HTTP2Session/produce(into:upTo:now:)``.
package enum HTTP2Event: Sendable {
    /// A whole request head, pseudo-header fields first (server role). Extended CONNECT shows by its `:protocol` field.
    case request(HTTP2StreamID, fields: [HTTP2Field], endOfStream: Bool)
    /// A request whose fields pass ``HTTP2Configuration/headerListBytesMax`` or ``HTTP2Configuration/headerFieldsMax``: to be answered with 431,
    /// and reset with NO_ERROR if the client goes on sending.
    case headerListTooLarge(HTTP2StreamID)
    /// A final response head (client role); interim (1xx) responses are skipped.
    case response(HTTP2StreamID, status: Int, fields: [HTTP2Field], endOfStream: Bool)
    /// The stream's inbound queue has grown. Told once for all that comes until this event is pulled.
    case dataAvailable(HTTP2StreamID)
    /// The peer will send nothing more on this stream; what it sent may still be unread.
    case endOfStream(HTTP2StreamID)
    /// Flow control opened after ``HTTP2Session/sendCapacity(_:wanted:)`` had answered less than was wanted.
    case writable(HTTP2StreamID)
    /// The stream is closed both ways, or was reset by either end. Unread inbound bytes are there until the next ``HTTP2Session/nextEvent()``.
    case streamClosed(HTTP2StreamID, HTTP2ErrorCode)
    /// The peer's SETTINGS. `extendedConnect`: WebSockets may be opened (RFC 8441 §3).
    case settingsReceived(extendedConnect: Bool)
    /// Streams above `lastStreamID` were not processed and may be tried again elsewhere (RFC 9113 §6.8).
    case goAwayReceived(lastStreamID: HTTP2StreamID, HTTP2ErrorCode)
    /// The answer to ``HTTP2Session/ping(_:)``.
    case pingAcknowledged(UInt64)
}

/// Events in order of happening. Bounded by the input: each event costs the peer at least one frame, and the caller drains before it passes in more.
struct HTTP2EventQueue {
    private var items: [HTTP2Event] = []
    private var head = 0

    var isEmpty: Bool { head == items.count }

    mutating func append(_ event: HTTP2Event) {
        items.append(event)
    }

    var first: HTTP2Event? { isEmpty ? nil : items[head] }

    mutating func popFirst() -> HTTP2Event? {
        guard head < items.count else { return nil }
        let event = items[head]
        head += 1
        if head == items.count {
            items.removeAll(keepingCapacity: true)
            head = 0
        }
        return event
    }

    /// Gives the memory back; only an empty queue does.
    mutating func releaseIfEmpty() {
        if isEmpty { items = [] }
    }
}
