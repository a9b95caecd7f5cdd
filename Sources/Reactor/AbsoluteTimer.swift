internal import CLinux
internal import Glibc
package import RelayBase

/// A timer of the kernel's (timerfd(2)) on the clock of ``MonotonicClock``, set to an instant: a wait that lasts longer than it should does not move what comes next.
package final class AbsoluteTimer: Sendable {
    private let owned: OwnedDescriptor

    package init() throws(SystemFault) {
        let number = timerfd_create(__clockid_t(CLOCK_MONOTONIC), Int32(TFD_NONBLOCK) | Int32(TFD_CLOEXEC))
        try Socket.check("timerfd_create", number)
        owned = OwnedDescriptor(FileDescriptor(number: number))
    }

    /// To be watched for reading; readable from the instant on.
    package var descriptor: FileDescriptor { owned.descriptor }

    /// - Parameter instant: at once when it is past; `nil`: never.
    package func set(to instant: MonotonicInstant?) {
        var setting = itimerspec()
        if let instant {
            // A value of zero would disarm it.
            let nanoseconds = max(instant.nanoseconds, 1)
            setting.it_value.tv_sec = Int(clamping: nanoseconds / 1_000_000_000)
            setting.it_value.tv_nsec = Int(nanoseconds % 1_000_000_000)
        }
        let result = unsafe timerfd_settime(descriptor.number, Int32(TFD_TIMER_ABSTIME), &setting, nil)
        precondition(result == 0, "a whole time is set on an open timer")
    }

    /// By the thread that waits for it, before it looks at what is due.
    package func reset() {
        var count: UInt64 = 0
        while unsafe read(descriptor.number, &count, 8) < 0, errno == EINTR {}
    }
}
