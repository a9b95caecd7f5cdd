internal import CLinux
internal import Glibc
package import RelayBase

/// A listening socket with its accept policy: so many connections a turn, and no spinning when descriptors run out.
///
/// At the limit of descriptors `accept` fails and the connection stays in the queue, so that a level-triggered loop would be woken for ever by
/// something that it cannot do. The listener therefore keeps one descriptor in reserve: it closes that, accepts the connection into its place,
/// closes it at once (the client sees an end instead of silence), and takes the reserve back. Where another thread was faster and it cannot, it
/// pauses.
package struct Listener: ~Copyable {
    package enum Outcome: Equatable, Sendable {
        /// A connection, non-blocking and closed on exec. The caller owns it.
        case accepted(FileDescriptor, SocketAddress)
        /// A connection was turned away for want of a descriptor. To be counted; go on.
        case refusedOutOfDescriptors
        /// No connection waits: wait for readiness.
        case drained
        /// This turn's share is used up; more may wait. Level-triggered, the next wait tells.
        case turnOver
        /// No descriptor and no reserve, or no memory: stop watching the listener until then.
        case pause(until: MonotonicInstant)
    }

    package static let pauseMilliseconds: UInt64 = 100

    private let calls: SystemCalls
    private let acceptsPerTurnMax: Int
    package let descriptor: FileDescriptor
    private var reserve: FileDescriptor?
    private var attemptsLeft: Int

    /// - Parameters:
    ///   - descriptor: a listening socket, which the listener owns from now on, also when this throws.
    ///   - acceptsPerTurnMax: calls of `accept` in one turn.
    /// - Throws: when the reserve cannot be opened.
    package init(_ descriptor: FileDescriptor, acceptsPerTurnMax: Int = 64, calls: SystemCalls) throws(SystemFault) {
        precondition(acceptsPerTurnMax > 0, "a turn accepts at least once")
        let number = Self.openNull(calls)
        if number < 0 {
            let code = errno
            calls.close(descriptor)
            throw SystemFault(operation: "open", errno: code)
        }
        self.calls = calls
        self.acceptsPerTurnMax = acceptsPerTurnMax
        self.descriptor = descriptor
        attemptsLeft = acceptsPerTurnMax
        reserve = FileDescriptor(number: number)
    }

    deinit {
        calls.close(descriptor)
        if let reserve { calls.close(reserve) }
    }

    /// Begins a turn of the loop, with a fresh share of accepts.
    package mutating func beginTurn() {
        attemptsLeft = acceptsPerTurnMax
    }

    /// Accepts the next connection of this turn.
    ///
    /// - Throws: a fault of the listener itself (`EBADF`, `EINVAL`), after which it is of no use.
    package mutating func next(now: MonotonicInstant) throws(SystemFault) -> Outcome {
        while attemptsLeft > 0 {
            attemptsLeft -= 1
            switch accept() {
            case .success(let connection, let address): return .accepted(connection, address)
            case .failure(EAGAIN): return .drained
            case .failure(let code) where Self.concernsConnectionOnly(code): continue
            case .failure(EMFILE), .failure(ENFILE): return try refuse(now: now)
            case .failure(ENOBUFS), .failure(ENOMEM): return pause(now)
            case .failure(let code): throw SystemFault(operation: "accept4", errno: code)
            }
        }
        return .turnOver
    }

    /// Turns one connection away in the reserve's place.
    private mutating func refuse(now: MonotonicInstant) throws(SystemFault) -> Outcome {
        // Perhaps some descriptor has become free since the reserve was lost.
        guard let place = reserve ?? Self.openReserve(calls) else { return pause(now) }
        calls.close(place)
        reserve = nil
        let result = accept()
        if case .success(let connection, _) = result { calls.close(connection) }
        reserve = Self.openReserve(calls)
        switch result {
        case .success: return .refusedOutOfDescriptors
        case .failure(EAGAIN): return .drained
        case .failure(EMFILE), .failure(ENFILE), .failure(ENOBUFS), .failure(ENOMEM): return pause(now)
        case .failure(let code) where Self.concernsConnectionOnly(code): return .refusedOutOfDescriptors
        case .failure(let code): throw SystemFault(operation: "accept4", errno: code)
        }
    }

    private enum Accepted {
        case success(FileDescriptor, SocketAddress)
        case failure(Int32)
    }

    private func accept() -> Accepted {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let number = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe calls.accept4(descriptor.number, $0, &length, Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue))
            }
        }
        if number < 0 { return .failure(errno) }
        // A client that has vanished already, and a listener on a Unix socket, leave no address.
        return .success(FileDescriptor(number: number), SocketAddress(storage) ?? SocketAddress(high: 0, low: 0, port: 0))
    }

    /// Linux passes faults of the new connection on through accept, "to be treated like EAGAIN by retrying" (accept(2)).
    private static func concernsConnectionOnly(_ code: Int32) -> Bool {
        switch code {
        case ECONNABORTED, EINTR, EPERM, EPROTO, ENOPROTOOPT, ENETDOWN, ENETUNREACH, EHOSTDOWN, EHOSTUNREACH, ENONET, EOPNOTSUPP, ETIMEDOUT: true
        default: false
        }
    }

    private func pause(_ now: MonotonicInstant) -> Outcome {
        .pause(until: now.advanced(byMilliseconds: Self.pauseMilliseconds))
    }

    private static func openReserve(_ calls: SystemCalls) -> FileDescriptor? {
        let number = openNull(calls)
        return number < 0 ? nil : FileDescriptor(number: number)
    }

    private static func openNull(_ calls: SystemCalls) -> Int32 {
        unsafe calls.open("/dev/null", O_RDONLY | O_CLOEXEC)
    }
}
