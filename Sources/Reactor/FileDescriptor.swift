internal import Glibc

/// The name of an open file or socket: a number with a type, freely copied, that closes nothing by itself.
///
/// Connections live in tables whose elements are copyable, so the table's owner closes a descriptor explicitly and exactly once, by
/// ``SystemCalls/close(_:)``. What has a single owner for life (an epoll instance, an eventfd) is held by an ``OwnedDescriptor`` instead.
package struct FileDescriptor: Hashable, Sendable, CustomStringConvertible {
    package let number: Int32

    @inlinable
    package init(number: Int32) {
        self.number = number
    }

    package var description: String { "fd \(number)" }
}

/// An open descriptor with one owner, closed when the owner goes.
package struct OwnedDescriptor: ~Copyable, Sendable {
    package let descriptor: FileDescriptor

    package init(_ descriptor: FileDescriptor) {
        self.descriptor = descriptor
    }

    deinit {
        // Linux frees the number whatever close answers (EINTR included), so there is nothing to retry or report.
        _ = Glibc.close(descriptor.number)
    }

    /// Gives the descriptor up without closing it: the caller owns it now.
    package consuming func take() -> FileDescriptor {
        let descriptor = descriptor
        discard self
        return descriptor
    }
}
