internal import Glibc

/// A value behind a pthread mutex, for what is touched rarely: handshakes, the accept path, metrics, reloads.
///
/// Not `Synchronization.Mutex`: ThreadSanitizer does not see its hand-over and reports races that are none.
@safe
package final class Locked<Value>: @unchecked Sendable {  // Safe: `value` is only touched under the mutex.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var value: Value

    package init(_ value: sending Value) {
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
        self.value = value
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    package func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return body(&value)
    }
}
