import CNghttp2
import RelayBase

// The HTTP/2 library's callbacks: free functions whose user data is the address of the connection's ``HTTP2Core``. Each one translates and decides
// nothing. The address is valid whenever the library calls, since ``HTTP2Session`` frees it after the library's session.

private func core(_ userData: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<HTTP2Core> {
    guard let userData = unsafe userData else { preconditionFailure("the session was made with user data") }
    return unsafe userData.assumingMemoryBound(to: HTTP2Core.self)
}

private func reset(_ session: OpaquePointer?, _ id: Int32, _ code: HTTP2ErrorCode) {
    _ = unsafe nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), id, code.rawValue)
}

private func onBeginHeaders(_: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ userData: UnsafeMutableRawPointer?) -> Int32 {
    guard let frame = unsafe frame else { return 0 }
    unsafe core(userData).pointee.headersBegin(HTTP2StreamID(frame.pointee.hd.stream_id))
    return 0
}

private func onHeader(
    _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ name: UnsafePointer<UInt8>?, _ nameLength: Int, _ value: UnsafePointer<UInt8>?,
    _ valueLength: Int, _: UInt8, _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame else { return 0 }
    unsafe core(userData).pointee.headerReceived(
        HTTP2StreamID(frame.pointee.hd.stream_id), name: UnsafeBufferPointer(start: name, count: nameLength),
        value: UnsafeBufferPointer(start: value, count: valueLength))
    return 0
}

private func onFrameReceived(_ session: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ userData: UnsafeMutableRawPointer?) -> Int32 {
    guard let frame = unsafe frame else { return 0 }
    let core = unsafe core(userData)
    let header = unsafe frame.pointee.hd
    let id = HTTP2StreamID(header.stream_id)
    let endOfStream = header.flags & HTTP2FrameHeader.Flag.endStream != 0
    switch header.type {
    case HTTP2FrameHeader.FrameType.headers:
        if let code = unsafe core.pointee.headersReceived(id, endOfStream: endOfStream) { unsafe reset(session, id.value, code) }
    case HTTP2FrameHeader.FrameType.data:
        if endOfStream { unsafe core.pointee.endOfData(id) }
    case HTTP2FrameHeader.FrameType.settings:
        guard header.flags & HTTP2FrameHeader.Flag.acknowledgement == 0 else { break }
        let enabled = unsafe nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL) == 1
        unsafe core.pointee.events.append(.settingsReceived(extendedConnect: enabled))
        unsafe core.pointee.mayBeWritable = true
    case HTTP2FrameHeader.FrameType.ping:
        guard header.flags & HTTP2FrameHeader.Flag.acknowledgement != 0 else { break }
        let opaque = unsafe frame.pointee.ping.opaque_data
        let value = unsafe withUnsafeBytes(of: opaque) { unsafe UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)) }
        unsafe core.pointee.events.append(.pingAcknowledged(value))
    case HTTP2FrameHeader.FrameType.goAway:
        let goAway = unsafe frame.pointee.goaway
        unsafe core.pointee.events.append(
            .goAwayReceived(lastStreamID: HTTP2StreamID(goAway.last_stream_id), HTTP2ErrorCode(rawValue: goAway.error_code)))
    case HTTP2FrameHeader.FrameType.windowUpdate:
        unsafe core.pointee.mayBeWritable = true
    case HTTP2FrameHeader.FrameType.priorityUpdate:
        guard let (id, priority) = unsafe core.pointee.priorityUpdateReceived(onStream: header.stream_id) else { break }
        var scheduled = nghttp2_extpri(urgency: UInt32(priority.urgency), inc: priority.isIncremental ? 1 : 0)
        _ = unsafe nghttp2_session_change_extpri_stream_priority(session, id.value, &scheduled, 0)
    default:
        break
    }
    return 0
}

private func onExtensionPart(
    _: OpaquePointer?, _: UnsafePointer<nghttp2_frame_hd>?, _ data: UnsafePointer<UInt8>?, _ count: Int, _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    unsafe core(userData).pointee.priorityUpdatePartReceived(UnsafeRawBufferPointer(start: data, count: count))
    return 0
}

/// The payload is kept in the core; the library has nothing to hold.
private func unpackExtension(
    _: OpaquePointer?, _: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _: UnsafePointer<nghttp2_frame_hd>?, _: UnsafeMutableRawPointer?
) -> Int32 { 0 }

private func onData(
    _ session: OpaquePointer?, _: UInt8, _ id: Int32, _ data: UnsafePointer<UInt8>?, _ count: Int, _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    let bytes = unsafe UnsafeRawBufferPointer(start: data, count: count)
    if unsafe !core(userData).pointee.dataReceived(HTTP2StreamID(id), bytes) {
        // Nobody will read it: its share of the connection's window goes back at once.
        _ = unsafe nghttp2_session_consume(session, id, count)
    }
    return 0
}

