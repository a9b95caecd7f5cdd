import ClusterProtocol
import RelayBase
import Testing

@Suite("Media between nodes")
struct MediaBatchTests {
    private static func read(_ bytes: [UInt8]) -> (isWhole: Bool, records: [(loop: Int, bytes: [UInt8])]) {
        var records: [(loop: Int, bytes: [UInt8])] = []
        let isWhole = unsafe bytes.withUnsafeBytes { bytes in
            unsafe MediaBatch.read(bytes) { loop, record in unsafe records.append((loop, Array(record))) }
        }
        return (isWhole, records)
    }

    @Test("what is put in comes out, in its order")
    func roundTrip() {
        var batch = MediaBatch()
        let records: [[UInt8]] = [[], [1], Array(repeating: 7, count: 3_000)]
        for (loop, record) in records.enumerated() {
            let isTaken = unsafe record.withUnsafeBytes { unsafe batch.append($0, loop: UInt32(loop)) }
            #expect(isTaken)
        }
        let read = Self.read(batch.bytes)
        #expect(read.isWhole && read.records.map(\.bytes) == records && read.records.map(\.loop) == [0, 1, 2])
        batch.removeAll()
        #expect(batch.isEmpty)
    }

    @Test("a batch is bounded, but for one record that is larger by itself")
    func bounds() {
        var batch = MediaBatch()
        let large = [UInt8](repeating: 1, count: MediaBatch.bytesMax + 1)
        #expect(unsafe large.withUnsafeBytes { unsafe batch.append($0, loop: 0) })
        #expect(unsafe !([UInt8](repeating: 1, count: 1)).withUnsafeBytes { unsafe batch.append($0, loop: 0) })
    }

    @Test("whatever comes is read without a fault, and never beyond its end", arguments: 0..<300)
    func hostile(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var batch = MediaBatch()
        for _ in 0..<3 {
            let record = (0..<Int.random(in: 0..<40, using: &generator)).map { _ in UInt8.random(in: 0...255, using: &generator) }
            _ = unsafe record.withUnsafeBytes { unsafe batch.append($0, loop: UInt32.random(in: 0...UInt32.max, using: &generator)) }
        }
        var bytes = batch.bytes
        for _ in 0..<Int.random(in: 0..<4, using: &generator) where !bytes.isEmpty {
            bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
        }
        bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &generator)))
        let read = Self.read(bytes)
        let count = read.records.reduce(0) { $0 + $1.bytes.count + MediaBatch.headerBytes }
        #expect(count <= bytes.count && (!read.isWhole || count == bytes.count))
    }
}
