internal import Glibc

extension SystemCalls {
    /// How often an interrupted call is made again. Non-blocking calls are hardly ever interrupted, so the bound only stops a broken kernel or test.
    static let interruptedRetriesMax = 64

    /// Reads once.
    ///
    /// - Throws: `ECONNRESET`, `ETIMEDOUT` and the like when the connection is gone.
    package func receive(from descriptor: FileDescriptor, into buffer: UnsafeMutableRawBufferPointer) throws(SystemFault) -> IOResult {
        unsafe precondition(!buffer.isEmpty, "a read needs room, or its 0 would look like the end of the stream")
        for _ in 0...Self.interruptedRetriesMax {
            let count = unsafe recv(descriptor.number, buffer.baseAddress, buffer.count, 0)
            if count > 0 { return .bytes(count) }
            if count == 0 { return .endOfStream }
            let code = errno
            if code == EAGAIN { return .wouldBlock }
            if code != EINTR { throw SystemFault(operation: "recv", errno: code) }
        }
        throw SystemFault(operation: "recv", errno: EINTR)
    }

    package func receive(from descriptor: FileDescriptor, into span: inout MutableRawSpan) throws(SystemFault) -> IOResult {
        try unsafe span.withUnsafeMutableBytes { (buffer) throws(SystemFault) in try unsafe receive(from: descriptor, into: buffer) }
    }

    /// Writes once, without a signal when the peer is gone (MSG_NOSIGNAL). Writing nothing moves nothing: `.bytes(0)`.
    ///
    /// - Throws: `EPIPE`, `ECONNRESET` and the like when the connection is gone.
    package func send(to descriptor: FileDescriptor, _ bytes: UnsafeRawBufferPointer) throws(SystemFault) -> IOResult {
        for _ in 0...Self.interruptedRetriesMax {
            let count = unsafe send(descriptor.number, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
            if count >= 0 { return .bytes(count) }
            let code = errno
            if code == EAGAIN { return .wouldBlock }
            if code != EINTR { throw SystemFault(operation: "send", errno: code) }
        }
        throw SystemFault(operation: "send", errno: EINTR)
    }

    package func send(to descriptor: FileDescriptor, _ bytes: RawSpan) throws(SystemFault) -> IOResult {
        try unsafe bytes.withUnsafeBytes { (buffer) throws(SystemFault) in try unsafe send(to: descriptor, buffer) }
    }

    /// `read(2)`, for descriptors that are no sockets (eventfd, signalfd, pipes).
    package func read(from descriptor: FileDescriptor, into buffer: UnsafeMutableRawBufferPointer) throws(SystemFault) -> IOResult {
        unsafe precondition(!buffer.isEmpty, "a read needs room, or its 0 would look like the end of the stream")
        for _ in 0...Self.interruptedRetriesMax {
            let count = unsafe read(descriptor.number, buffer.baseAddress, buffer.count)
            if count > 0 { return .bytes(count) }
            if count == 0 { return .endOfStream }
            let code = errno
            if code == EAGAIN { return .wouldBlock }
            if code != EINTR { throw SystemFault(operation: "read", errno: code) }
        }
        throw SystemFault(operation: "read", errno: EINTR)
    }

    /// `write(2)`, for descriptors that are no sockets.
    package func write(to descriptor: FileDescriptor, _ bytes: UnsafeRawBufferPointer) throws(SystemFault) -> IOResult {
        for _ in 0...Self.interruptedRetriesMax {
            let count = unsafe write(descriptor.number, bytes.baseAddress, bytes.count)
            if count >= 0 { return .bytes(count) }
            let code = errno
            if code == EAGAIN { return .wouldBlock }
            if code != EINTR { throw SystemFault(operation: "write", errno: code) }
        }
        throw SystemFault(operation: "write", errno: EINTR)
    }

    /// Closes; the number is free again whatever comes back, so an interrupted close is never repeated (it could hit another file).
    package func close(_ descriptor: FileDescriptor) {
        let result = close(descriptor.number)
        if result < 0 { precondition(errno != EBADF, "a descriptor is closed once") }
    }

    /// Finishes one or both directions of a connection. A connection that is gone already is no fault.
    package func shutdown(_ descriptor: FileDescriptor, _ direction: ShutdownDirection) {
        _ = shutdown(descriptor.number, direction.rawValue)
    }
}

package enum ShutdownDirection: Int32, Sendable {
    case read = 0
    case write = 1
    case both = 2
}
