import CLinux
import Glibc
import Reactor
import RelayBase

/// Two connected sockets of a local pair, non-blocking, closed at the end.
struct SocketPair: ~Copyable {
    let first: FileDescriptor
    let second: FileDescriptor
    private var firstOwned: OwnedDescriptor?
    private var secondOwned: OwnedDescriptor?

    init() throws(SystemFault) {
        var numbers: (Int32, Int32) = (-1, -1)
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let result = unsafe withUnsafeMutableBytes(of: &numbers) { bytes in
            unsafe socketpair(AF_UNIX, kind, 0, bytes.bindMemory(to: Int32.self).baseAddress)
        }
        if result < 0 { throw SystemFault(operation: "socketpair", errno: errno) }
        first = FileDescriptor(number: numbers.0)
        second = FileDescriptor(number: numbers.1)
        firstOwned = OwnedDescriptor(first)
        secondOwned = OwnedDescriptor(second)
    }

    mutating func closeFirst() { firstOwned = nil }
    mutating func closeSecond() { secondOwned = nil }
}

/// Waits until `descriptor` is ready as asked; false after ten seconds, so that a fault fails a test instead of hanging it.
func waitUntilReady(_ descriptor: FileDescriptor, _ events: Int32) -> Bool {
    var poller = pollfd(fd: descriptor.number, events: Int16(events), revents: 0)
    return unsafe poll(&poller, 1, 10_000) == 1
}

func waitUntilReadable(_ descriptor: FileDescriptor) -> Bool { waitUntilReady(descriptor, POLLIN) }
func waitUntilWritable(_ descriptor: FileDescriptor) -> Bool { waitUntilReady(descriptor, POLLOUT) }

func isOpen(_ descriptor: FileDescriptor) -> Bool { fcntl(descriptor.number, F_GETFD) >= 0 }

extension SystemCalls {
    func send(to descriptor: FileDescriptor, _ bytes: [UInt8]) throws(SystemFault) -> IOResult {
        try unsafe send(to: descriptor, bytes.span.bytes)
    }

    /// Reads once, at most `count` bytes; `nil` when it would block, empty at the end of the stream.
    func receive(from descriptor: FileDescriptor, count: Int) throws(SystemFault) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var span = bytes.mutableSpan
        var room = unsafe span.mutableBytes
        switch try receive(from: descriptor, into: &room) {
        case .bytes(let count): return Array(bytes[..<count])
        case .wouldBlock: return nil
        case .endOfStream: return []
        }
    }
}

extension MonotonicInstant {
    static func milliseconds(_ count: UInt64) -> MonotonicInstant { zero.advanced(byMilliseconds: count) }
}
