internal import CLinux
internal import Glibc
package import RelayBase

/// What a descriptor is watched for.
package struct Interest: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32
    @inlinable package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// EPOLLIN and EPOLLRDHUP, EPOLLOUT, EPOLLET. Errors and hang-ups are always told.
    package static let read = Interest(rawValue: 0x1 | 0x2000)
    package static let write = Interest(rawValue: 0x4)
    /// Told once per change instead of as long as it holds.
    package static let edgeTriggered = Interest(rawValue: 1 << 31)
}

/// What a descriptor is ready for.
package struct Readiness: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32
    @inlinable package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let readable = Readiness(rawValue: 0x1)
    package static let writable = Readiness(rawValue: 0x4)
    /// A pending error: ``Socket/pendingFault(of:calls:)`` tells which.
    package static let error = Readiness(rawValue: 0x8)
    /// Both directions are finished.
    package static let hangup = Readiness(rawValue: 0x10)
    /// The peer has finished sending; there may still be bytes to read.
    package static let readHangup = Readiness(rawValue: 0x2000)

    /// There is something to be had by reading: bytes, the end, or a fault. A set literal in its place, in another module, would allocate an array.
    package var promisesRead: Bool { rawValue & (0x1 | 0x8 | 0x10 | 0x2000) != 0 }
    /// The same for writing: room, or a fault.
    package var promisesWrite: Bool { rawValue & (0x4 | 0x8 | 0x10) != 0 }
    /// A fault, or both directions are finished: told whatever is watched for.
    package var isOver: Bool { rawValue & (0x8 | 0x10) != 0 }
}

/// An epoll instance with its buffer of events.
///
/// A loop waits, then pulls the events by index, which leaves it free to add and remove descriptors meanwhile. An event may name a connection that
/// an earlier event of the same batch closed: tokens should be generation-checked (``RelayBase/Handle/packed``), and a stale one ignored.
@safe
package struct Selector: ~Copyable {
    package struct Event: Equatable, Sendable {
        package let token: UInt64
        package let readiness: Readiness

        package init(token: UInt64, readiness: Readiness) {
            self.token = token
            self.readiness = readiness
        }
    }

    private let calls: SystemCalls
    private let epoll: OwnedDescriptor
    private let events: UnsafeMutableBufferPointer<epoll_event>
    /// How many events the last ``wait(timeoutMilliseconds:)`` gave.
    package private(set) var eventCount = 0

    /// - Parameter eventsMax: events taken per wait; more stay in the kernel for the next.
    package init(eventsMax: Int = 512, calls: SystemCalls) throws(SystemFault) {
        precondition(eventsMax > 0 && eventsMax <= 1 << 20, "a wait takes at least one event")
        let number = calls.epollCreate(Int32(EPOLL_CLOEXEC))
        try Socket.check("epoll_create1", number)
        self.calls = calls
        epoll = OwnedDescriptor(FileDescriptor(number: number))
        unsafe events = .allocate(capacity: eventsMax)
        unsafe events.initialize(repeating: epoll_event())
    }

    deinit {
        unsafe events.deallocate()
    }

    /// Watches `descriptor`; its events carry `token`.
    ///
    /// - Throws: `ENOSPC` at the user's limit of watches, `EEXIST` when it is watched already.
    package func add(_ descriptor: FileDescriptor, token: UInt64, interest: Interest) throws(SystemFault) {
        try control(EPOLL_CTL_ADD, descriptor, token, interest)
    }

    /// Replaces token and interest. An edge-triggered descriptor that is ready is told again.
    package func modify(_ descriptor: FileDescriptor, token: UInt64, interest: Interest) throws(SystemFault) {
        try control(EPOLL_CTL_MOD, descriptor, token, interest)
    }

    /// Stops watching. Closing a descriptor does it as well, unless a duplicate of it is open.
    package func remove(_ descriptor: FileDescriptor) throws(SystemFault) {
        try control(EPOLL_CTL_DEL, descriptor, 0, [])
    }

    /// Waits for events and answers how many there are.
    ///
    /// - Parameter timeoutMilliseconds: 0 only looks, negative waits for ever. An interrupted wait ends early with 0 events: the caller's loop works out
    ///   its timeout afresh anyway.
    package mutating func wait(timeoutMilliseconds: Int32) throws(SystemFault) -> Int {
        try took(unsafe calls.epollWait(epoll.descriptor.number, events.baseAddress, Int32(events.count), timeoutMilliseconds))
    }

    /// The same with a timeout that is too short to be told in milliseconds.
    ///
    /// - Parameter timeoutNanoseconds: 0 only looks. On a kernel without epoll_pwait2 (before 5.11) it is rounded up to milliseconds.
    package mutating func wait(timeoutNanoseconds: UInt64) throws(SystemFault) -> Int {
        let timeout = Int64(clamping: min(timeoutNanoseconds, Selector.nanosecondsMax))
        return try took(unsafe calls.epollWaitNanoseconds(epoll.descriptor.number, events.baseAddress, Int32(events.count), timeout))
    }

    private static let nanosecondsMax: UInt64 = 3_600_000_000_000

    private mutating func took(_ count: Int32) throws(SystemFault) -> Int {
        if count < 0 {
            let code = errno
            eventCount = 0
            if code == EINTR { return 0 }
            throw SystemFault(operation: "epoll_wait", errno: code)
        }
        eventCount = unsafe min(Int(count), events.count)
        return eventCount
    }

    /// The event at `index` of the last wait.
    package func event(at index: Int) -> Event {
        precondition(index >= 0 && index < eventCount, "an event of the last wait")
        return unsafe Event(token: events[index].data.u64, readiness: Readiness(rawValue: events[index].events))
    }

    /// The timeout that wakes a wait at `deadline`, rounded up so that it never wakes before: −1 without a deadline, 0 when it is past.
    package static func timeoutMilliseconds(until deadline: MonotonicInstant?, now: MonotonicInstant) -> Int32 {
        guard let deadline, deadline != .distantFuture else { return -1 }
        let left = deadline.nanoseconds(since: now)
        let (milliseconds, rest) = left.quotientAndRemainder(dividingBy: 1_000_000)
        return Int32(clamping: milliseconds + (rest > 0 ? 1 : 0))
    }

    private func control(_ operation: Int32, _ descriptor: FileDescriptor, _ token: UInt64, _ interest: Interest) throws(SystemFault) {
        var event = unsafe epoll_event()
        unsafe event.events = interest.rawValue
        unsafe event.data.u64 = token
        try Socket.check("epoll_ctl", unsafe calls.epollControl(epoll.descriptor.number, operation, descriptor.number, &event))
    }
}
