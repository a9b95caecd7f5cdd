import AudioEngine
import MediaFiles
import MediaProtocol
import Reactor
import RelayBase
import Signalling

extension Publisher {
    /// An encoder makes something else than before, because of what subscribers can hear.
    struct FormatChange: Encodable {
        var stream: UInt32
        var bandwidth: String
        var channels: Int
        /// Since the first packet was due.
        var seconds: Double
    }

    /// What the best of a stream's subscribers can hear.
    func takeWanted(_ wanted: RelayMessage.FormatWanted, _ summary: inout Summary) {
        guard let track = tracks.first(where: { $0.id.rawValue == wanted.stream }), let encoder = track.encoder,
            let bandwidth = AudioBandwidth(rawValue: wanted.bandwidth), encoder.fit(bandwidth: bandwidth, channels: wanted.channels)
        else { return }
        let format = encoder.format
        let seconds = Double(MonotonicClock.now().nanoseconds(since: startedAt)) / 1e9
        summary.formats.append(
            FormatChange(stream: wanted.stream, bandwidth: format.bandwidth.rawValue, channels: format.channels, seconds: seconds))
        progress.clear()
        Console.error(
            "stream \(wanted.stream): encoding \(format.bandwidth.rawValue) with \(format.channels) channel\(format.channels == 1 ? "" : "s"), all that anybody hears"
        )
    }
}

extension EncodingPlan {
    /// - Returns: `nil`: the stream is no sound.
    func encoder(for stream: MediaFileStream) throws -> StreamEncoder? {
        guard case .audio(let audio) = stream.description else { return nil }
        return try StreamEncoder(self, channels: Int(audio.channels))
    }
}

extension ClientRequest.Publish {
    /// How a file's stream is announced.
    init(description stream: MediaFileStream) {
        var shown = Signalling.StreamDescription()
        shown.timescale = Int(stream.description.timescale.ticksPerSecond)
        let kind: StreamKind
        switch stream.description {
        case .audio(let audio):
            kind = .audio
            shown.sampleRate = Double(audio.sampleRate)
            shown.channels = Int(audio.channels)
            if audio.frameMicroseconds > 0 { shown.frameMilliseconds = Double(audio.frameMicroseconds) / 1_000 }
        case .video(let video):
            kind = .video
            shown.width = Int(video.width)
            shown.height = Int(video.height)
            if video.frameRate > 0 { shown.frameRate = video.frameRate }
        case .data: kind = .data
        }
        self.init(kind: kind, codec: stream.codecString, description: shown, source: "file")
    }
}
