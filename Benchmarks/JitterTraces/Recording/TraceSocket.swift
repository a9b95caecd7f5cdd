import Glibc

/// TCP sockets over IPv4, as the recorder needs them.
enum TraceSocket {
    static func listen(_ address: String, _ port: UInt16) throws(TraceFault) -> Int32 {
        let descriptor = try make()
        var one: Int32 = 1
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, 4)
        var name = try Self.name(address, port)
        let bound = unsafe withUnsafePointer(to: &name) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard bound == 0, Glibc.listen(descriptor, 1) == 0 else { throw TraceFault("listen: errno \(errno)") }
        return descriptor
    }

    static func connect(_ address: String, _ port: UInt16, _ congestionControl: String) throws(TraceFault) -> Int32 {
        let descriptor = try make()
        var one: Int32 = 1
        unsafe setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
        guard unsafe setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_CONGESTION, congestionControl, socklen_t(congestionControl.utf8.count)) == 0
        else {
            throw TraceFault("\(congestionControl): errno \(errno)")
        }
        var name = try Self.name(address, port)
        let connected = unsafe withUnsafePointer(to: &name) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { throw TraceFault("connect: errno \(errno)") }
        return descriptor
    }

    /// Bytes that were written and are not acknowledged (SIOCOUTQ of tcp(7)).
    static func bytesOutstanding(_ descriptor: Int32) -> Int {
        var count: Int32 = 0
        return unsafe ioctl(descriptor, UInt(TIOCOUTQ), &count) == 0 ? Int(count) : 0
    }

    private static func make() throws(TraceFault) -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw TraceFault("socket: errno \(errno)") }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        return descriptor
    }

    private static func name(_ address: String, _ port: UInt16) throws(TraceFault) -> sockaddr_in {
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = port.bigEndian
        guard unsafe inet_pton(AF_INET, address, &name.sin_addr) == 1 else { throw TraceFault("\(address): no address") }
        return name
    }
}
