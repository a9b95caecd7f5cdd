/// What is wrong with a stream's description.
package enum DescriptionFault: Error, Equatable, Sendable {
    case sampleRate
    case channelCount
    case frameDuration
    case codecString
    case pictureSize
    case frameRate
    case framesPerPacket
    case bitsPerChannel
    case bytesPerFrame
    case bytesPerPacket
    case formatFlags

    /// The field at fault, in the words of the description.
    package var field: StaticString {
        switch self {
        case .sampleRate: "sampleRate"
        case .channelCount: "channels"
        case .frameDuration: "frameDuration"
        case .codecString: "codec"
        case .pictureSize: "width, height"
        case .frameRate: "frameRate"
        case .framesPerPacket: "framesPerPacket"
        case .bitsPerChannel: "bitsPerChannel"
        case .bytesPerFrame: "bytesPerFrame"
        case .bytesPerPacket: "bytesPerPacket"
        case .formatFlags: "formatFlags"
        }
    }
}

/// An audio stream as it is published. Timestamps count 1/48,000 s whatever the sample rate.
package struct AudioStreamDescription: Hashable, Sendable {
    package var codec: AudioCodec
    /// Hertz. For Opus the rate of the original input; decoding is at 48 kHz.
    package var sampleRate: UInt32
    package var channels: UInt8
    /// Microseconds that each frame plays; 0 when it varies or is not known.
    package var frameMicroseconds: UInt32

    package init(codec: AudioCodec, sampleRate: UInt32, channels: UInt8, frameMicroseconds: UInt32 = 0) {
        self.codec = codec
        self.sampleRate = sampleRate
        self.channels = channels
        self.frameMicroseconds = frameMicroseconds
    }

    /// - Throws: the first field that is out of range. Opus frames are multiples of 2.5 ms up to 120 ms (RFC 6716 §2.1.4); others last up to 1 s.
    package func validate() throws(DescriptionFault) {
        guard (4_000...192_000).contains(sampleRate) else { throw .sampleRate }
        guard (1...8).contains(channels) else { throw .channelCount }
        switch codec {
        case .opus:
            guard frameMicroseconds % 2_500 == 0, frameMicroseconds <= 120_000 else { throw .frameDuration }
        case .pcmS16, .pcmu, .pcma, .aac:
            guard frameMicroseconds <= 1_000_000 else { throw .frameDuration }
        }
    }
}

/// A video stream as it is published. Timestamps count 1/90,000 s.
package struct VideoStreamDescription: Hashable, Sendable {
    package var codec: VideoCodec
    /// RFC 6381, for example `avc1.42E01E`.
    package var codecString: String
    /// Pixels.
    package var width: UInt32
    package var height: UInt32
    /// Frames per second; 0 when it varies or is not known.
    package var frameRate: Double

    package init(codec: VideoCodec, codecString: String, width: UInt32, height: UInt32, frameRate: Double = 0) {
        self.codec = codec
        self.codecString = codecString
        self.width = width
        self.height = height
        self.frameRate = frameRate
    }

    /// Codec strings are ASCII and are compared byte by byte: Unicode's tables stay out of the WebAssembly build.
    package static func == (left: VideoStreamDescription, right: VideoStreamDescription) -> Bool {
        left.codec == right.codec && left.codecString.utf8.elementsEqual(right.codecString.utf8) && left.width == right.width
            && left.height == right.height && left.frameRate == right.frameRate
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(codec)
        for byte in codecString.utf8 { hasher.combine(byte) }
        hasher.combine(width)
        hasher.combine(height)
        hasher.combine(frameRate)
    }

    /// - Throws: the first field that is out of range, or a codec string that is not of this codec.
    package func validate() throws(DescriptionFault) {
        guard MediaCodec(codecString: codecString) == .video(codec) else { throw .codecString }
        guard (1...16_384).contains(width), (1...16_384).contains(height) else { throw .pictureSize }
        guard frameRate >= 0, frameRate <= 1_000 else { throw .frameRate }
    }
}

/// What a stream carries, as its publisher announces it.
package enum StreamDescription: Hashable, Sendable {
    case audio(AudioStreamDescription)
    case video(VideoStreamDescription)
    case data

    package var kind: MediaKind {
        switch self {
        case .audio: .audio
        case .video: .video
        case .data: .data
        }
    }

    package var timescale: MediaTimescale {
        switch self {
        case .audio: .audio
        case .video: .video
        case .data: .microseconds
        }
    }

    package func validate() throws(DescriptionFault) {
        switch self {
        case .audio(let audio): try audio.validate()
        case .video(let video): try video.validate()
        case .data: break
        }
    }
}
