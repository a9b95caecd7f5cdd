internal import CLinux
internal import Glibc

/// Making TCP sockets and setting their options. Every socket is non-blocking and closed on exec.
package enum Socket {
    /// A listening TCP socket.
    ///
    /// - Parameters:
    ///   - backlog: connections that the kernel may hold before they are accepted.
    ///   - reusePort: several listeners, one per loop, share the port and the kernel spreads connections over them (SO_REUSEPORT).
    ///   - dualStack: an IPv6 listener takes IPv4 clients as well.
    package static func listen(
        on address: SocketAddress, backlog: Int32, reusePort: Bool, dualStack: Bool = true, calls: SystemCalls
    ) throws(SystemFault) -> FileDescriptor {
        let descriptor = try make(family: address.family, calls: calls)
        do throws(SystemFault) {
            try setOption(descriptor, SOL_SOCKET, SO_REUSEADDR, 1, calls: calls)
            if reusePort { try setOption(descriptor, SOL_SOCKET, SO_REUSEPORT, 1, calls: calls) }
            if !address.isIPv4 { try setOption(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, dualStack ? 0 : 1, calls: calls) }
            let form = address.storage
            try check("bind", unsafe withKernelAddress(form.storage) { unsafe calls.bind(descriptor.number, $0, form.length) })
            try check("listen", calls.listen(descriptor.number, backlog))
            return descriptor
        } catch {
            calls.close(descriptor)
            throw error
        }
    }

    package enum Connecting: Equatable, Sendable {
        case connected
        /// Wait for the socket to become writable, then ask ``connectResult(of:calls:)``.
        case inProgress
    }

    /// Starts a connection without waiting for it.
    package static func connect(
        to address: SocketAddress, calls: SystemCalls
    ) throws(SystemFault) -> (descriptor: FileDescriptor, state: Connecting) {
        let descriptor = try make(family: address.family, calls: calls)
        let form = address.storage
        let result = unsafe withKernelAddress(form.storage) { unsafe calls.connect(descriptor.number, $0, form.length) }
        if result == 0 { return (descriptor, .connected) }
        let code = errno
        // An interrupted connect goes on in the background (POSIX), just as one in progress does.
        if code == EINPROGRESS || code == EINTR { return (descriptor, .inProgress) }
        calls.close(descriptor)
        throw SystemFault(operation: "connect", errno: code)
    }

    /// How a connection in progress ended, to be asked once its socket is writable or in error (SO_ERROR).
    package static func connectResult(of descriptor: FileDescriptor, calls: SystemCalls) throws(SystemFault) {
        let code = try option(descriptor, SOL_SOCKET, SO_ERROR, calls: calls)
        if code != 0 { throw SystemFault(operation: "connect", errno: code) }
    }

    /// The fault that an error event of epoll stands for; `nil` when there is none (reading it clears it).
    package static func pendingFault(of descriptor: FileDescriptor, calls: SystemCalls) throws(SystemFault) -> SystemFault? {
        let code = try option(descriptor, SOL_SOCKET, SO_ERROR, calls: calls)
        return code == 0 ? nil : SystemFault(operation: "socket", errno: code)
    }

    package static func localAddress(of descriptor: FileDescriptor, calls: SystemCalls) throws(SystemFault) -> SocketAddress {
        try unsafe address(of: descriptor, "getsockname", calls.getsockname)
    }

    package static func peerAddress(of descriptor: FileDescriptor, calls: SystemCalls) throws(SystemFault) -> SocketAddress {
        try unsafe address(of: descriptor, "getpeername", calls.getpeername)
    }
}

// MARK: Options

extension Socket {
    /// TCP_NODELAY: every send leaves at once; the relay coalesces by itself.
    package static func setNoDelay(_ descriptor: FileDescriptor, _ on: Bool, calls: SystemCalls) throws(SystemFault) {
        try setOption(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, on ? 1 : 0, calls: calls)
    }

    /// TCP_NOTSENT_LOWAT: the socket stops being writable with this many bytes queued but not yet sent, so that what waits, waits in the relay, which
    /// can still drop what has expired.
    package static func setNotSentLowWater(_ descriptor: FileDescriptor, bytes: Int32, calls: SystemCalls) throws(SystemFault) {
        try setOption(descriptor, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, bytes, calls: calls)
    }