private func onStreamClose(_: OpaquePointer?, _ id: Int32, _ code: UInt32, _ userData: UnsafeMutableRawPointer?) -> Int32 {
    unsafe core(userData).pointee.close(HTTP2StreamID(id), code: HTTP2ErrorCode(rawValue: code))
    return 0
}

private func onFrameSent(_: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ userData: UnsafeMutableRawPointer?) -> Int32 {
    guard let frame = unsafe frame else { return 0 }
    switch unsafe frame.pointee.hd.type {
    case HTTP2FrameHeader.FrameType.rstStream:
        unsafe core(userData).pointee.resetSent(HTTP2StreamID(frame.pointee.hd.stream_id))
    case HTTP2FrameHeader.FrameType.goAway:
        unsafe core(userData).pointee.goAwaySent(HTTP2ErrorCode(rawValue: frame.pointee.goaway.error_code))
    default:
        break
    }
    return 0
}

/// A request that cannot be sent any more (the server said GOAWAY) never becomes a stream of the library, so its end is told here.
private func onFrameNotSent(
    _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _: Int32, _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame, unsafe frame.pointee.hd.type == HTTP2FrameHeader.FrameType.headers,
        unsafe frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST
    else { return 0 }
    unsafe core(userData).pointee.close(HTTP2StreamID(frame.pointee.hd.stream_id), code: .refusedStream)
    return 0
}

private func sendData(
    _: OpaquePointer?, _ frame: UnsafeMutablePointer<nghttp2_frame>?, _ header: UnsafePointer<UInt8>?, _ count: Int,
    _ source: UnsafeMutablePointer<nghttp2_data_source>?, _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    guard let stream = unsafe source?.pointee.ptr?.assumingMemoryBound(to: HTTP2Stream.self) else {
        return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
    }
    unsafe core(userData).pointee.sendData(stream, header: UnsafeRawBufferPointer(start: header, count: 9), count: count)
    return 0
}

/// How much of a stream's queue the next DATA frame takes. The bytes themselves are written by `sendData`.
private func readData(
    _: OpaquePointer?, _: Int32, _: UnsafeMutablePointer<UInt8>?, _ lengthMax: Int, _ flags: UnsafeMutablePointer<UInt32>?,
    _ source: UnsafeMutablePointer<nghttp2_data_source>?, _ userData: UnsafeMutableRawPointer?
) -> Int {
    guard let stream = unsafe source?.pointee.ptr?.assumingMemoryBound(to: HTTP2Stream.self), let flags = unsafe flags else {
        return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
    }
    let core = unsafe core(userData)
    let queued = unsafe stream.pointee.queuedCount
    let isEnded = unsafe stream.pointee.isEnded
    guard queued > 0 || isEnded else {
        unsafe stream.pointee.isDeferred = true
        return Int(NGHTTP2_ERR_DEFERRED.rawValue)
    }
    if unsafe core.pointee.output.count >= core.pointee.outputBound {
        unsafe core.pointee.isPaused = true
        return Int(NGHTTP2_ERR_PAUSE.rawValue)
    }
    let count = min(queued, lengthMax)
    var set = NGHTTP2_DATA_FLAG_NO_COPY.rawValue
    if count == queued, isEnded { set |= NGHTTP2_DATA_FLAG_EOF.rawValue }
    unsafe flags.pointee |= set
    return count
}

/// The data source of a stream's body; the library keeps the record's address, which stays valid until the stream is closed.
func http2DataProvider(_ stream: UnsafeMutablePointer<HTTP2Stream>) -> nghttp2_data_provider {
    unsafe nghttp2_data_provider(source: nghttp2_data_source(ptr: UnsafeMutableRawPointer(stream)), read_callback: readData)
}

/// The table of the functions above. The caller frees it.
func http2MakeCallbacks() -> OpaquePointer? {
    var callbacks: OpaquePointer?
    guard unsafe nghttp2_session_callbacks_new(&callbacks) == 0 else { return nil }
    unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, onBeginHeaders)
    unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks, onHeader)
    unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, onFrameReceived)
    unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, onData)
    unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, onStreamClose)
    unsafe nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, onFrameSent)
    unsafe nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, onFrameNotSent)
    unsafe nghttp2_session_callbacks_set_send_data_callback(callbacks, sendData)
    unsafe nghttp2_session_callbacks_set_on_extension_chunk_recv_callback(callbacks, onExtensionPart)
    unsafe nghttp2_session_callbacks_set_unpack_extension_callback(callbacks, unpackExtension)
    return unsafe callbacks
}
