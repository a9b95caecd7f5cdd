internal import CAVFormat
internal import MediaProtocol

/// Sorts the streams of an open file into those that can be published and the rest; the rest is not even read.
struct StreamSurvey {
    private(set) var streams: [MediaFileStream] = []
    private(set) var skipped: [SkippedMediaStream] = []

    init(of input: borrowing InputContext) {
        for index in 0..<input.streamCount {
            guard let pointer = unsafe input.stream(index), let parameters = unsafe pointer.pointee.codecpar else { continue }
            let reason: String
            if unsafe pointer.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC != 0 {
                reason = "cover picture"
            } else if let codec = unsafe CodecMapping.codec(parameters.pointee.codec_id) {
                let stream = unsafe Self.describe(index, codec, pointer.pointee, parameters.pointee)
                do {
                    try stream.description.validate()
                    streams.append(stream)
                    continue
                } catch {
                    reason = "\(error.field) out of range"
                }
            } else {
                reason = "not a codec of the protocol"
            }
            unsafe pointer.pointee.discard = AVDISCARD_ALL
            let name = unsafe avcodec_get_name(parameters.pointee.codec_id).map { unsafe String(cString: $0) }
            skipped.append(
                SkippedMediaStream(
                    index: index, kindName: unsafe CodecMapping.kindName(parameters.pointee.codec_type), codecName: name ?? "unknown", reason: reason)
            )
        }
    }

    private static func describe(_ index: Int, _ codec: MediaCodec, _ stream: AVStream, _ parameters: AVCodecParameters) -> MediaFileStream {
        let configuration = unsafe Array(UnsafeBufferPointer(start: parameters.extradata, count: max(Int(parameters.extradata_size), 0)))
        let rate = unsafe stream.avg_frame_rate
        let framesPerSecond = rate.num > 0 && rate.den > 0 ? Double(rate.num) / Double(rate.den) : 0
        let codecString =
            unsafe CodecParameters(
                codec: codec, configuration: configuration, profile: parameters.profile, level: parameters.level, width: parameters.width,
                height: parameters.height, framesPerSecond: framesPerSecond
            ).codecString
        let description: StreamDescription
        switch codec {
        case .audio(let audio):
            let sampleRate = unsafe UInt32(clamping: parameters.sample_rate)
            // Opus packets may differ, and packets of uncompressed sound are cut by the reader.
            let frameSize = unsafe audio == .aac ? UInt64(clamping: parameters.frame_size) : 0
            let microseconds = sampleRate > 0 ? frameSize * 1_000_000 / UInt64(sampleRate) : 0
            description = .audio(
                AudioStreamDescription(
                    codec: audio, sampleRate: sampleRate, channels: unsafe UInt8(clamping: parameters.ch_layout.nb_channels),
                    frameMicroseconds: UInt32(clamping: microseconds)))
        case .video(let video):
            description = .video(
                VideoStreamDescription(
                    codec: video, codecString: codecString, width: unsafe UInt32(clamping: parameters.width),
                    height: unsafe UInt32(clamping: parameters.height), frameRate: framesPerSecond <= 1_000 ? framesPerSecond : 0))
        }
        let duration = unsafe stream.duration > 0 ? AVLibrary.rescale(stream.duration, from: stream.time_base, to: AVLibrary.nanoseconds) : nil
        return MediaFileStream(
            index: index, codec: codec, codecString: codecString, description: description, configuration: configuration,
            framing: CodecMapping.framing(codec, configuration: configuration), durationNanoseconds: duration)
    }
}
