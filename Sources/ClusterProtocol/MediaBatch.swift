/// Frames on their way to another node: several in one message, each with its length and its record in front.
///
///     +--------+----------+--------+---------------------+-----
///     | length u32 (record and frame) | loop u32 | record, 16 bytes, then the frame | …
///
/// Little-endian, as the record in the rings between loops is: nodes of a cluster run on machines of one kind.
package struct MediaBatch {
    package static let headerBytes = 8
    package static let bytesMax = 512 << 10

    package private(set) var bytes: [UInt8] = []

    package init() {}

    package var isEmpty: Bool { bytes.isEmpty }

    /// - Returns: false when there is no room for it; an empty batch takes every record that a node may send.
    package mutating func append(_ record: UnsafeRawBufferPointer, loop: UInt32) -> Bool {
        guard bytes.isEmpty || bytes.count + MediaBatch.headerBytes + record.count <= MediaBatch.bytesMax else { return false }
        unsafe withUnsafeBytes(of: UInt32(clamping: record.count).littleEndian) { unsafe bytes.append(contentsOf: $0) }
        unsafe withUnsafeBytes(of: loop.littleEndian) { unsafe bytes.append(contentsOf: $0) }
        unsafe bytes.append(contentsOf: record)
        return true
    }

    package mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    /// Takes a message apart.
    ///
    /// - Returns: whether it was whole: what lies behind a fault is not looked at.
    package static func read(_ bytes: UnsafeRawBufferPointer, _ body: (_ loop: Int, _ record: UnsafeRawBufferPointer) -> Void) -> Bool {
        var place = 0
        while place < bytes.count {
            guard bytes.count - place >= headerBytes else { return false }
            let count = unsafe Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self)))
            let loop = unsafe Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: place + 4, as: UInt32.self)))
            place += headerBytes
            guard count <= bytes.count - place else { return false }
            unsafe body(loop, UnsafeRawBufferPointer(rebasing: bytes[place..<place + count]))
            place += count
        }
        return true
    }
}
