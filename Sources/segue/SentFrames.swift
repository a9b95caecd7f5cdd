import MediaProtocol
import RelayBase

/// The frames that were handed to the connection last: what it takes with it when it is lost has to be sent again.
struct SentFrames {
    struct Frame {
        var header: MediaHeader
        /// When it was to be sent.
        let due: MonotonicInstant
        let extensions: [UInt8]
        let payload: [UInt8]
    }

    private(set) var frames: [Frame] = []
    private var byteCount = 0
    private let isKept: Bool
    /// What a connection and its buffers hold on their way, and more.
    private static let bytesMax = 6 << 20
    private static let framesMax = 4_096

    init(isKept: Bool) {
        self.isKept = isKept
    }

    mutating func keep(_ header: MediaHeader, due: MonotonicInstant, _ extensions: [UInt8], _ payload: [UInt8]) {
        guard isKept else { return }
        frames.append(Frame(header: header, due: due, extensions: extensions, payload: payload))
        byteCount += payload.count
        guard frames.count > SentFrames.framesMax || byteCount > SentFrames.bytesMax else { return }
        // A half at a time: what is taken off the front moves the rest.
        let dropped = frames.count / 2
        for frame in frames[..<dropped] { byteCount -= frame.payload.count }
        frames.removeFirst(dropped)
    }

    /// Frames that are not to be sent again, in the order in which they were kept.
    mutating func forget(_ headers: [MediaHeader]) {
        var next = headers.makeIterator()
        var wanted = next.next()
        frames.removeAll { frame in
            guard let header = wanted, header.stream == frame.header.stream, header.layer == frame.header.layer,
                header.sequence == frame.header.sequence
            else { return false }
            byteCount -= frame.payload.count
            wanted = next.next()
            return true
        }
    }

    /// Numbers wrap (RFC 1982).
    static func isNewer(_ sequence: UInt32, than other: UInt32) -> Bool {
        Int32(bitPattern: sequence &- other) > 0
    }
}
