internal import CLinux
internal import Glibc
package import RelayBase

/// The machine's monotonic clock. A loop reads it once a batch and passes the instant on.
package enum MonotonicClock {
    package static func now() -> MonotonicInstant {
        var time = timespec()
        let result = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        precondition(result == 0, "CLOCK_MONOTONIC is there on every Linux")
        return MonotonicInstant(nanoseconds: UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec))
    }

    /// Stops the calling thread for so long, or until a signal comes; a second at most.
    package static func sleep(nanoseconds: UInt64) {
        var time = timespec(tv_sec: 0, tv_nsec: Int(min(nanoseconds, 999_999_999)))
        _ = unsafe nanosleep(&time, nil)
    }
}

/// The machine's clock of the day, for logs and certificates; it can jump, so nothing is timed by it.
package enum WallClock {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    package static func now() -> UInt64 {
        var time = timespec()
        let result = unsafe clock_gettime(CLOCK_REALTIME, &time)
        precondition(result == 0, "CLOCK_REALTIME is there on every Linux")
        // A clock set before 1970 is a wrong clock, but no reason to stop.
        guard time.tv_sec >= 0 else { return 0 }
        return UInt64(time.tv_sec) &* 1_000 &+ UInt64(time.tv_nsec) / 1_000_000
    }
}

/// Processor time used so far (getrusage(2)).
package struct CPUUsage: Equatable, Sendable {
    package var userNanoseconds: UInt64
    package var systemNanoseconds: UInt64
    package var voluntarySwitches: UInt64
    package var involuntarySwitches: UInt64

    package var totalNanoseconds: UInt64 { userNanoseconds &+ systemNanoseconds }

    /// Of the whole process, ended threads included.
    package static func ofProcess() -> CPUUsage {
        var usage = rusage()
        let result = unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        precondition(result == 0, "getrusage of oneself cannot fail")
        return CPUUsage(usage)
    }

    /// Of the calling thread.
    package static func ofThread() -> CPUUsage {
        var usage = rusage()
        let result = unsafe clinux_thread_usage(&usage)
        precondition(result == 0, "getrusage of oneself cannot fail")
        return CPUUsage(usage)
    }

    private init(_ usage: rusage) {
        userNanoseconds = Self.nanoseconds(usage.ru_utime)
        systemNanoseconds = Self.nanoseconds(usage.ru_stime)
        voluntarySwitches = UInt64(clamping: usage.ru_nvcsw)
        involuntarySwitches = UInt64(clamping: usage.ru_nivcsw)
    }

    private static func nanoseconds(_ time: timeval) -> UInt64 {
        UInt64(clamping: time.tv_sec) &* 1_000_000_000 &+ UInt64(clamping: time.tv_usec) &* 1_000
    }
}

/// Memory of the process (/proc/self/statm).
package struct MemoryUsage: Equatable, Sendable {
    package var residentBytes: UInt64
    package var virtualBytes: UInt64

    package static func ofProcess(calls: SystemCalls) throws(SystemFault) -> MemoryUsage {
        let number = unsafe calls.open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        try Socket.check("open", number)
        let file = OwnedDescriptor(FileDescriptor(number: number))
        var text = [UInt8](repeating: 0, count: 256)
        var span = text.mutableSpan
        var bytes = unsafe span.mutableBytes
        let result = try unsafe bytes.withUnsafeMutableBytes { (buffer) throws(SystemFault) in
            try unsafe calls.read(from: file.descriptor, into: buffer)
        }
        guard case .bytes(let count) = result, let usage = parse(text[..<count], pageBytes: UInt64(clamping: sysconf(Int32(_SC_PAGESIZE)))) else {
            throw SystemFault(operation: "read", errno: EIO)
        }
        return usage
    }

    /// The first two numbers of statm: total and resident pages (proc(5)). `nil` when they are not there.
    static func parse(_ text: ArraySlice<UInt8>, pageBytes: UInt64) -> MemoryUsage? {
        let numbers = text.split(whereSeparator: { $0 == 0x20 || $0 == 0x0A }).prefix(2).map { UInt64(String(decoding: $0, as: UTF8.self)) }
        guard numbers.count == 2, let total = numbers[0], let resident = numbers[1] else { return nil }
        return MemoryUsage(residentBytes: resident.multipliedSaturating(by: pageBytes), virtualBytes: total.multipliedSaturating(by: pageBytes))
    }
}

extension UInt64 {
    fileprivate func multipliedSaturating(by factor: UInt64) -> UInt64 {
        let (product, overflow) = multipliedReportingOverflow(by: factor)
        return overflow ? .max : product
    }
}
