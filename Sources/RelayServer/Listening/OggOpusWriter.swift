import RelayBase

/// Writes one Opus stream as Ogg pages (RFC 3533, RFC 7845): two pages of headers, then a page for each packet, so that a player has each as soon as it is made.
/// Positions count what was sent: what was dropped on the way is no gap in them, since nothing would ever fill it.
struct OggOpusWriter: Sendable {
    /// Names the logical bitstream.
    private let serial: UInt32
    private var sequence: UInt32 = 0
    /// Samples at 48 kHz up to the last page's end, pre-skip included (RFC 7845 §4).
    private var position: UInt64 = 0
    /// Each page is a chunk of HTTP/1.1 (RFC 9112 §7.1).
    private let isChunked: Bool

    private static let pageHeaderBytes = 27
    private static let firstPage: UInt8 = 0x02
    /// A packet in one page: 255 segments, the last of which is shorter than 255 bytes (RFC 3533 §5).
    static let packetBytesMax = 255 * 255 - 1

    init(serial: UInt32, isChunked: Bool) {
        self.serial = serial
        self.isChunked = isChunked
    }

    var hasBegun: Bool { sequence > 0 }

    /// The pages before all packets.
    ///
    /// - Parameter head: the identification header (RFC 7845 §5.1).
    mutating func begin(_ head: RawSpan, into queue: inout ByteQueue) {
        guard !hasBegun, head.byteCount <= OggOpusWriter.packetBytesMax else { return }
        page(head, flags: OggOpusWriter.firstPage, into: &queue)
        unsafe page(OggOpusWriter.tags.span.bytes, flags: 0, into: &queue)
    }

    /// A comment header without comments (RFC 7845 §5.2).
    private static let tags: [UInt8] = Array("OpusTags".utf8) + [5, 0, 0, 0] + Array("segue".utf8) + [0, 0, 0, 0]

    /// - Parameter samples: how long the packet plays, at 48 kHz.
    mutating func append(_ packet: RawSpan, samples: UInt32, into queue: inout ByteQueue) {
        guard hasBegun, packet.byteCount <= OggOpusWriter.packetBytesMax else { return }
        position &+= UInt64(samples)
        page(packet, flags: 0, into: &queue)
    }

    /// The chunk that ends an answer in chunks; otherwise the answer's end is the stream's.
    func end(into queue: inout ByteQueue) {
        if isChunked { queue.append([0x30, 0x0D, 0x0A, 0x0D, 0x0A]) }
    }

    private mutating func page(_ packet: RawSpan, flags: UInt8, into queue: inout ByteQueue) {
        let segments = packet.byteCount / 255 + 1
        let byteCount = OggOpusWriter.pageHeaderBytes + segments + packet.byteCount
        let chunkBytes = isChunked ? 6 : 0
        let room = unsafe queue.reserve(byteCount + chunkBytes + 2)
        if isChunked { unsafe OggOpusWriter.writeSize(byteCount, into: room) }
        let page = unsafe UnsafeMutableRawBufferPointer(rebasing: room[chunkBytes..<(chunkBytes + byteCount)])
        unsafe page.storeBytes(of: UInt32(bigEndian: 0x4F67_6753), as: UInt32.self)
        unsafe page[4] = 0
        unsafe page[5] = flags
        unsafe page.storeBytes(of: position.littleEndian, toByteOffset: 6, as: UInt64.self)
        unsafe page.storeBytes(of: serial.littleEndian, toByteOffset: 14, as: UInt32.self)
        unsafe page.storeBytes(of: sequence.littleEndian, toByteOffset: 18, as: UInt32.self)
        unsafe page.storeBytes(of: 0, toByteOffset: 22, as: UInt32.self)
        unsafe page[26] = UInt8(segments)
        for segment in 0..<segments {
            unsafe page[OggOpusWriter.pageHeaderBytes + segment] = segment < segments - 1 ? 255 : UInt8(packet.byteCount % 255)
        }
        unsafe packet.withUnsafeBytes { unsafe UnsafeMutableRawBufferPointer(rebasing: page[(page.count - $0.count)...]).copyMemory(from: $0) }
        unsafe page.storeBytes(of: OggOpusWriter.checksum(UnsafeRawBufferPointer(page)).littleEndian, toByteOffset: 22, as: UInt32.self)
        if isChunked {
            unsafe room[chunkBytes + byteCount] = 0x0D
            unsafe room[chunkBytes + byteCount + 1] = 0x0A
        }
        queue.commit(byteCount + (isChunked ? chunkBytes + 2 : 0))
        sequence &+= 1
    }

    /// Four hexadecimal digits and the line's end: no page is longer than 65,307 bytes.
    private static func writeSize(_ byteCount: Int, into room: UnsafeMutableRawBufferPointer) {
        for place in 0..<4 {
            let digit = UInt8(truncatingIfNeeded: byteCount >> (12 - 4 * place)) & 15
            unsafe room[place] = digit < 10 ? 0x30 + digit : 0x57 + digit
        }
        unsafe room[4] = 0x0D
        unsafe room[5] = 0x0A
    }

    /// RFC 3533 §6: CRC-32 of the page with a checksum of 0; polynomial 0x04C11DB7, nothing reflected, initial value and final XOR 0.
    static func checksum(_ page: UnsafeRawBufferPointer) -> UInt32 {
        var sum: UInt32 = 0
        let table = OggOpusWriter.table
        for place in 0..<page.count {
            let index = Int((sum >> 24) ^ UInt32(unsafe page[place]))
            sum = (sum << 8) ^ table[index]
        }
        return sum
    }

    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index) << 24) { value, _ in value & 0x8000_0000 != 0 ? (value << 1) ^ 0x04C1_1DB7 : value << 1 }
    }
}
