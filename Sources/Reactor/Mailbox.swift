internal import CLinux
internal import Glibc
internal import Synchronization

/// A bounded queue of messages from any number of threads to one loop.
///
/// For control, not for media: a post takes a lock for some tens of nanoseconds, and the loop takes all that is there at once by swapping two arrays,
/// so it never holds the lock while it works. Only the post that finds the box empty wakes the loop.
///
/// The lock is a pthread mutex because ThreadSanitizer does not understand `Synchronization.Mutex`.
@safe
package final class Mailbox<Message: Sendable>: @unchecked Sendable {  // Safe: `inbox` is only touched under the lock.
    package enum PostResult: Equatable, Sendable {
        case posted
        /// The box holds `capacity` messages; this one was not taken.
        case full
    }

    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    @usableFromInline var inbox: [Message] = []
    /// Something may be in the box: set before the loop is woken, so that a loop that takes nothing does not lock.
    private let hasMail = Atomic<Bool>(false)
    @usableFromInline let wake: EventFD
    package let capacity: Int

    /// - Parameters:
    ///   - capacity: messages held at most.
    ///   - wake: what wakes the receiving loop; it may be shared.
    package init(capacity: Int, wake: EventFD) {
        precondition(capacity > 0, "a mailbox needs room for one message")
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        let result = unsafe pthread_mutex_init(mutex, nil)
        precondition(result == 0, "a plain mutex needs nothing that could lack")
        self.capacity = capacity
        self.wake = wake
        inbox.reserveCapacity(min(capacity, 64))
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    // Not inlinable themselves, so that no importer sees the C library through the box.
    @usableFromInline
    func lock() {
        unsafe pthread_mutex_lock(mutex)
    }

    @usableFromInline
    func unlock() {
        unsafe pthread_mutex_unlock(mutex)
    }

    /// Under the lock.
    @usableFromInline
    func noteMail(_ isThere: Bool) {
        hasMail.store(isThere, ordering: .releasing)
    }

    @usableFromInline var mayHaveMail: Bool { hasMail.load(ordering: .acquiring) }

    /// From any thread.
    @inlinable
    package func post(_ message: Message) -> PostResult {
        lock()
        let count = inbox.count
        if count < capacity { inbox.append(message) }
        noteMail(true)
        unlock()
        guard count < capacity else { return .full }
        if count == 0 { wake.signal() }
        return .posted
    }

    /// Replaces the contents of `messages` by all that has been posted, oldest first; its memory becomes the box's, so in steady use nothing is
    /// allocated. By the receiving loop, after it has reset the wake-up.
    @inlinable
    package func drain(into messages: inout [Message]) {
        messages.removeAll(keepingCapacity: true)
        guard mayHaveMail else { return }
        lock()
        swap(&inbox, &messages)
        noteMail(false)
        unlock()
    }
}
