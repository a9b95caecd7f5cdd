import BenchmarkSupport
import Glibc

/// The shared-memory file in which the preloaded counter counts; `allocation_counter.h` has its layout.
@safe
final class AllocationCounts {
    private static let magic: UInt64 = 0x5345_4755
    private static let fields = 12
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
        /// Calls of Swift's run-time library that count references up and down, and of pthread_mutex_lock.
        var retains: UInt64
        var releases: UInt64
        var locks: UInt64

        static func - (later: Snapshot, earlier: Snapshot) -> Snapshot {
            Snapshot(
                allocations: later.allocations - earlier.allocations, frees: later.frees - earlier.frees, bytes: later.bytes - earlier.bytes,
                retains: later.retains - earlier.retains, releases: later.releases - earlier.releases, locks: later.locks - earlier.locks)
        }
    }

    /// Of which calls the sites are noted.
    enum Traced: UInt64 {
        case allocations = 1
        case references = 2
    }

    /// One place that allocates, or whatever is traced.
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
        return unsafe Snapshot(
            allocations: allocations, frees: words[5], bytes: words[6], retains: words[9], releases: words[10], locks: words[11])
    }

    /// Notes call sites from now on, and forgets those of before. It costs time, so it has a window of its own.
    func startTracing(_ traced: Traced = .allocations) {
        unsafe (words + Self.fields).update(repeating: 0, count: Self.sitesMax * Self.siteWords)
        unsafe words[7] = traced.rawValue
    }

    func stopTracing() {
        unsafe words[7] = 0
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
