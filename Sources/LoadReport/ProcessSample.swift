import Glibc

/// Why a process could not be looked at.
package enum ProcessSampleError: Error, Equatable, CustomStringConvertible {
    /// It has ended, or is another user's.
    case unreadable(pid: Int32, file: String)

    package var description: String {
        switch self {
        case .unreadable(let pid, let file): "/proc/\(pid)/\(file) cannot be read: the process has ended, or is another user's"
        }
    }
}

/// What the kernel says of a process at an instant.
package struct ProcessSample: Sendable, Codable, Equatable {
    /// User and system time of all its threads since it started, those that have ended included.
    package var cpuSeconds: Double
    package var rssBytes: Int
    /// Of all threads that are there: those of ended threads are gone with them.
    package var voluntarySwitches: Int
    package var involuntarySwitches: Int
    package var threads: Int

    /// Looks at a process.
    /// - Parameter walksPages: takes the resident size from `smaps_rollup`, which counts pages, in place of `status`, whose counters may be
    ///   some dozens of pages behind. It holds the process's memory map for a millisecond or more, so not while latency is measured.
    package static func of(pid: Int32, walksPages: Bool = false) throws(ProcessSampleError) -> ProcessSample {
        let cpuSeconds = try processorSeconds(of: pid)
        let memory = walksPages ? try text(pid, "smaps_rollup") : try text(pid, "status")
        guard let resident = number(walksPages ? "Rss:" : "VmRSS:", memory) else { throw .unreadable(pid: pid, file: "status") }
        var voluntary = 0
        var involuntary = 0
        let threads = try threads(of: pid)
        for thread in threads {
            // One that has just ended is none.
            guard let status = try? text(pid, "task/\(thread)/status") else { continue }
            voluntary.add(number("voluntary_ctxt_switches:", status) ?? 0)
            involuntary.add(number("nonvoluntary_ctxt_switches:", status) ?? 0)
        }
        return ProcessSample(
            cpuSeconds: cpuSeconds, rssBytes: resident * 1_024, voluntarySwitches: voluntary,
            involuntarySwitches: involuntary, threads: threads.count)
    }

    /// What was used since an earlier look. A clock that went back, which there is none of, would give 0.
    package func since(_ earlier: ProcessSample) -> ProcessSample {
        ProcessSample(
            cpuSeconds: max(0, cpuSeconds - earlier.cpuSeconds), rssBytes: rssBytes - earlier.rssBytes,
            voluntarySwitches: max(0, voluntarySwitches - earlier.voluntarySwitches),
            involuntarySwitches: max(0, involuntarySwitches - earlier.involuntarySwitches), threads: threads)
    }

    /// By the process's own clock, to the nanosecond: `/proc/PID/stat` counts in steps of 10 ms.
    package static func processorSeconds(of pid: Int32) throws(ProcessSampleError) -> Double {
        var clock = clockid_t()
        var time = timespec()
        guard unsafe clock_getcpuclockid(pid, &clock) == 0, unsafe clock_gettime(clock, &time) == 0 else {
            throw .unreadable(pid: pid, file: "stat")
        }
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func threads(of pid: Int32) throws(ProcessSampleError) -> [Int32] {
        guard let folder = unsafe opendir("/proc/\(pid)/task") else { throw .unreadable(pid: pid, file: "task") }
        defer { unsafe closedir(folder) }
        var found: [Int32] = []
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if let thread = Int32(name) { found.append(thread) }
        }
        return found
    }

    /// The number behind a word at the beginning of a line.
    private static func number(_ word: String, _ text: String) -> Int? {
        for line in text.split(separator: "\n") where line.hasPrefix(word) {
            return line.dropFirst(word.count).split(whereSeparator: \.isWhitespace).first.flatMap { Int($0) }
        }
        return nil
    }

    /// Small files of /proc, which have no size to be asked for.
    private static func text(_ pid: Int32, _ file: String) throws(ProcessSampleError) -> String {
        let descriptor = unsafe open("/proc/\(pid)/\(file)", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .unreadable(pid: pid, file: file) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 8 << 10)
        while true {
            let count = unsafe read(descriptor, &chunk, chunk.count)
            guard count >= 0 else { throw .unreadable(pid: pid, file: file) }
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += chunk[..<count]
        }
    }
}
