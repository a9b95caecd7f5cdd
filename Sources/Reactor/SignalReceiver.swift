internal import CLinux
internal import Glibc

/// Signals as readiness events of a loop (signalfd(2)).
///
/// ``block(_:)`` comes first thing in the process, before any thread starts: threads inherit the mask, and one that does not block a signal would
/// take it by its default action.
package struct SignalReceiver: ~Copyable {
    private let owned: OwnedDescriptor

    /// Blocks `signals` in the calling thread and those that it starts, and ignores SIGPIPE for the process.
    package static func block(_ signals: [Int32]) throws(SystemFault) {
        var set = try set(of: signals)
        let fault = unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
        if fault != 0 { throw SystemFault(operation: "pthread_sigmask", errno: fault) }
        signal(SIGPIPE, SIG_IGN)
    }

    /// Receives `signals`, which must be blocked.
    package init(_ signals: [Int32]) throws(SystemFault) {
        var set = try Self.set(of: signals)
        let number = unsafe signalfd(-1, &set, Int32(SFD_NONBLOCK) | Int32(SFD_CLOEXEC))
        try Socket.check("signalfd", number)
        owned = OwnedDescriptor(FileDescriptor(number: number))
    }

    /// To be watched for reading.
    package var descriptor: FileDescriptor { owned.descriptor }

    /// The next signal's number, or `nil` when none waits. Several of the same kind may have become one.
    package func next(calls: SystemCalls) throws(SystemFault) -> Int32? {
        var info = signalfd_siginfo()
        let result = try unsafe withUnsafeMutableBytes(of: &info) { (buffer) throws(SystemFault) in
            try unsafe calls.read(from: descriptor, into: buffer)
        }
        // The kernel hands over whole records only.
        guard case .bytes(MemoryLayout<signalfd_siginfo>.size) = result else { return nil }
        return Int32(bitPattern: info.ssi_signo)
    }

    private static func set(of signals: [Int32]) throws(SystemFault) -> sigset_t {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for signal in signals where unsafe sigaddset(&set, signal) < 0 {
            throw SystemFault(operation: "sigaddset", errno: EINVAL)
        }
        return set
    }
}
