import BenchmarkSupport

// What codecs, jitter buffers and the mixer cost; started by Benchmarks/run audio.

let parts = CommandLine.arguments.dropFirst()
let known = ["codec", "buffer", "mixer", "allocations"]
if let unknown = parts.first(where: { !known.contains($0) }) {
    Text.out(
        "audio-benchmark [PART]…\n\(unknown == "--help" ? "" : "There is no part \(unknown). ")Parts: \(known.joined(separator: ", ")); without any, all."
    )
} else {
    let wanted = parts.isEmpty ? known : Array(parts)
    if wanted.contains("codec") { try CodecBenchmark.run() }
    if wanted.contains("buffer") { try BufferBenchmark.run() }
    if wanted.contains("mixer") { try MixerBenchmark.run() }
    if wanted.contains("allocations") { try AllocationBenchmark.run() }
}
