import CNghttp2
package import RelayBase

extension HTTP2Session {
    private func find(_ id: HTTP2StreamID) -> UnsafeMutablePointer<HTTP2Stream>? {
        unsafe core.pointee.streams.find(id)
    }

    // MARK: Events

    /// The oldest event not yet heard; `nil` when there is none.
    package func nextEvent() -> HTTP2Event? {
        if let id = unsafe core.pointee.retiring {
            unsafe core.pointee.retiring = nil
            retire(id)
        }
        while let event = unsafe core.pointee.events.popFirst() {
            switch event {
            case .request(let id, _, _), .headerListTooLarge(let id):
                // A request that was reset before anyone heard of it costs no more than this (Rapid Reset, CVE-2023-44487).
                guard let stream = unsafe find(id) else { continue }
                if unsafe stream.pointee.isClosed {
                    unsafe stream.pointee.isAnnounced = false
                    continue
                }
                return event
            case .dataAvailable(let id):
                guard let stream = unsafe find(id), unsafe stream.pointee.isAnnounced else { continue }
                unsafe stream.pointee.hasDataEvent = false
                return event
            case .endOfStream(let id):
                guard let stream = unsafe find(id), unsafe stream.pointee.isAnnounced else { continue }
                return event
            case .writable(let id):
                guard let stream = unsafe find(id), unsafe !stream.pointee.isClosed else { continue }
                return event
            case .streamClosed(let id, _):
                guard let stream = unsafe find(id) else { continue }
                guard unsafe stream.pointee.isAnnounced else {
                    retire(id)
                    continue
                }
                unsafe core.pointee.retiring = id
                return event
            case .response, .settingsReceived, .goAwayReceived, .pingAcknowledged:
                return event
            }
        }
        return nil
    }

    /// Whether ``nextEvent()`` comes to a request next, so that a caller can leave it for later; it must not call ``receive(_:now:)`` before it has heard it.
    package var nextIsRequest: Bool {
        switch unsafe core.pointee.events.first {
        case .request, .headerListTooLarge: true
        default: false
        }
    }

    /// Drops a closed stream's record; what nobody read goes back to the connection's window.
    private func retire(_ id: HTTP2StreamID) {
        guard let stream = unsafe find(id) else { return }
        let unread = unsafe stream.pointee.inbound.count
        if unread > 0 { _ = unsafe nghttp2_session_consume(session, id.value, unread) }
        unsafe core.pointee.streams.remove(id)
    }

    // MARK: Inbound bytes

    /// The stream's unread bytes, writable in place (a WebSocket's are unmasked there). Empty when the stream is not known.
    ///
    /// Valid until the next call of ``receive(_:now:)``, ``consume(_:_:)`` or ``nextEvent()``.
    package func inboundInPlace(_ id: HTTP2StreamID) -> UnsafeMutableRawBufferPointer {
        guard let stream = unsafe find(id) else { return unsafe UnsafeMutableRawBufferPointer(start: nil, count: 0) }
        return unsafe stream.pointee.inbound.readableInPlace
    }

    package func inboundCount(_ id: HTTP2StreamID) -> Int {
        guard let stream = unsafe find(id) else { return 0 }
        return unsafe stream.pointee.inbound.count
    }

    /// Drops the oldest `count` unread bytes and returns their window to the peer. `count` must be there.
    package func consume(_ id: HTTP2StreamID, _ count: Int) {
        guard let stream = unsafe find(id) else { return }
        unsafe stream.pointee.inbound.consume(count)
        if count > 0 { _ = unsafe nghttp2_session_consume(session, id.value, count) }
    }

    /// Lends the stream's inbound queue; what `body` consumes is returned to the peer as window. `body` must not append, and must not call
    /// ``receive(_:now:)``, ``consume(_:_:)`` or ``nextEvent()``. Answers `nil` when the stream is not known.
    @discardableResult
    package func withInbound<Result, Failure: Error>(
        _ id: HTTP2StreamID, _ body: (inout ByteQueue) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard let stream = unsafe find(id) else { return nil }
        let before = unsafe stream.pointee.inbound.count
        defer {
            let consumed = unsafe before - stream.pointee.inbound.count
            precondition(consumed >= 0, "inbound bytes come from the peer only")
            if consumed > 0 { _ = unsafe nghttp2_session_consume(session, id.value, consumed) }
        }
        return try unsafe body(&stream.pointee.inbound)
    }

    // MARK: Answers and requests

