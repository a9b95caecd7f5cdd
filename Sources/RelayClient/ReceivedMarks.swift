import MediaProtocol
import RelayBase
import Signalling

/// The last frame that came of each stream: what a client says when it comes back, and what it knows repeated frames by.
struct ReceivedMarks {
    private struct Mark {
        let stream: UInt32
        let spatial: UInt8
        var sequence: UInt32
        var timestamp: UInt32
    }

    /// Of each spatial layer, whose frames are numbered apart; of one stream, the layer that came last is the last.
    private var marks: [Mark] = []
    /// Layers of which a client keeps marks; beyond them the oldest is forgotten.
    private static let marksMax = 2_048

    /// The last frame of each stream, of whichever layer it was.
    var all: [ClientRequest.ReceivedFrame] {
        var seen: Set<UInt32> = []
        return marks.reversed().filter { seen.insert($0.stream).inserted }.reversed().map {
            .init(stream: $0.stream, sequence: $0.sequence, timestamp: $0.timestamp, layer: $0.spatial > 0 ? Int($0.spatial) : nil)
        }
    }

    /// Takes a frame's header; false when the frame, or a newer one of its layer, has come before.
    mutating func take(_ header: MediaHeader) -> Bool {
        switch header.kind {
        // A configuration that is said again changes nothing, and has no number of its own.
        case .configuration: return true
        case .audio, .video, .data: break
        default: return true
        }
        let (stream, spatial) = (header.stream.rawValue, header.layer.spatial)
        guard let place = marks.lastIndex(where: { $0.stream == stream && $0.spatial == spatial }) else {
            if marks.count >= ReceivedMarks.marksMax { marks.removeFirst() }
            marks.append(Mark(stream: stream, spatial: spatial, sequence: header.sequence, timestamp: header.timestamp))
            return true
        }
        // RFC 1982: numbers wrap.
        guard Int32(bitPattern: header.sequence &- marks[place].sequence) > 0 else { return false }
        marks[place].sequence = header.sequence
        marks[place].timestamp = header.timestamp
        // Another layer of the stream came before this one: it is not the last any more.
        if let last = marks.lastIndex(where: { $0.stream == stream }), last != place { marks.append(marks.remove(at: place)) }
        return true
    }
}
