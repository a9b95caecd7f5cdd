import CNghttp2
package import RelayBase

/// One HTTP/2 connection (RFC 9113) as a machine: bytes in, events and bytes out. It has no socket, no clock, and calls nobody.
///
/// After ``receive(_:now:)`` and after ``produce(into:upTo:now:)`` the caller pulls ``nextEvent()`` until it answers `nil`, at once or, without receiving
/// meanwhile, later. Bytes of a stream wait in
/// that stream's queue; the peer gets window for them only as they are consumed.
///
/// A server advertises its stream limit in a SETTINGS frame of its own, whose acknowledgement is kept from the library: a limit that is acknowledged
/// makes the library close the whole connection over one stream too many, one that is not makes it refuse that stream (RFC 9113 §5.1.2).
@safe
package final class HTTP2Session {
    package enum Role: Hashable, Sendable {
        case server
        case client
    }

    package let role: Role
    let configuration: HTTP2Configuration
    let core: UnsafeMutablePointer<HTTP2Core>
    let session: OpaquePointer
    private var scanner: HTTP2FrameScanner
    private var endedStreams = HTTP2EndedStreams()

    /// Queues this end's SETTINGS (and, for a client, the preface) for the first ``produce(into:upTo:now:)``.
    package init(role: Role, configuration: HTTP2Configuration = HTTP2Configuration(), now: MonotonicInstant) {
        self.role = role
        self.configuration = configuration
        scanner = HTTP2FrameScanner(expectsPreface: role == .server)
        unsafe core = UnsafeMutablePointer<HTTP2Core>.allocate(capacity: 1)
        unsafe core.initialize(to: HTTP2Core(role: role, configuration: configuration, settingsSent: role == .server ? 2 : 1, now: now))
        unsafe session = Self.makeSession(role, core)
        submitSettings()
    }

    deinit {
        unsafe nghttp2_session_del(session)
        unsafe core.deinitialize(count: 1)
        unsafe core.deallocate()
    }

    private static func makeSession(_ role: Role, _ core: UnsafeMutablePointer<HTTP2Core>) -> OpaquePointer {
        var option: OpaquePointer?
        var session: OpaquePointer?
        let callbacks = unsafe http2MakeCallbacks()
        defer {
            unsafe nghttp2_session_callbacks_del(callbacks)
            unsafe nghttp2_option_del(option)
        }
        guard unsafe callbacks != nil, unsafe nghttp2_option_new(&option) == 0 else { preconditionFailure("out of memory") }
        unsafe nghttp2_option_set_no_auto_window_update(option, 1)
        unsafe nghttp2_option_set_no_closed_streams(option, 1)
        // Not the library's own PRIORITY_UPDATE: in 1.52 a stream that one names before its HEADERS stays in a list after it is freed.
        unsafe nghttp2_option_set_user_recv_extension_type(option, HTTP2FrameHeader.FrameType.priorityUpdate)
        // Responses are few and small: a table of their fields (RFC 7541 §2.3.2) would be kept for nothing.
        if role == .server { unsafe nghttp2_option_set_max_deflate_dynamic_table_size(option, 0) }
        var memory = unsafe http2Memory()
        let made =
            switch role {
            case .server: unsafe nghttp2_session_server_new3(&session, callbacks, core, option, &memory)
            case .client: unsafe nghttp2_session_client_new3(&session, callbacks, core, option, &memory)
            }
        guard made == 0, let session = unsafe session else { preconditionFailure("out of memory") }
        return unsafe session
    }

    private func submitSettings() {
        let window = UInt32(clamping: min(configuration.streamWindowBytes, Int(Int32.max)))
        let headerList = UInt32(clamping: configuration.headerListBytesMax)
        switch role {
        case .server:
            submit([
                (NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1), (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window),
                (NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, headerList), (NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1),
            ])
            submit([(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, UInt32(clamping: configuration.streamsMax))])
        case .client:
            submit([
                (NGHTTP2_SETTINGS_ENABLE_PUSH, 0), (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window),
                (NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, headerList), (NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1),
            ])
        }
        let connectionWindow = Int32(clamping: configuration.connectionWindowBytes)
        let widened = unsafe nghttp2_session_set_local_window_size(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, connectionWindow)
        precondition(widened == 0, "the connection's window is a positive number")
    }

    private func submit(_ settings: [(nghttp2_settings_id, UInt32)]) {
        let entries = settings.map { nghttp2_settings_entry(settings_id: Int32($0.0.rawValue), value: $0.1) }
        let submitted = unsafe nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), entries, entries.count)
        precondition(submitted == 0, "the settings are valid")
    }

    // MARK: State

    /// Why the connection ended; `nil` while it lives. What ``produce(into:upTo:now:)`` still gives, GOAWAY included, is to be sent before closing.
    package var fault: HTTP2Fault? { unsafe core.pointee.fault }

    /// Whether nothing more will be read or written: after a fault, or after GOAWAY once the last stream is closed.
    package var isFinished: Bool {
        guard unsafe core.pointee.output.isEmpty else { return false }
        if unsafe core.pointee.fault != nil { return true }
        return unsafe nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
    }

    /// Whether ``produce(into:upTo:now:)`` has something to give.
    package var wantsOutput: Bool {
        guard unsafe core.pointee.output.isEmpty else { return true }
        return unsafe core.pointee.fault == nil && nghttp2_session_want_write(session) != 0
    }

    package var openStreams: Int { unsafe core.pointee.openStreams }

    // MARK: Time

    /// When ``deadlineReached(now:)`` is due: SETTINGS not acknowledged, a header block not finished, or no stream open for too long.
    package var nextDeadline: MonotonicInstant {
        unsafe core.pointee.fault == nil ? core.pointee.abuse.nextDeadline : .distantFuture
    }

    /// Ends the connection when a deadline has passed; early calls do nothing.
    package func deadlineReached(now: MonotonicInstant) throws(HTTP2Fault) {
        if let fault = unsafe core.pointee.fault { throw fault }
        unsafe core.pointee.now = now
        do throws(HTTP2Fault) {
            try unsafe core.pointee.abuse.deadlineReached(now: now)
        } catch {
            throw fail(error)
        }
    }

    // MARK: Bytes in

    /// Takes what the peer sent, cut anywhere.
    ///
    /// - Throws: the fault that ends the connection, now and at each later call.
    package func receive(_ bytes: UnsafeRawBufferPointer, now: MonotonicInstant) throws(HTTP2Fault) {
        if let fault = unsafe core.pointee.fault { throw fault }
        unsafe core.pointee.now = now
        do throws(HTTP2Fault) {
            try unsafe scanAndFeed(bytes, now: now)
            try settle()
        } catch {
            throw fail(error)
        }
        announceWritable()
    }

    /// Feeds the library whole runs of frames, and stops before the frame that the guard refuses.
    private func scanAndFeed(_ bytes: UnsafeRawBufferPointer, now: MonotonicInstant) throws(HTTP2Fault) {
        var fed = 0
        var position = 0
        scan: while true {
            switch unsafe scanner.next(in: bytes, at: &position) {
            case .exhausted:
                break scan
            case .headerIncomplete(let start):
                position = start
                break scan
            case .header(let header, let start, let heldBefore):
                let verdict: HTTP2AbuseGuard.Verdict
                do throws(HTTP2Fault) {
                    verdict = try unsafe core.pointee.abuse.receive(header, now: now)
                } catch {
                    try unsafe feed(UnsafeRawBufferPointer(rebasing: bytes[fed..<start]))
                    // What came before counts first.
                    try settle()
                    throw error
                }
                if endedStreams.receive(header) {
                    // Whether the stream is closed by now shows once what came before has been taken.
                    try unsafe feed(UnsafeRawBufferPointer(rebasing: bytes[fed..<start]))
                    fed = start
                    if unsafe !core.pointee.streams.isOpen(header.streamID) {
                        try settle()
                        throw .frameAfterStreamEnd
                    }
                }
                if verdict == .swallow {
                    try unsafe feed(UnsafeRawBufferPointer(rebasing: bytes[fed..<start]))
                    fed = position
                } else if heldBefore > 0 {
                    try feedHeader(count: heldBefore + position - start)
                    fed = position
                }
            }
        }
        unsafe core.pointee.abuse.chunkScanned(atFrameBoundary: scanner.isAtFrameBoundary)
        try unsafe feed(UnsafeRawBufferPointer(rebasing: bytes[fed..<position]))
    }

    /// Feeds a header whose first bytes came in an earlier chunk.
    private func feedHeader(count: Int) throws(HTTP2Fault) {
        let header = scanner.held
        try unsafe header.span.bytes.extracting(first: count).withUnsafeBytes { (bytes: UnsafeRawBufferPointer) throws(HTTP2Fault) in
            try unsafe feed(bytes)
        }
    }

    private func feed(_ bytes: UnsafeRawBufferPointer) throws(HTTP2Fault) {
        guard unsafe !bytes.isEmpty else { return }
        let taken = unsafe nghttp2_session_mem_recv(session, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
        if taken < 0 { throw Self.fault(libraryError: taken) }
    }

    /// Writes the control frames that the input gave rise to, into memory of this session: so a connection error that the library answers by itself is
    /// known at once, with its code, and resets are counted although nobody may be sending.
    private func settle() throws(HTTP2Fault) {
        if unsafe nghttp2_session_get_outbound_queue_size(session) > 0 { drainControl() }
        if let code = unsafe core.pointee.goAwaySent, code != .noError { throw .connectionError(code) }
        if let fault = unsafe core.pointee.pendingFault { throw fault }
        if role == .server, unsafe core.pointee.output.count > configuration.controlQueueBytesMax { throw .controlQueueOverflow }
    }

    private static func fault(libraryError: Int) -> HTTP2Fault {
        switch Int32(truncatingIfNeeded: libraryError) {
        case NGHTTP2_ERR_BAD_CLIENT_MAGIC.rawValue: .badPreface
        case NGHTTP2_ERR_FLOODED.rawValue: .controlQueueOverflow
        default: .internalFailure
        }
    }

    // MARK: Bytes out

    /// Appends to `queue` what is to be sent: control frames first, then DATA by urgency until `bound` bytes are passed (a frame is not cut, so up to
    /// 16 KiB more).
    ///
    /// - Returns: whether the bound stopped it, so that there may be more.
    package func produce(into queue: inout ByteQueue, upTo bound: Int, now: MonotonicInstant) -> Bool {
        unsafe core.pointee.now = now
        if unsafe !core.pointee.output.isEmpty {
            unsafe queue.append(core.pointee.output.readable)
            unsafe core.pointee.output.removeAll()
            unsafe core.pointee.output.releaseIfEmpty()
        }
        guard unsafe core.pointee.fault == nil else { return false }
        unsafe core.pointee.outputBound = queue.count + bound
        unsafe swap(&core.pointee.output, &queue)
        let more = pump()
        if let fault = unsafe core.pointee.pendingFault { _ = fail(fault) }
        unsafe swap(&core.pointee.output, &queue)
        announceWritable()
        return unsafe more && core.pointee.fault == nil
    }

    /// Moves the library's output to `core.output` until nothing is left or `core.outputBound` holds DATA up; answers whether it did.
    private func pump() -> Bool {
        unsafe core.pointee.isPaused = false
        while true {
            var chunk: UnsafePointer<UInt8>?
            let count = unsafe nghttp2_session_mem_send(session, &chunk)
            if count < 0 {
                unsafe core.pointee.pendingFault = core.pointee.pendingFault ?? .internalFailure
                return false
            }
            if count == 0 { return unsafe core.pointee.isPaused }
            unsafe core.pointee.output.append(UnsafeRawBufferPointer(start: chunk, count: count))
        }
    }

    /// Moves control frames only, which come before DATA.
    private func drainControl() {
        unsafe core.pointee.outputBound = 0
        _ = pump()
    }

    /// Ends the connection: the fault is kept, GOAWAY with its code is written, and no stream is served any more.
    private func fail(_ fault: HTTP2Fault) -> HTTP2Fault {
        unsafe core.pointee.fault = fault
        let isAnsweredAlready = if case .connectionError = fault { true } else { false }
        if !isAnsweredAlready {
            unsafe core.pointee.pendingFault = nil
            _ = unsafe nghttp2_session_terminate_session(session, fault.errorCode.rawValue)
            drainControl()
        }
        // Backwards, since a stream that nobody heard of leaves the table at once.
        for index in (0..<(unsafe core.pointee.streams.count)).reversed() {
            let id = unsafe core.pointee.streams[index].pointee.id
            unsafe core.pointee.close(id, code: fault.errorCode)
        }
        return fault
    }
}
