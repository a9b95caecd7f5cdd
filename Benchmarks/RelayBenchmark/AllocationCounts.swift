import Glibc

/// The shared-memory file in which the preloaded counter counts; `allocation_counter.h` has its layout.
@safe
final class AllocationCounts {
    private static let magic: UInt64 = 0x5345_4755
    private static let fields = 9
    private static let sitesMax = 512
    private static let framesMax = 24
    private static let siteWords = 3 + framesMax + 1
    private static let byteCount = (fields + sitesMax * siteWords) * 8

    private let words: UnsafeMutablePointer<UInt64>

    /// What was counted at one moment.
    struct Snapshot {
        /// Calls of malloc, calloc, realloc and the aligned ones.
        var allocations: UInt64
        var frees: UInt64
        var bytes: UInt64

        static func - (later: Snapshot, earlier: Snapshot) -> Snapshot {
            Snapshot(allocations: later.allocations - earlier.allocations, frees: later.frees - earlier.frees, bytes: later.bytes - earlier.bytes)
        }
    }

    /// One place that allocates.
    struct Site {
        var count: UInt64
        var bytes: UInt64
        /// Return addresses, innermost first.
        var frames: [UInt64]
    }

    /// Makes the file before the relay starts.
    static func prepare(_ path: String) throws(BenchmarkFault) {
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw BenchmarkFault("\(path): errno \(errno)") }
        defer { close(descriptor) }
        guard ftruncate(descriptor, byteCount) == 0 else { throw BenchmarkFault("\(path): errno \(errno)") }
    }

    init(_ path: String) throws(BenchmarkFault) {
        let descriptor = unsafe open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw BenchmarkFault("\(path): errno \(errno)") }
        defer { close(descriptor) }
        guard let memory = unsafe mmap(nil, Self.byteCount, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), unsafe memory != MAP_FAILED else {
            throw BenchmarkFault("\(path): errno \(errno)")
        }
        unsafe words = unsafe memory.bindMemory(to: UInt64.self, capacity: Self.byteCount / 8)
        guard unsafe words[0] == Self.magic else { throw BenchmarkFault("the allocation counter was not preloaded") }
    }

    deinit {
        unsafe munmap(words, Self.byteCount)
    }

    /// The counts now. The relay is quiet when this is asked, so no field is torn from another.
    var snapshot: Snapshot {
        let allocations = unsafe words[1] &+ words[2] &+ words[3] &+ words[4]
        return unsafe Snapshot(allocations: allocations, frees: words[5], bytes: words[6])
    }

    /// Whether call sites are noted; costs time, so it has a window of its own.
    func setTracing(_ isTracing: Bool) {
        unsafe words[7] = isTracing ? 1 : 0
    }

    /// The noted call sites, most frequent first.
    var sites: [Site] {
        var found: [Site] = []
        for place in 0..<Self.sitesMax {
            let site = unsafe words + Self.fields + place * Self.siteWords
            guard unsafe site[0] != 0, unsafe site[Self.siteWords - 1] == 1 else { continue }
            var frames: [UInt64] = []
            for frame in 0..<Self.framesMax {
                let address = unsafe site[3 + frame]
                if address == 0 { break }
                frames.append(address)
            }
            found.append(unsafe Site(count: site[1], bytes: site[2], frames: frames))
        }
        return found.sorted { $0.count > $1.count }
    }
}

/// Names for addresses of another process, by its memory map and `llvm-symbolizer` or `addr2line`.
struct Symbols {
    private struct Module {
        let range: Range<UInt64>
        let fileOffset: UInt64
        let path: String
    }

    private let modules: [Module]

    /// - Parameter pid: a process that still runs.
    init(of pid: Int32) {
        modules = ProcessFile.text("/proc/\(pid)/maps").split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
            guard fields.count == 6, fields[1].contains("x") else { return nil }
            let bounds = fields[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
            guard bounds.count == 2, let offset = UInt64(fields[2], radix: 16) else { return nil }
            let path = String(fields[5].drop { $0 == " " })
            return Module(range: bounds[0]..<bounds[1], fileOffset: offset, path: path)
        }
    }

    /// One line per address: function, file and line, inlined callers included, as far as debug information has them.
    func names(_ addresses: [UInt64]) -> [String] {
        addresses.flatMap { address -> [String] in
            guard let module = modules.first(where: { $0.range.contains(address) }), module.path.hasPrefix("/") else { return ["?"] }
            // The return address is one past the call.
            let offset = address - 1 - module.range.lowerBound + module.fileOffset
            return Symbols.look(module.path, offset)
        }
    }

    private static func look(_ path: String, _ offset: UInt64) -> [String] {
        // The first executable segment is mapped at its file offset plus a page-aligned difference; tools want the virtual address, which linkers
        // keep equal to the file offset plus that difference. Symbolizing by file offset is what `--relative-address` cannot do, so the difference
        // is read from the program headers.
        let address = offset + ExecutableSegment.difference(path, offset)
        let command =
            "(llvm-symbolizer --obj='\(path)' 0x\(String(address, radix: 16)) || addr2line -f -i -e '\(path)' 0x\(String(address, radix: 16))) 2>/dev/null | (swift demangle --simplified 2>/dev/null || cat)"
        guard let stream = unsafe popen(command, "r") else { return ["?"] }
        defer { unsafe pclose(stream) }
        var lines: [String] = []
        var buffer = [CChar](repeating: 0, count: 4_096)
        while let line = unsafe fgets(&buffer, Int32(buffer.count), stream) {
            let text = unsafe String(cString: line)
            if !text.allSatisfy(\.isWhitespace) { lines.append(text.filter { $0 != "\n" }) }
        }
        return stride(from: 0, to: lines.count - 1, by: 2).map { "\(lines[$0])  \(shortened(lines[$0 + 1]))" }
    }

    private static func shortened(_ place: String) -> String {
        place.firstRange(of: "/Sources/").map { "Sources/" + place[$0.upperBound...] } ?? place
    }
}

/// Where an ELF file's executable segment lies in the file and in memory.
enum ExecutableSegment {
    /// Virtual address minus file offset of the executable segment that holds `offset`.
    static func difference(_ path: String, _ offset: UInt64) -> UInt64 {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return 0 }
        defer { close(descriptor) }
        var head = [UInt8](repeating: 0, count: 4_096)
        guard unsafe read(descriptor, &head, head.count) == head.count else { return 0 }
        func number(_ at: Int, _ bytes: Int) -> UInt64 {
            guard at + bytes <= head.count else { return 0 }
            return (0..<bytes).reduce(0) { $0 | UInt64(head[at + $1]) << UInt64(8 * $1) }
        }
        let table = Int(number(32, 8))
        for entry in 0..<Int(number(56, 2)) {
            let at = table + entry * Int(number(54, 2))
            let isExecutable = number(at, 4) == 1 && number(at + 4, 4) & 1 == 1
            let start = number(at + 8, 8)
            if isExecutable, offset >= start, offset < start + number(at + 32, 8) { return number(at + 16, 8) &- start }
        }
        return 0
    }
}
