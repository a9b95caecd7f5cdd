import MediaProtocol
import RelayBase

/// What a simulated frame is made of. Its payload is a function of room, stream and sequence, so that whoever receives it can check every byte.
///
/// ```
///  0          4            8               12                  16            24           32
///  | room u32 | length u32 | reference u32 | configuration u32 | sent ns u64 | digest u64 | pattern …
/// ```
struct FrameContent {
    /// Bytes of the payload before the pattern.
    static let fixedBytes = 32
    static let byteCountMin = MediaHeader.byteCount + fixedBytes

    var header: MediaHeader
    var room: UInt32
    /// The whole frame, header included.
    var byteCount: Int
    /// The sequence of the frame that this one refers to; its own when it refers to none.
    var reference: UInt32
    /// The configuration that it needs, counted from 1 by its publisher.
    var configuration: UInt32
    var sentAt: MonotonicInstant

    /// 8 KiB that repeat: a frame's pattern begins where its sequence says.
    private static let pattern: [UInt64] = {
        var generator = SeededGenerator(seed: 0x5E65E)
        return (0..<1_024).map { _ in generator.next() }
    }()

    /// A configuration that is said again is the same to the byte, whatever number it bears.
    private var number: UInt32 { header.kind == .configuration ? configuration : header.sequence }

    private var patternPlace: Int { Int(header.stream.rawValue &* 977 &+ number &* 31 &+ room &* 7_919 &+ UInt32(header.layer.rawValue)) & 1_023 }

    func write(into bytes: UnsafeMutableRawBufferPointer) {
        unsafe header.write(into: bytes)
        let base = MediaHeader.byteCount
        unsafe bytes.storeBytes(of: room, toByteOffset: base, as: UInt32.self)
        unsafe bytes.storeBytes(of: UInt32(byteCount), toByteOffset: base + 4, as: UInt32.self)
        unsafe bytes.storeBytes(of: reference, toByteOffset: base + 8, as: UInt32.self)
        unsafe bytes.storeBytes(of: configuration, toByteOffset: base + 12, as: UInt32.self)
        unsafe bytes.storeBytes(of: sentAt.nanoseconds, toByteOffset: base + 16, as: UInt64.self)
        unsafe bytes.storeBytes(of: digest, toByteOffset: base + 24, as: UInt64.self)
        var place = patternPlace
        var offset = FrameContent.byteCountMin
        while offset + 8 <= byteCount {
            unsafe bytes.storeBytes(of: FrameContent.pattern[place & 1_023], toByteOffset: offset, as: UInt64.self)
            place += 1
            offset += 8
        }
        while offset < byteCount {
            unsafe bytes[offset] = UInt8(truncatingIfNeeded: place)
            offset += 1
        }
    }

    /// Reads a frame; `nil` when a byte is not as its publisher wrote it.
    init?(reading bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= FrameContent.byteCountMin, let header = try? unsafe MediaHeader(parsing: bytes) else { return nil }
        let base = MediaHeader.byteCount
        self.header = header
        room = unsafe bytes.loadUnaligned(fromByteOffset: base, as: UInt32.self)
        byteCount = unsafe Int(bytes.loadUnaligned(fromByteOffset: base + 4, as: UInt32.self))
        reference = unsafe bytes.loadUnaligned(fromByteOffset: base + 8, as: UInt32.self)
        configuration = unsafe bytes.loadUnaligned(fromByteOffset: base + 12, as: UInt32.self)
        sentAt = unsafe MonotonicInstant(nanoseconds: bytes.loadUnaligned(fromByteOffset: base + 16, as: UInt64.self))
        guard byteCount == bytes.count, unsafe bytes.loadUnaligned(fromByteOffset: base + 24, as: UInt64.self) == digest,
            unsafe isPatterned(bytes)
        else { return nil }
    }

    init(header: MediaHeader, room: UInt32, byteCount: Int, reference: UInt32, configuration: UInt32, sentAt: MonotonicInstant) {
        self.header = header
        self.room = room
        self.byteCount = max(byteCount, FrameContent.byteCountMin)
        self.reference = reference
        self.configuration = configuration
        self.sentAt = sentAt
    }

    private func isPatterned(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var place = patternPlace
        var offset = FrameContent.byteCountMin
        var difference: UInt64 = 0
        while offset + 8 <= bytes.count {
            difference |= unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self) ^ FrameContent.pattern[place & 1_023]
            place += 1
            offset += 8
        }
        while offset < bytes.count {
            difference |= unsafe UInt64(bytes[offset] ^ UInt8(truncatingIfNeeded: place))
            offset += 1
        }
        return difference == 0
    }

    private var digest: UInt64 {
        var digest = RunDigest()
        digest.add(UInt64(header.stream.rawValue) << 32 | UInt64(number))
        digest.add(UInt64(room) << 32 | UInt64(header.kind == .configuration ? 0 : header.timestamp))
        digest.add(UInt64(reference) << 32 | UInt64(configuration))
        // The relay sets the discontinuity flag, and publishers here never do.
        let flags = header.flags.subtracting(.discontinuity)
        digest.add(UInt64(header.kind.rawValue) << 48 | UInt64(flags.rawValue) << 40 | UInt64(header.layer.rawValue) << 32 | UInt64(byteCount))
        digest.add(sentAt.nanoseconds)
        return digest.value
    }
}
