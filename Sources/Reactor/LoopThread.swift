internal import CLinux
internal import Glibc

/// A thread for an event loop or a worker: named, optionally pinned to a processor, to be joined.
package final class LoopThread {
    private let thread: pthread_t
    private var isJoined = false

    /// Starts a thread that runs `body` and ends with it.
    ///
    /// - Parameters:
    ///   - name: as debuggers and `top` show it; the kernel keeps 15 bytes.
    ///   - cpu: the processor to stay on, from 0; `nil` leaves the choice to the kernel.
    ///   - stackBytes: 0 for the system's default (8 MiB of address space as a rule).
    /// - Throws: `EAGAIN` at a limit of threads, `EINVAL` for a processor or a stack that cannot be.
    package init(name: String, cpu: Int? = nil, stackBytes: Int = 0, body: @escaping @Sendable () -> Void) throws(SystemFault) {
        let start = unsafe Unmanaged.passRetained(ThreadStart(name: name, body: body))
        var thread = pthread_t()
        let fault = unsafe clinux_thread_create(&thread, stackBytes, Int32(clamping: cpu ?? -1), runThread, start.toOpaque())
        guard fault == 0 else {
            unsafe start.release()
            throw SystemFault(operation: "pthread_create", errno: fault)
        }
        self.thread = thread
    }

    deinit {
        if !isJoined { pthread_detach(thread) }
    }

    /// Waits until the thread has ended; once.
    package func join() {
        precondition(!isJoined, "a thread is joined once")
        let fault = pthread_join(thread, nil)
        precondition(fault == 0, "a thread does not join itself")
        isJoined = true
    }

    /// The calling thread's name.
    package static var currentName: String {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16) { buffer in
            guard let start = buffer.baseAddress, unsafe clinux_thread_get_name(start, buffer.count) == 0 else { return "" }
            return unsafe String(cString: start)
        }
    }
}

private final class ThreadStart {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }
}

private func runThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument = unsafe argument else { return nil }
    let start = unsafe Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue()
    unsafe clinux_thread_set_name(start.name)
    start.body()
    return nil
}
