package import MediaProtocol

/// What went wrong with a media file. Stream numbers are those of the file (``MediaFileStream/index``).
package enum MediaFileFault: Error, Equatable, Sendable {
    /// The file cannot be opened, or is not a media file.
    case open(path: String, reason: String)
    /// The file has no stream that the protocol can carry.
    case noUsableStream(path: String)
    case read(path: String, reason: String)
    /// The file's index promises more packets than the file holds.
    case truncated(path: String, stream: Int, packets: Int, expected: Int)
    /// A packet that the container itself knows to be damaged or cut off.
    case corruptPacket(path: String, stream: Int)
    /// A packet that its codec does not allow.
    case malformedPacket(path: String, stream: Int, codec: String)
    case timestampOutOfRange(path: String, stream: Int)
    /// The file is no longer the one that was opened.
    case changed(path: String)

    case create(path: String, reason: String)
    case write(path: String, reason: String)
    /// A frame to be recorded is not a frame.
    case malformedFrame(MediaFault)
    /// A frame to be recorded is not of the stream's kind.
    case unexpectedKind(MediaKind)
    /// The file is not a frame log, or is of another version.
    case notFrameLog(path: String)
    /// The frame log ends inside a record.
    case frameLogTruncated(path: String, frames: Int)
}

extension MediaFileFault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .open(let path, let reason): "cannot open \(path): \(reason)"
        case .noUsableStream(let path): "\(path) has no audio or video stream that can be published"
        case .read(let path, let reason): "cannot read \(path): \(reason)"
        case .truncated(let path, let stream, let packets, let expected):
            "\(path) is cut off: stream \(stream) has \(packets) of \(expected) packets"
        case .corruptPacket(let path, let stream): "\(path): a packet of stream \(stream) is damaged or cut off"
        case .malformedPacket(let path, let stream, let codec): "\(path): a packet of stream \(stream) is not \(codec)"
        case .timestampOutOfRange(let path, let stream): "\(path): a timestamp of stream \(stream) is out of range"
        case .changed(let path): "\(path) has changed since it was opened"
        case .create(let path, let reason): "cannot create \(path): \(reason)"
        case .write(let path, let reason): "cannot write \(path): \(reason)"
        case .malformedFrame(let fault): "a frame to be recorded is malformed: \(fault.name)"
        case .unexpectedKind(let kind): "a frame to be recorded is of kind \(kind), not of its stream's"
        case .notFrameLog(let path): "\(path) is not a frame log of this version"
        case .frameLogTruncated(let path, let frames): "\(path) ends inside a record, after \(frames) whole frames"
        }
    }
}
