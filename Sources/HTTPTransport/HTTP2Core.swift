import CNghttp2
import RelayBase

/// What the HTTP/2 library's callbacks work on: the connection's state without the library's session.
///
/// ``HTTP2Session`` keeps it in memory of its own, and reaches it by address, as the callbacks do. A method here must therefore never call a library
/// function that calls back (receive and send do; submit functions and getters do not), since two mutating accesses would then overlap.
struct HTTP2Core: ~Copyable {
    let role: HTTP2Session.Role
    let configuration: HTTP2Configuration
    /// The instant that the caller passed in last.
    var now: MonotonicInstant
    var abuse: HTTP2AbuseGuard
    var streams = HTTP2StreamTable()
    var events = HTTP2EventQueue()
    /// The stream whose `.streamClosed` the application has just heard; its record goes with the next event.
    var retiring: HTTP2StreamID?
    /// Where the library's output goes: the caller's queue during `produce`, else control frames that wait for it.
    var output = ByteQueue()
    /// `output.count` at which DATA frames stop.
    var outputBound = 0
    /// A data source was held up by `outputBound`.
    var isPaused = false
    /// Bytes in all streams' outbound queues.
    var queuedBytes = 0
    /// Bytes of ``HTTP2Stream/content`` that have gone, of all streams.
    var contentBytesSent: UInt64 = 0
    var openStreams = 0
    /// How many streams want a `.writable` event, and whether anything happened that could bring one.
    var writableWanted = 0
    var mayBeWritable = false
    /// The payload of the PRIORITY_UPDATE frame that is coming in, cut at ``priorityUpdateBytesMax``.
    var priorityUpdate: [UInt8] = []
    /// Found in a callback, to be thrown once the library has returned.
    var pendingFault: HTTP2Fault?
    /// Why the connection ended; set once.
    var fault: HTTP2Fault?
    /// The code of a GOAWAY that the application asked for and that is not written yet.
    var goAwayRequested: HTTP2ErrorCode?
    /// The code of the last GOAWAY that went out unasked.
    var goAwaySent: HTTP2ErrorCode?

    /// Longer than any priority that means something; what is longer is ignored.
    static let priorityUpdateBytesMax = 256

    init(role: HTTP2Session.Role, configuration: HTTP2Configuration, settingsSent: Int, now: MonotonicInstant) {
        self.role = role
        self.configuration = configuration
        self.now = now
        abuse = HTTP2AbuseGuard(limits: configuration.abuse, settingsSent: settingsSent, swallowsLastAcknowledgement: role == .server, now: now)
    }

    /// Counts a stream that begins to be open, and takes up its record.
    mutating func open(_ stream: UnsafeMutablePointer<HTTP2Stream>) {
        unsafe streams.insert(stream)
        openStreams += 1
        if openStreams == 1 { abuse.streamsChanged(noneOpen: false, now: now) }
    }

    mutating func close(_ id: HTTP2StreamID, code: HTTP2ErrorCode) {
        guard let stream = unsafe streams.find(id), unsafe !stream.pointee.isClosed else { return }
        unsafe stream.pointee.isClosed = true
        openStreams -= 1
        if openStreams == 0 { abuse.streamsChanged(noneOpen: true, now: now) }
        unsafe dropOutbound(of: stream)
        if unsafe stream.pointee.wantsWritable {
            unsafe stream.pointee.wantsWritable = false
            writableWanted -= 1
        }
        if unsafe stream.pointee.isAnnounced {
            events.append(.streamClosed(id, code))
        } else {
            streams.remove(id)
        }
    }

    mutating func dropOutbound(of stream: UnsafeMutablePointer<HTTP2Stream>) {
        unsafe stream.pointee.content = []
        unsafe stream.pointee.contentSent = 0
        let dropped = unsafe stream.pointee.outbound.count
        guard dropped > 0 else { return }
        queuedBytes -= dropped
        unsafe stream.pointee.outbound.removeAll()
        mayBeWritable = true
    }

    // MARK: Receiving

    mutating func headersBegin(_ id: HTTP2StreamID) {
        if let stream = unsafe streams.find(id) {
            unsafe stream.pointee.block = HTTP2FieldCollector()
        } else if role == .server {
            unsafe open(HTTP2StreamTable.makeStream(id: id, isAnnounced: false))
        }
    }

    mutating func headerReceived(_ id: HTTP2StreamID, name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) {
        guard let stream = unsafe streams.find(id) else { return }
        unsafe stream.pointee.block.add(name: name, value: value, configuration: configuration)
    }

