import AudioSession
import RelayRooms
import Signalling

/// A member that gets its room's mix.
struct MixMembership {
    var channels: Int
    /// By the loop's count.
    let entry: UInt32
    /// What the worker was told last.
    var told: MixOrder?
    /// What the client has set of the mix as a whole, and of streams that are in it.
    var parameters: [MixParameters] = []

    /// The stream that has a room's mix, the same in every room: nobody's numbers come so far.
    static let stream = RoomStreams.mix
    static let frameMilliseconds = 20
    static let sampleRate = 48_000

    static func info(channels: Int) -> RelayMessage.MixInfo {
        RelayMessage.MixInfo(
            stream: stream, codec: "opus", sampleRate: Double(sampleRate), channels: channels, frameMilliseconds: Double(frameMilliseconds))
    }

    /// As every stream has an entry.
    static func streamInfo(channels: Int) -> RelayMessage.StreamInfo {
        var description = StreamDescription()
        description.sampleRate = Double(sampleRate)
        description.channels = channels
        description.frameMilliseconds = Double(frameMilliseconds)
        return RelayMessage.StreamInfo(stream: stream, participant: 0, kind: .audio, codec: "opus", description: description, source: nil)
    }

    /// - Parameter stream: ``stream`` for everything.
    func parameters(of stream: UInt32) -> StreamParameters {
        parameters.first { $0.stream == stream }?.parameters ?? StreamParameters()
    }

    mutating func set(_ new: StreamParameters, of stream: UInt32) {
        parameters.removeAll { $0.stream == stream }
        parameters.append(MixParameters(stream: stream, parameters: new))
    }
}

struct MixParameters {
    let stream: UInt32
    let parameters: StreamParameters
}
