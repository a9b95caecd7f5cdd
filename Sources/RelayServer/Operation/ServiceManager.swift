import Glibc
import Reactor
import RelayBase

/// What a service manager is told (sd_notify(3)): that the relay is ready, ends, reloads, lives. Without `NOTIFY_SOCKET` in the environment nothing is.
struct ServiceManager {
    private let path: [UInt8]?
    /// Half of what the watchdog allows; `nil`: there is none.
    let heartbeatMilliseconds: UInt64?
    private var beatAt = MonotonicInstant.zero
    private var turns: [UInt64] = []

    init(environment: [String: String], process: Int32) {
        path = environment["NOTIFY_SOCKET"].flatMap { $0.hasPrefix("/") || $0.hasPrefix("@") ? Array($0.utf8) : nil }
        // The watchdog may be another process' affair.
        let isOurs = environment["WATCHDOG_PID"].flatMap { Int32($0) }.map { $0 == process } ?? true
        heartbeatMilliseconds = isOurs ? environment["WATCHDOG_USEC"].flatMap { UInt64($0) }.map { max($0 / 2_000, 1) } : nil
    }

    /// One datagram. That nobody reads it is the manager's affair.
    func tell(_ state: String) {
        guard var name = path else { return }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let room = MemoryLayout.size(ofValue: address.sun_path)
        guard name.count < room else { return }
        // A name in the abstract space begins with a zero byte.
        if name.first == UInt8(ascii: "@") { name[0] = 0 }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: name) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + name.count)
        let text = Array(state.utf8)
        unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = unsafe sendto(descriptor, text, text.count, Int32(MSG_NOSIGNAL), $0, length)
            }
        }
    }

    /// Tells the watchdog that the relay lives, if every loop has turned since it was told last.
    ///
    /// - Parameter turns: of each loop, so far.
    mutating func beat(turns now: [UInt64], at instant: MonotonicInstant) {
        guard let heartbeatMilliseconds, instant.milliseconds(since: beatAt) >= heartbeatMilliseconds else { return }
        guard ServiceManager.allHaveTurned(since: turns, now) else { return }
        beatAt = instant
        turns = now
        tell("WATCHDOG=1")
    }

    static func allHaveTurned(since before: [UInt64], _ now: [UInt64]) -> Bool {
        before.count != now.count || zip(before, now).allSatisfy { $0 < $1 }
    }
}

/// Listening sockets that the process was started with (sd_listen_fds(3)): connections wait in them while the relay is started anew.
struct InheritedSockets {
    private static let first: Int32 = 3
    private static let countMax: Int32 = 64

    private let descriptors: [(address: SocketAddress, descriptor: FileDescriptor)]

    init(environment: [String: String], process: Int32, calls: SystemCalls) {
        guard environment["LISTEN_PID"].flatMap({ Int32($0) }) == process, let count = environment["LISTEN_FDS"].flatMap({ Int32($0) }),
            (1...InheritedSockets.countMax).contains(count)
        else {
            descriptors = []
            return
        }
        descriptors = (0..<count).compactMap { place in
            let descriptor = FileDescriptor(number: InheritedSockets.first + place)
            _ = fcntl(descriptor.number, F_SETFD, FD_CLOEXEC)
            let flags = fcntl(descriptor.number, F_GETFL)
            guard flags >= 0, fcntl(descriptor.number, F_SETFL, flags | O_NONBLOCK) == 0 else { return nil }
            return (try? Socket.localAddress(of: descriptor, calls: calls)).map { ($0, descriptor) }
        }
    }

    var addresses: [SocketAddress] { descriptors.map(\.address) }

    /// The socket that listens on an address, once more, for one loop; `nil`: none of those does.
    func descriptor(for address: SocketAddress) throws(SystemFault) -> FileDescriptor? {
        guard let known = descriptors.first(where: { $0.address == address }) else { return nil }
        let copy = fcntl(known.descriptor.number, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw SystemFault(operation: "fcntl", errno: errno) }
        return FileDescriptor(number: copy)
    }
}
