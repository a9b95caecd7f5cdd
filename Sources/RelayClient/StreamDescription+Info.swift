package import MediaProtocol
package import Signalling

extension MediaProtocol.StreamDescription {
    /// What a stream is, as its publisher announced it; `nil` for a codec that is not known here. Numbers that cannot be are replaced by usual ones: they
    /// come from another client, and the frames tell the truth anyway.
    package init?(of info: RelayMessage.StreamInfo) {
        let shown = info.description
        switch info.kind {
        case .data: self = .data
        case .audio:
            guard case .audio(let codec)? = MediaCodec(codecString: info.codec) else { return nil }
            var audio = AudioStreamDescription(codec: codec, sampleRate: 48_000, channels: 1)
            if let rate = shown?.sampleRate, rate >= 4_000, rate <= 192_000 { audio.sampleRate = UInt32(rate) }
            if let channels = shown?.channels, (1...8).contains(channels) { audio.channels = UInt8(channels) }
            if let duration = shown?.frameMilliseconds, duration > 0, duration <= 1_000 { audio.frameMicroseconds = UInt32(duration * 1_000) }
            self = .audio(audio)
        case .video:
            guard case .video(let codec)? = MediaCodec(codecString: info.codec) else { return nil }
            var video = VideoStreamDescription(codec: codec, codecString: info.codec, width: 640, height: 360)
            if let width = shown?.width, (1...16_384).contains(width) { video.width = UInt32(width) }
            if let height = shown?.height, (1...16_384).contains(height) { video.height = UInt32(height) }
            if let rate = shown?.frameRate, rate > 0, rate <= 1_000 { video.frameRate = rate }
            self = .video(video)
        }
    }
}
