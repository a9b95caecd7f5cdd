internal import CLinux
internal import Glibc

/// A system call that failed: which one, and the errno that it left.
package struct SystemFault: Error, Sendable, CustomStringConvertible {
    /// The call's name as its manual page has it (`"accept4"`).
    package let operation: StaticString
    package let errno: Int32

    package init(operation: StaticString, errno: Int32) {
        self.operation = operation
        self.errno = errno
    }

    /// The peer or the network ended the connection: an everyday event that costs this connection only and is not worth a log line.
    package var isConnectionLost: Bool {
        switch errno {
        case ECONNRESET, EPIPE, ETIMEDOUT, ENOTCONN, ECONNABORTED, EHOSTUNREACH, ENETUNREACH, ENETDOWN, EHOSTDOWN: true
        default: false
        }
    }

    /// The process or the machine has no descriptor left.
    package var isOutOfDescriptors: Bool { errno == EMFILE || errno == ENFILE }

    package var description: String {
        guard let text = unsafe clinux_errno_text(errno) else { return "\(operation): errno \(errno)" }
        return unsafe "\(operation): \(String(cString: text)) (errno \(errno))"
    }
}

extension SystemFault: Equatable {
    package static func == (left: SystemFault, right: SystemFault) -> Bool {
        left.errno == right.errno && left.operation.description == right.operation.description
    }
}

/// What a non-blocking read or write did.
package enum IOResult: Equatable, Sendable {
    /// So many bytes were moved, at least one; fewer than asked is no fault.
    case bytes(Int)
    /// Nothing can be moved now: wait for readiness.
    case wouldBlock
    /// The peer has finished sending (reads only).
    case endOfStream
}