    /// Answers a request (server role). `status` is 200 to 599; field names are made lower-case, values must be free of line breaks.
    ///
    /// - Returns: false, and nothing is sent, when the stream is gone or was answered already.
    @discardableResult
    package func respond(_ id: HTTP2StreamID, status: Int, fields: [HTTP2Field], endOfStream: Bool) -> Bool {
        precondition(role == .server && (200...599).contains(status), "a final response")
        guard let stream = unsafe find(id), unsafe !stream.pointee.isClosed, unsafe !stream.pointee.isResetLocally,
            unsafe !stream.pointee.isAnswered
        else { return false }
        var block = HTTP2FieldBlock()
        block.append(name: ":status", value: String(status))
        for field in fields { block.append(name: field.name, value: field.value) }
        var provider = unsafe http2DataProvider(stream)
        let submitted = unsafe block.withRecords { records, count in
            endOfStream
                ? unsafe nghttp2_submit_response(session, id.value, records, count, nil)
                : unsafe nghttp2_submit_response(session, id.value, records, count, &provider)
        }
        guard submitted == 0 else { return false }
        unsafe stream.pointee.isAnswered = true
        unsafe stream.pointee.hasDataSource = !endOfStream
        unsafe stream.pointee.isEnded = endOfStream
        return true
    }