    /// A header block is complete and valid.
    /// - Returns: the code to reset the stream with, when this end cannot take the block.
    mutating func headersReceived(_ id: HTTP2StreamID, endOfStream: Bool) -> HTTP2ErrorCode? {
        guard let stream = unsafe streams.find(id), unsafe !stream.pointee.isClosed else { return nil }
        let block = unsafe stream.pointee.block
        unsafe stream.pointee.block = HTTP2FieldCollector()
        switch role {
        case .server:
            if unsafe !stream.pointee.isAnnounced {
                unsafe stream.pointee.isAnnounced = true
                unsafe stream.pointee.priority = block.priority
                events.append(block.isTooLarge ? .headerListTooLarge(id) : .request(id, fields: block.fields, endOfStream: endOfStream))
                return nil
            }
        case .client:
            if unsafe !stream.pointee.isAnswered {
                guard !block.isTooLarge else { return .cancel }
                guard let status = block.status, status >= 200 else { return nil }
                unsafe stream.pointee.isAnswered = true
                events.append(.response(id, status: status, fields: block.fields, endOfStream: endOfStream))
                return nil
            }
        }
        // Trailers: nothing here reads them.
        if endOfStream { events.append(.endOfStream(id)) }
        return nil
    }

    mutating func dataReceived(_ id: HTTP2StreamID, _ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let stream = unsafe streams.find(id), unsafe !stream.pointee.isResetLocally else { return false }
        unsafe stream.pointee.inbound.append(bytes)
        if unsafe !stream.pointee.hasDataEvent {
            unsafe stream.pointee.hasDataEvent = true
            events.append(.dataAvailable(id))
        }
        return true
    }

    mutating func endOfData(_ id: HTTP2StreamID) {
        guard let stream = unsafe streams.find(id), unsafe !stream.pointee.isClosed else { return }
        events.append(.endOfStream(id))
    }

    mutating func priorityUpdatePartReceived(_ bytes: UnsafeRawBufferPointer) {
        let room = Self.priorityUpdateBytesMax + 1 - priorityUpdate.count
        unsafe priorityUpdate.append(contentsOf: bytes.prefix(room))
    }

    /// A PRIORITY_UPDATE frame is whole (RFC 9218 §7.1).
    ///
    /// - Returns: the stream to be scheduled anew. A stream that is not open yet is left alone, as the RFC allows: its HEADERS can carry a priority.
    mutating func priorityUpdateReceived(onStream frameStreamID: Int32) -> (HTTP2StreamID, HTTP2Priority)? {
        let payload = priorityUpdate
        priorityUpdate.removeAll(keepingCapacity: true)
        guard role == .server else { return nil }
        guard payload.count >= 4 else {
            pendingFault = pendingFault ?? .malformedPriorityUpdate(.frameSizeError)
            return nil
        }
        let value = payload.prefix(4).reduce(0 as UInt32) { $0 << 8 | UInt32($1) } & 0x7fff_ffff
        guard frameStreamID == 0, value != 0 else {
            pendingFault = pendingFault ?? .malformedPriorityUpdate(.protocolError)
            return nil
        }
        let id = HTTP2StreamID(Int32(bitPattern: value))
        guard payload.count <= Self.priorityUpdateBytesMax, let stream = unsafe streams.find(id), unsafe !stream.pointee.isClosed,
            unsafe !stream.pointee.hasOwnUrgency
        else { return nil }
        let priority = HTTP2Priority(fieldValue: payload.span.extracting(droppingFirst: 4))
        unsafe stream.pointee.priority = priority
        return (id, priority)
    }

    // MARK: Sending

    /// A reset goes out. One that the application did not ask for answers a fault of the peer.
    mutating func resetSent(_ id: HTTP2StreamID) {
        if let stream = unsafe streams.find(id), unsafe stream.pointee.isResetLocally { return }
        do throws(HTTP2Fault) {
            try abuse.resetProvoked(now: now)
        } catch {
            pendingFault = pendingFault ?? error
        }
    }

    mutating func goAwaySent(_ code: HTTP2ErrorCode) {
        if goAwayRequested == code { goAwayRequested = nil } else { goAwaySent = code }
    }

    /// Writes a DATA frame: the header that the library made and the payload straight from the stream's queue, and from its content behind that.
    mutating func sendData(_ stream: UnsafeMutablePointer<HTTP2Stream>, header: UnsafeRawBufferPointer, count: Int) {
        unsafe output.append(header)
        let queued = unsafe min(count, stream.pointee.outbound.count)
        unsafe output.append(UnsafeRawBufferPointer(rebasing: stream.pointee.outbound.readable.prefix(queued)))
        unsafe stream.pointee.outbound.consume(queued)
        queuedBytes -= queued
        if count > queued { unsafe sendContent(of: stream, count: count - queued) }
        abuse.dataFrameSent()
    }

    private mutating func sendContent(of stream: UnsafeMutablePointer<HTTP2Stream>, count: Int) {
        let start = unsafe stream.pointee.contentSent
        unsafe output.append(stream.pointee.content.span.bytes.extracting(start..<(start + count)))
        unsafe stream.pointee.contentSent = start + count
        contentBytesSent &+= UInt64(count)
        guard unsafe stream.pointee.contentSent == stream.pointee.content.count else { return }
        unsafe stream.pointee.content = []
        unsafe stream.pointee.contentSent = 0
    }
}
