import MediaProtocol
import RelayBase

/// Room that a pull fills: messages one behind the other, and for who wishes it several frames in one message.
@safe
struct EgressRoom {
    private let bytes: UnsafeMutableRawBufferPointer
    private(set) var filled = 0
    let bundles: Bool
    /// Where the last message starts, as long as further frames may join it; else −1.
    private var open = -1
    /// Frames in the open message: 1 is a frame as itself, more are a bundle.
    private var openFrames = 0
    /// Where the open message's payload starts.
    private var openPayload = 0

    /// A bundle grows no longer than this, its header included.
    static let bundleBytesMax = 16 << 10
    /// Frames from this size on go alone.
    static let loneFrameBytesMin = 8 << 10

    init(_ bytes: UnsafeMutableRawBufferPointer, bundles: Bool) {
        unsafe self.bytes = bytes
        self.bundles = bundles
    }

    var count: Int { unsafe bytes.count }
    var left: Int { unsafe bytes.count - filled }

    /// Appends bytes that fit. Nothing joins them.
    mutating func append(_ more: UnsafeRawBufferPointer) {
        open = -1
        unsafe copy(more)
    }

    /// Lends room for a message that fits. Nothing joins it.
    mutating func append(byteCount: Int, _ write: (UnsafeMutableRawBufferPointer) -> Void) {
        open = -1
        unsafe write(UnsafeMutableRawBufferPointer(rebasing: bytes[filled..<(filled + byteCount)]))
        filled += byteCount
    }

    /// Appends a whole framed message that fits.
    ///
    /// - Parameter mayJoin: it may share a message with frames before and behind it; without the wish for bundles it never does.
    mutating func appendMessage(_ message: UnsafeRawBufferPointer, mayJoin: Bool) {
        guard bundles, mayJoin, message.count < EgressRoom.loneFrameBytesMin else {
            unsafe append(message)
            return
        }
        let frame = unsafe MessageFraming.payload(ofMessage: message)
        if unsafe join(frame) { return }
        open = filled
        openFrames = 1
        openPayload = filled + message.count - frame.count
        unsafe copy(message)
    }

    /// Lets a frame join the open message; answers false when there is none or the room or the bound forbids it.
    private mutating func join(_ frame: UnsafeRawBufferPointer) -> Bool {
        guard open >= 0 else { return false }
        let before = filled - openPayload
        // A frame as itself gets a length, and the bundle's header before that.
        let added = openFrames == 1 ? MediaHeader.byteCount + MediaBundle.lengthByteCount : 0
        let payload = added + before + MediaBundle.lengthByteCount + frame.count
        let header = MessageFraming.headerByteCount(payload: payload)
        guard payload <= EgressRoom.bundleBytesMax, open + header + payload <= count else { return false }
        let place = open + header + added
        if place != openPayload { move(before, from: openPayload, to: place) }
        if openFrames == 1 {
            let head = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[(open + header)..<place])
            unsafe MediaHeader(kind: .bundle, stream: StreamID(0), sequence: 0, timestamp: 0).write(into: head)
            unsafe MediaBundle.writeLength(before, into: UnsafeMutableRawBufferPointer(rebasing: head[MediaHeader.byteCount...]))
        }
        unsafe MessageFraming.writeHeader(payload: payload, into: UnsafeMutableRawBufferPointer(rebasing: bytes[open...]))
        openPayload = open + header
        filled = place + before
        unsafe MediaBundle.writeLength(frame.count, into: UnsafeMutableRawBufferPointer(rebasing: bytes[filled...]))
        filled += MediaBundle.lengthByteCount
        unsafe copy(frame)
        openFrames += 1
        return true
    }

    private mutating func copy(_ more: UnsafeRawBufferPointer) {
        unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[filled...]).copyMemory(from: more)
        filled += more.count
    }

    /// The regions may overlap, which `copyMemory` of a buffer onto itself allows.
    private func move(_ byteCount: Int, from: Int, to: Int) {
        unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[to..<(to + byteCount)]).copyMemory(
            from: UnsafeRawBufferPointer(rebasing: bytes[from..<(from + byteCount)]))
    }
}
