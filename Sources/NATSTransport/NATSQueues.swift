internal import Glibc
internal import Reactor

/// What goes from one thread to another, bounded by bytes: the taker sleeps on a condition.
@safe
final class WorkQueue<Item: Sendable>: @unchecked Sendable {  // Safe: all is touched under the mutex only.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var items: [Item] = []
    private var bytes = 0
    private var isClosed = false
    private let bytesMax: Int

    init(bytesMax: Int) {
        self.bytesMax = bytesMax
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
        unsafe condition = .allocate(capacity: 1)
        unsafe condition.initialize(to: pthread_cond_t())
        unsafe pthread_cond_init(condition, nil)
    }

    deinit {
        unsafe pthread_cond_destroy(condition)
        unsafe pthread_mutex_destroy(mutex)
        unsafe condition.deallocate()
        unsafe mutex.deallocate()
    }

    /// - Returns: false when more waits than may, and this was not taken.
    func post(_ item: Item, byteCount: Int) -> Bool {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        guard !isClosed, bytes + byteCount <= bytesMax else { return false }
        items.append(item)
        bytes += byteCount
        if items.count == 1 { unsafe pthread_cond_signal(condition) }
        return true
    }

    /// Waits for items and takes all of them; empty at the end.
    func takeAll() -> [Item] {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while items.isEmpty, !isClosed { unsafe pthread_cond_wait(condition, mutex) }
        bytes = 0
        defer { items = [] }
        return items
    }

    func close() {
        unsafe pthread_mutex_lock(mutex)
        isClosed = true
        unsafe pthread_cond_broadcast(condition)
        unsafe pthread_mutex_unlock(mutex)
    }
}

/// What has come from NATS' threads for the one that reads it.
final class EventQueue: Sendable {
    private struct State: Sendable {
        var events: [NATSEvent] = []
        var bytes = 0
        var dropped = 0
    }

    private let state = Locked(State())
    private let wake: EventFD
    private let bytesMax: Int

    init(wake: EventFD, bytesMax: Int) {
        self.wake = wake
        self.bytesMax = bytesMax
    }

    /// Messages beyond the bound are dropped and counted; everything else is rare, and kept.
    func post(_ event: NATSEvent, droppableBytes: Int = 0) {
        state.withLock { state in
            guard droppableBytes == 0 || state.bytes + droppableBytes <= bytesMax else {
                state.dropped += 1
                return
            }
            state.bytes += droppableBytes
            state.events.append(event)
        }
        wake.signal()
    }

    func take(into events: inout [NATSEvent]) {
        state.withLock { state in
            if state.dropped > 0 { events.append(.overflowed(count: state.dropped)) }
            events += state.events
            state = State()
        }
    }
}
