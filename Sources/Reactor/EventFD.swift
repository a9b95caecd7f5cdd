internal import CLinux
internal import Glibc

/// Wakes a loop from another thread (eventfd(2)): any number of ``signal()``s until the loop's ``reset()`` make one readiness event.
///
/// One per loop is enough: its mailbox and all rings that feed it share it.
package final class EventFD: Sendable {
    private let owned: OwnedDescriptor

    package init() throws(SystemFault) {
        let number = eventfd(0, Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC))
        try Socket.check("eventfd", number)
        owned = OwnedDescriptor(FileDescriptor(number: number))
    }

    /// To be watched for reading.
    package var descriptor: FileDescriptor { owned.descriptor }

    /// From any thread.
    package func signal() {
        var one: UInt64 = 1
        while unsafe write(descriptor.number, &one, 8) < 0, errno == EINTR {}
        // EAGAIN means that the counter is at its end, so the loop is being woken already; nothing else can happen to an open eventfd.
    }

    /// By the loop, *before* it looks at what the wake-up was for: what is posted later signals again.
    package func reset() {
        var count: UInt64 = 0
        while unsafe read(descriptor.number, &count, 8) < 0, errno == EINTR {}
    }
}
