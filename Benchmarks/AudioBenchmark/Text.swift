import Glibc

/// Numbers and tables for people.
enum Text {
    static func out(_ text: String) {
        print(text)
        fflush(nil)
    }

    /// With so many digits after the point.
    static func fixed(_ value: Double, _ places: Int) -> String {
        var scale = 1.0
        for _ in 0..<places { scale *= 10 }
        let scaled = Int((abs(value) * scale).rounded())
        guard places > 0 else { return String(scaled) }
        let fraction = String(scaled % Int(scale))
        return "\(scaled / Int(scale)).\(String(repeating: "0", count: places - fraction.count))\(fraction)"
    }

    /// A table in Markdown, so that it can go into a document as it stands.
    static func table(_ header: [String], _ rows: [[String]]) -> String {
        func line(_ cells: [String]) -> String { "| " + cells.joined(separator: " | ") + " |" }
        let rule = header.indices.map { $0 == 0 ? "---" : "---:" }
        return ([line(header), line(rule)] + rows.map(line)).joined(separator: "\n")
    }

    static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
    }
}

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
        return UInt64(Text.median(costs))
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