    /// TCP_USER_TIMEOUT: how long sent bytes may stay unacknowledged before the connection is given up (RFC 5482). 0 is the kernel's default.
    package static func setUserTimeout(_ descriptor: FileDescriptor, milliseconds: Int32, calls: SystemCalls) throws(SystemFault) {
        try setOption(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, milliseconds, calls: calls)
    }

    /// TCP_CONGESTION: the congestion control's name; of a listening socket, that of the connections that it accepts from then on.
    package static func setCongestionControl(_ descriptor: FileDescriptor, _ name: String, calls: SystemCalls) throws(SystemFault) {
        let bytes = Array(name.utf8)
        let result = unsafe bytes.withUnsafeBytes {
            unsafe calls.setsockopt(descriptor.number, Int32(IPPROTO_TCP), TCP_CONGESTION, $0.baseAddress, socklen_t($0.count))
        }
        try check("setsockopt", result)
    }

    package static func setKeepAlive(_ descriptor: FileDescriptor, _ on: Bool, calls: SystemCalls) throws(SystemFault) {
        try setOption(descriptor, SOL_SOCKET, SO_KEEPALIVE, on ? 1 : 0, calls: calls)
    }

    /// SO_SNDBUF: fixes the send buffer (the kernel doubles the number for its own overhead) and ends its automatic growth.
    package static func setSendBuffer(_ descriptor: FileDescriptor, bytes: Int32, calls: SystemCalls) throws(SystemFault) {
        try setOption(descriptor, SOL_SOCKET, SO_SNDBUF, bytes, calls: calls)
    }

    package static func setReceiveBuffer(_ descriptor: FileDescriptor, bytes: Int32, calls: SystemCalls) throws(SystemFault) {
        try setOption(descriptor, SOL_SOCKET, SO_RCVBUF, bytes, calls: calls)
    }

    /// SO_LINGER with 0 seconds: closing resets the connection and frees its buffers at once, for peers that are thrown out.
    package static func setResetOnClose(_ descriptor: FileDescriptor, calls: SystemCalls) throws(SystemFault) {
        var value = linger(l_onoff: 1, l_linger: 0)
        try check(
            "setsockopt",
            unsafe calls.setsockopt(descriptor.number, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout<linger>.size)))
    }

    /// Any option whose value is a C `int`.
    package static func setOption(
        _ descriptor: FileDescriptor, _ level: Int32, _ name: Int32, _ value: Int32, calls: SystemCalls
    ) throws(SystemFault) {
        var value = value
        try check("setsockopt", unsafe calls.setsockopt(descriptor.number, level, name, &value, socklen_t(MemoryLayout<Int32>.size)))
    }

    package static func option(
        _ descriptor: FileDescriptor, _ level: Int32, _ name: Int32, calls: SystemCalls
    ) throws(SystemFault) -> Int32 {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        try check("getsockopt", unsafe calls.getsockopt(descriptor.number, level, name, &value, &length))
        return value
    }
}

// MARK: Helpers

extension Socket {
    private static func make(family: Int32, calls: SystemCalls) throws(SystemFault) -> FileDescriptor {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let number = calls.socket(family, kind, 0)
        try check("socket", number)
        return FileDescriptor(number: number)
    }

    /// Must directly follow the call, before anything else can touch errno.
    static func check(_ operation: StaticString, _ result: Int32) throws(SystemFault) {
        if result < 0 { throw SystemFault(operation: operation, errno: errno) }
    }

    private static func address(
        of descriptor: FileDescriptor, _ operation: StaticString, _ call: SystemCalls.GetAddress
    ) throws(SystemFault) -> SocketAddress {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe call(descriptor.number, $0, &length) }
        }
        try check(operation, result)
        guard let address = SocketAddress(storage) else { throw SystemFault(operation: operation, errno: EAFNOSUPPORT) }
        return address
    }

    private static func withKernelAddress(_ storage: sockaddr_storage, _ body: (UnsafePointer<sockaddr>) -> Int32) -> Int32 {
        unsafe withUnsafePointer(to: storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0) }
        }
    }
}