    /// Opens a request (client role). `fields` begins with the pseudo-header fields; with `:protocol` it is an extended CONNECT (RFC 8441 §4).
    package func request(fields: [HTTP2Field], endOfStream: Bool) throws(HTTP2RequestRefusal) -> HTTP2StreamID {
        precondition(role == .client, "a client requests")
        guard fault == nil, unsafe nghttp2_session_check_request_allowed(session) != 0 else { throw .goingAway }
        var block = HTTP2FieldBlock()
        for field in fields {
            if field.name == ":protocol", unsafe nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL) != 1 {
                throw .extendedConnectNotEnabled
            }
            block.append(name: field.name, value: field.value)
        }
        guard let next = unsafe Int32(exactly: nghttp2_session_get_next_stream_id(session)) else { throw .streamIdentifiersExhausted }
        let id = HTTP2StreamID(next)
        let stream = unsafe HTTP2StreamTable.makeStream(id: id, isAnnounced: true)
        unsafe core.pointee.open(stream)
        var provider = unsafe http2DataProvider(stream)
        let submitted = unsafe block.withRecords { records, count in
            endOfStream
                ? unsafe nghttp2_submit_request(session, nil, records, count, nil, nil)
                : unsafe nghttp2_submit_request(session, nil, records, count, &provider, nil)
        }
        precondition(submitted == id.value, "the library numbers streams in order")
        unsafe stream.pointee.hasDataSource = !endOfStream
        unsafe stream.pointee.isEnded = endOfStream
        return id
    }

    // MARK: Outbound bytes

    /// How many more bytes, queued now, flow control would let out at once: the smaller of the stream's and the connection's window, less what waits.
    ///
    /// When the answer is less than `wanted`, a ``HTTP2Event/writable(_:)`` follows as soon as either window opens.
    package func sendCapacity(_ id: HTTP2StreamID, wanted: Int = 1) -> Int {
        guard let stream = unsafe find(id), unsafe !stream.pointee.isClosed, unsafe !stream.pointee.isEnded, unsafe !stream.pointee.isResetLocally
        else { return 0 }
        let capacity = unsafe capacity(stream)
        if capacity < wanted, unsafe !stream.pointee.wantsWritable {
            unsafe stream.pointee.wantsWritable = true
            unsafe core.pointee.writableWanted += 1
        }
        return capacity
    }

    private func capacity(_ stream: UnsafeMutablePointer<HTTP2Stream>) -> Int {
        var window = unsafe Int(nghttp2_session_get_stream_remote_window_size(session, stream.pointee.id.value))
        if window < 0 {
            // A request that waits for its turn is not yet a stream of the library.
            window = unsafe Int(nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE))
        }
        let connection = unsafe Int(nghttp2_session_get_remote_window_size(session)) - core.pointee.queuedBytes
        return unsafe max(0, min(window - stream.pointee.outbound.count, connection))
    }

    /// Tells the streams that were short of capacity, once anything happened that can have given them some.
    func announceWritable() {
        guard unsafe core.pointee.mayBeWritable else { return }
        unsafe core.pointee.mayBeWritable = false
        guard unsafe core.pointee.writableWanted > 0 else { return }
        for index in 0..<(unsafe core.pointee.streams.count) {
            let stream = unsafe core.pointee.streams[index]
            guard unsafe stream.pointee.wantsWritable, unsafe capacity(stream) > 0 else { continue }
            unsafe stream.pointee.wantsWritable = false
            unsafe core.pointee.writableWanted -= 1
            unsafe core.pointee.events.append(.writable(stream.pointee.id))
        }
    }

    /// Queues bytes on a stream that was answered (server) or opened (client) with more to follow.
    @discardableResult
    package func write(_ id: HTTP2StreamID, _ bytes: UnsafeRawBufferPointer) -> HTTP2WriteResult {
        guard let stream = unsafe find(id), unsafe stream.pointee.hasDataSource, unsafe !stream.pointee.isEnded, unsafe !stream.pointee.isClosed,
            unsafe !stream.pointee.isResetLocally
        else { return .closed }
        guard unsafe stream.pointee.outbound.count + bytes.count <= configuration.outboundBytesMax else { return .overflow }
        unsafe stream.pointee.outbound.append(bytes)
        unsafe core.pointee.queuedBytes += bytes.count
        unsafe resume(stream)
        return .queued
    }

    /// Bytes queued on the stream and not yet produced.
    package func queuedCount(_ id: HTTP2StreamID) -> Int {
        guard let stream = unsafe find(id) else { return 0 }
        return unsafe stream.pointee.queuedCount
    }

    /// Ends this end's half of the stream with content of any size behind what is queued. It is held and not copied, so that a reader that is slow or
    /// gone costs no memory for it, and it takes nothing of the connection's window from other streams before it is sent.
    package func endStream(_ id: HTTP2StreamID, content: [UInt8]) {
        write(id, content: content)
        endStream(id)
    }

    /// The same for a stream that goes on: it takes more once this is gone (``queuedCount(_:)``).
    package func write(_ id: HTTP2StreamID, content: [UInt8]) {
        guard let stream = unsafe find(id), unsafe stream.pointee.hasDataSource, unsafe !stream.pointee.isEnded, unsafe !stream.pointee.isClosed,
            unsafe !stream.pointee.isResetLocally
        else { return }
        unsafe precondition(stream.pointee.content.isEmpty, "one content at a time")
        unsafe stream.pointee.content = content
        unsafe resume(stream)
    }

    /// Bytes of such content that have been produced so far, of all streams: what tells a slow reader from one that does not read.
    package var contentBytesSent: UInt64 { unsafe core.pointee.contentBytesSent }

    /// Ends this end's half of the stream once its queue is sent.
    package func endStream(_ id: HTTP2StreamID) {
        guard let stream = unsafe find(id), unsafe stream.pointee.hasDataSource, unsafe !stream.pointee.isClosed else { return }
        unsafe stream.pointee.isEnded = true
        unsafe resume(stream)
    }

    private func resume(_ stream: UnsafeMutablePointer<HTTP2Stream>) {
        guard unsafe stream.pointee.isDeferred else { return }
        unsafe stream.pointee.isDeferred = false
        _ = unsafe nghttp2_session_resume_data(session, stream.pointee.id.value)
    }

    /// Resets the stream; what is queued on it is dropped, what arrives is ignored. ``HTTP2Event/streamClosed(_:_:)`` follows once it is sent.
    package func reset(_ id: HTTP2StreamID, _ code: HTTP2ErrorCode) {
        guard let stream = unsafe find(id), unsafe !stream.pointee.isClosed, unsafe !stream.pointee.isResetLocally else { return }
        unsafe stream.pointee.isResetLocally = true
        unsafe core.pointee.dropOutbound(of: stream)
        _ = unsafe nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), id.value, code.rawValue)
    }

    /// The stream's place among the others in sending (RFC 9218 §4.1), 0 first and 7 last, in place of what the client asked for (server role).
    /// Streams of one urgency take turns.
    package func setUrgency(_ id: HTTP2StreamID, _ urgency: UInt8) {
        precondition(role == .server && urgency <= 7, "urgency is 0 to 7, and the server's to set")
        guard let stream = unsafe find(id), unsafe !stream.pointee.isClosed else { return }
        unsafe stream.pointee.hasOwnUrgency = true
        var priority = nghttp2_extpri(urgency: UInt32(urgency), inc: 1)
        _ = unsafe nghttp2_session_change_extpri_stream_priority(session, id.value, &priority, 1)
    }

    /// How the client wants the stream to be sent among others (RFC 9218); the default for a stream that is not known.
    package func priority(_ id: HTTP2StreamID) -> HTTP2Priority {
        guard let stream = unsafe find(id) else { return HTTP2Priority() }
        return unsafe stream.pointee.priority
    }

    // MARK: The connection

    /// Warns the client that GOAWAY will come, so that no request is lost in flight (RFC 9113 §6.8); server role.
    package func shutdownNotice() {
        precondition(role == .server, "a server warns")
        _ = unsafe nghttp2_submit_shutdown_notice(session)
    }

    /// Takes no new streams; those open go on. The connection is finished when the last is closed.
    package func goAway(_ code: HTTP2ErrorCode) {
        unsafe core.pointee.goAwayRequested = code
        let last = unsafe nghttp2_session_get_last_proc_stream_id(session)
        _ = unsafe nghttp2_submit_goaway(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), last, code.rawValue, nil, 0)
    }

    /// Sends PING; ``HTTP2Event/pingAcknowledged(_:)`` brings `opaque` back.
    package func ping(_ opaque: UInt64) {
        unsafe withUnsafeBytes(of: opaque.bigEndian) { bytes in
            _ = unsafe nghttp2_submit_ping(
                session, UInt8(NGHTTP2_FLAG_NONE.rawValue), bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
        }
    }

    /// Gives back the memory of a stream's queues that are empty.
    package func releaseIdleMemory(of id: HTTP2StreamID) {
        guard let stream = unsafe find(id) else { return }
        unsafe core.pointee.events.releaseIfEmpty()
        unsafe stream.pointee.inbound.releaseIfEmpty()
        unsafe stream.pointee.outbound.releaseIfEmpty()
    }
}
