import MediaProtocol
import RelayBase
import Signalling

/// The last frame that came of each stream: what a client says when it comes back, and what it knows repeated frames by.
struct ReceivedMarks {
    private var marks: [ClientRequest.ReceivedFrame] = []
    /// Streams of which a client keeps marks; beyond them the oldest is forgotten.
    private static let streamsMax = 1_024

    var all: [ClientRequest.ReceivedFrame] { marks }

    /// Takes a frame's header; false when the frame, or a newer one of its stream, has come before.
    mutating func take(_ header: MediaHeader) -> Bool {
        switch header.kind {
        // A configuration that is said again changes nothing, and has no number of its own.
        case .configuration: return true
        case .audio, .video, .data: break
        default: return true
        }
        let stream = header.stream.rawValue
        guard let place = marks.firstIndex(where: { $0.stream == stream }) else {
            if marks.count >= ReceivedMarks.streamsMax { marks.removeFirst() }
            marks.append(.init(stream: stream, sequence: header.sequence, timestamp: header.timestamp))
            return true
        }
        // RFC 1982: numbers wrap.
        guard Int32(bitPattern: header.sequence &- marks[place].sequence) > 0 else { return false }
        marks[place].sequence = header.sequence
        marks[place].timestamp = header.timestamp
        return true
    }
}
