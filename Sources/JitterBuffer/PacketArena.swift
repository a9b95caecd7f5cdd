/// Bytes of packets in one block that is allocated once: each packet whole, in the order in which they came, behind a small head.
///
/// Room is taken at the end. When there is none, or far more is used than is alive, what is alive slides to the front; so the block's first part is used over and
/// over, and a buffer that holds little touches little memory. Every byte is moved about once at most.
@safe
struct PacketArena: ~Copyable {
    private let block: UnsafeMutableRawBufferPointer
    private var end = 0
    /// Of packets that are held, heads included.
    private var live = 0

    /// Length and owner.
    private static var headByteCount: Int { 8 }
    private static var alignment: Int { 8 }
    private static var slidingMin: Int { 4096 }
    private static var dead: UInt32 { .max }

    init(bytesMax: Int) {
        let room = bytesMax + bytesMax / 2 + 1024
        unsafe block = UnsafeMutableRawBufferPointer.allocate(byteCount: room, alignment: 16)
    }

    deinit {
        unsafe block.deallocate()
    }

    private static func footprint(_ byteCount: Int) -> Int {
        (headByteCount + byteCount + alignment - 1) / alignment * alignment
    }

    /// Whether ``append(_:owner:offsets:)`` may be called with so many bytes.
    func hasRoom(for byteCount: Int) -> Bool {
        unsafe live + Self.footprint(byteCount) <= block.count
    }

    /// - Parameters:
    ///   - owner: an index of `offsets`.
    ///   - offsets: where the packets of all owners lie; set for this one and for those that slide.
    /// - Precondition: ``hasRoom(for:)``.
    mutating func append(_ bytes: RawSpan, owner: Int, offsets: inout [Int]) {
        let footprint = Self.footprint(bytes.byteCount)
        if unsafe end + footprint > block.count || (end > Self.slidingMin && end > 4 * live) { slide(&offsets) }
        let offset = end + Self.headByteCount
        unsafe block.storeBytes(of: UInt32(truncatingIfNeeded: bytes.byteCount), toByteOffset: end, as: UInt32.self)
        unsafe block.storeBytes(of: UInt32(truncatingIfNeeded: owner), toByteOffset: end + 4, as: UInt32.self)
        if bytes.byteCount > 0 {
            unsafe bytes.withUnsafeBytes { unsafe UnsafeMutableRawBufferPointer(rebasing: block[offset...]).copyMemory(from: $0) }
        }
        end += footprint
        live += footprint
        offsets[owner] = offset
    }

    mutating func remove(offset: Int, byteCount: Int) {
        unsafe block.storeBytes(of: Self.dead, toByteOffset: offset - 4, as: UInt32.self)
        live -= Self.footprint(byteCount)
        if live == 0 { end = 0 }
    }

    mutating func removeAll() {
        end = 0
        live = 0
    }

    @_lifetime(borrow self)
    func bytes(offset: Int, byteCount: Int) -> RawSpan {
        let span = unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: block[offset..<offset + byteCount]))
        return unsafe _overrideLifetime(span, borrowing: self)
    }

    private mutating func slide(_ offsets: inout [Int]) {
        var from = 0
        var to = 0
        while from < end {
            let length = unsafe Int(block.load(fromByteOffset: from, as: UInt32.self))
            let owner = unsafe block.load(fromByteOffset: from + 4, as: UInt32.self)
            let footprint = Self.footprint(length)
            if owner != Self.dead {
                if from != to, let start = unsafe block.baseAddress {
                    // They may overlap; copying handles that.
                    unsafe (start + to).copyMemory(from: start + from, byteCount: footprint)
                    offsets[Int(owner)] = to + Self.headByteCount
                }
                to += footprint
            }
            from += footprint
        }
        end = to
    }
}
