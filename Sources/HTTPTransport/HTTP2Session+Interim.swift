import CNghttp2

extension HTTP2Session {
    /// Tells a client that waits for it to send its content (RFC 9110 §10.1.1, RFC 9113 §8.1): an interim response with status 100. Server role.
    package func continueRequest(_ id: HTTP2StreamID) {
        precondition(role == .server, "a server says 100")
        guard let stream = unsafe core.pointee.streams.find(id), unsafe !stream.pointee.isClosed, unsafe !stream.pointee.isResetLocally,
            unsafe !stream.pointee.isAnswered
        else { return }
        var block = HTTP2FieldBlock()
        block.append(name: ":status", value: "100")
        _ = unsafe block.withRecords { records, count in
            unsafe nghttp2_submit_headers(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), id.value, nil, records, count, nil)
        }
    }
}
