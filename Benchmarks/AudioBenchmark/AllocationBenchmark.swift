import AudioEngine
import BenchmarkSupport
import Glibc
import MediaProtocol

/// Allocations of a room in a steady state, counted by the preloaded library, which counts into a file.
enum AllocationBenchmark {
    private static let magic: UInt64 = 0x5345_4755
    /// Of the counters at the file's beginning; the rest is call sites (`allocation_counter.h`).
    private static let byteCount = 4_096
    private static let ticks = 5_000

    static func run() throws {
        guard let path = unsafe getenv("ALLOCATION_COUNTER_FILE"), let counts = unsafe map(path) else {
            Text.out("\nAllocations were not counted: the counter was not preloaded (Benchmarks/run audio does).")
            return
        }
        let packets = try (0..<10).map { try Sound.packets(seed: UInt64($0)) }
        var rows: [[String]] = []
        for (participants, talkers) in [(10, 3), (50, 10)] {
            var room = try MixedRoom(participants: participants, talkers: talkers, packets: packets, isNaive: false)
            room.run(ticks: 500)
            let before = unsafe allocations(counts)
            room.run(ticks: ticks)
            let made = unsafe allocations(counts) - before
            rows.append(["\(participants), \(talkers) talk", "\(ticks)", "\(made)", Text.fixed(Double(made) / Double(ticks), 4)])
        }
        Text.out("\nAllocations (malloc, calloc, realloc, aligned) of a room in a steady state")
        Text.out(Text.table(["participants", "ticks", "allocations", "a tick"], rows))
    }

    private static func map(_ path: UnsafePointer<CChar>) -> UnsafePointer<UInt64>? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard let memory = unsafe mmap(nil, byteCount, PROT_READ, MAP_SHARED, descriptor, 0), unsafe memory != MAP_FAILED else { return nil }
        let words = unsafe UnsafePointer(memory.bindMemory(to: UInt64.self, capacity: byteCount / 8))
        return unsafe words[0] == magic ? words : nil
    }

    private static func allocations(_ words: UnsafePointer<UInt64>) -> UInt64 { unsafe words[1] + words[2] + words[3] + words[4] }
}
