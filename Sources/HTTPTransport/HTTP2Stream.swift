import RelayBase

/// A header block's fields as they are decoded, bounded in number and in the size that RFC 9113 §6.5.2 defines.
struct HTTP2FieldCollector {
    private(set) var fields: [HTTP2Field] = []
    private(set) var isTooLarge = false
    private var listBytes = 0

    mutating func add(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>, configuration: HTTP2Configuration) {
        guard !isTooLarge else { return }
        listBytes += name.count + value.count + 32
        guard listBytes <= configuration.headerListBytesMax, fields.count < configuration.headerFieldsMax else {
            isTooLarge = true
            fields = []
            return
        }
        let field = unsafe (name: String(decoding: name, as: UTF8.self), value: String(decoding: value, as: UTF8.self))
        fields.append(field)
    }

    /// The client's wish (RFC 9218 §5).
    var priority: HTTP2Priority {
        for field in fields where field.name == "priority" { return HTTP2Priority(fieldValue: Array(field.value.utf8).span) }
        return HTTP2Priority()
    }

    /// The value of the pseudo-header field `:status`, which the library has checked to be three digits.
    var status: Int? {
        for field in fields where field.name == ":status" { return Int(field.value) }
        return nil
    }
}

/// What this end keeps of one stream: the bytes that wait in either direction and what the application has said.
struct HTTP2Stream: ~Copyable {
    let id: HTTP2StreamID
    var inbound = ByteQueue()
    var outbound = ByteQueue()
    /// Content that goes behind ``outbound``, held by whoever made it as well: it is copied only as it is sent, and window is not set aside for it.
    var content: [UInt8] = []
    /// How much of it has gone.
    var contentSent = 0
    var block = HTTP2FieldCollector()
    /// The application has heard of the stream, or opened it, and is owed a `.streamClosed`.
    var isAnnounced: Bool
    /// A head was submitted with more to follow: the library asks for data.
    var hasDataSource = false
    /// A response was submitted (server) or received (client).
    var isAnswered = false
    /// The application said that it has no more to send.
    var isEnded = false
    /// The library asked, found nothing and waits to be resumed.
    var isDeferred = false
    /// Closed as the library sees it; the record lives on until the application has heard.
    var isClosed = false
    /// The application set the urgency; the client's wishes no longer count.
    var hasOwnUrgency = false
    /// What the client asked for: with the request's `priority` field, or later by PRIORITY_UPDATE.
    var priority = HTTP2Priority()
    /// This end's application reset the stream.
    var isResetLocally = false
    var hasDataEvent = false
    var wantsWritable = false

    init(id: HTTP2StreamID, isAnnounced: Bool) {
        self.id = id
        self.isAnnounced = isAnnounced
    }

    /// Bytes that wait to be sent.
    var queuedCount: Int { outbound.count + content.count - contentSent }
}

/// The records of one connection's streams in order of their identifiers. At most about a hundred, so a look-up is a handful of comparisons.
///
/// Records stand still in memory: the HTTP/2 library holds their addresses as data sources.
@safe
struct HTTP2StreamTable: ~Copyable {
    @safe
    private struct Entry {
        let id: HTTP2StreamID
        let stream: UnsafeMutablePointer<HTTP2Stream>
    }

    private var entries: [Entry] = []

    var count: Int { entries.count }

    deinit {
        for entry in entries {
            unsafe entry.stream.deinitialize(count: 1)
            unsafe entry.stream.deallocate()
        }
    }

    /// Makes a record that ``insert(_:)`` can take up once its identifier is final.
    static func makeStream(id: HTTP2StreamID, isAnnounced: Bool) -> UnsafeMutablePointer<HTTP2Stream> {
        let stream = UnsafeMutablePointer<HTTP2Stream>.allocate(capacity: 1)
        unsafe stream.initialize(to: HTTP2Stream(id: id, isAnnounced: isAnnounced))
        return unsafe stream
    }

    func find(_ id: HTTP2StreamID) -> UnsafeMutablePointer<HTTP2Stream>? {
        let index = lowerBound(id)
        guard index < entries.count, entries[index].id == id else { return nil }
        return unsafe entries[index].stream
    }

    /// Whether the stream of a frame's 31-bit identifier is known and not closed.
    func isOpen(_ id: UInt32) -> Bool {
        guard let id = Int32(exactly: id), let stream = unsafe find(HTTP2StreamID(id)) else { return false }
        return unsafe !stream.pointee.isClosed
    }

    mutating func insert(_ stream: UnsafeMutablePointer<HTTP2Stream>) {
        let id = unsafe stream.pointee.id
        unsafe entries.insert(Entry(id: id, stream: stream), at: lowerBound(id))
    }

    mutating func remove(_ id: HTTP2StreamID) {
        let index = lowerBound(id)
        guard index < entries.count, entries[index].id == id else { return }
        let entry = entries.remove(at: index)
        unsafe entry.stream.deinitialize(count: 1)
        unsafe entry.stream.deallocate()
    }

    /// The record at `index` in order of identifiers.
    subscript(index: Int) -> UnsafeMutablePointer<HTTP2Stream> {
        unsafe entries[index].stream
    }

    private func lowerBound(_ id: HTTP2StreamID) -> Int {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
