import MediaProtocol

/// The frames that were handed to the connection last: what it takes with it when it is lost has to be sent again.
struct SentFrames {
    struct Frame {
        let header: MediaHeader
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

    mutating func keep(_ header: MediaHeader, _ extensions: [UInt8], _ payload: [UInt8]) {
        guard isKept else { return }
        frames.append(Frame(header: header, extensions: extensions, payload: payload))
        byteCount += payload.count
        guard frames.count > SentFrames.framesMax || byteCount > SentFrames.bytesMax else { return }
        // A half at a time: what is taken off the front moves the rest.
        let dropped = frames.count / 2
        for frame in frames[..<dropped] { byteCount -= frame.payload.count }
        frames.removeFirst(dropped)
    }

    /// The number of the first kept frame of a stream's layer behind another.
    func first(of stream: StreamID, layer: MediaLayer, after sequence: UInt32?) -> UInt32? {
        frames.first { frame in
            frame.header.stream == stream && frame.header.layer.spatial == layer.spatial
                && (sequence.map { SentFrames.isNewer(frame.header.sequence, than: $0) } ?? true)
        }?.header.sequence
    }

    /// Numbers wrap (RFC 1982).
    static func isNewer(_ sequence: UInt32, than other: UInt32) -> Bool {
        Int32(bitPattern: sequence &- other) > 0
    }
}
