import BenchmarkSupport
import Glibc

/// Nanoseconds of this thread's processor time: what others do on the machine is not counted.
enum Stopwatch {
    static func now() -> UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// What asking costs, a system call: to be taken off what is measured by itself.
    static let overhead: UInt64 = {
        let costs = (0..<1_000).map { _ in
            let start = now()
            return Double(now() - start)
        }
        return UInt64(Samples.median(costs))
    }()

    static func since(_ start: UInt64) -> UInt64 {
        let passed = now() - start
        return passed > overhead ? passed - overhead : 0
    }

    static func measure(_ work: () throws -> Void) rethrows -> Double {
        let start = now()
        try work()
        return Double(now() - start)
    }
}
