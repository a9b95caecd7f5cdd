extension ClientRequest {
    /// How frames come to a subscriber.
    package enum Delivery: String, Codable, Sendable, CaseIterable {
        /// Forwarded at once.
        case live
        /// Through the stream's jitter buffer at the relay: evenly, and late frames dropped or concealed.
        case paced
        /// All audio but one's own as one stream; what is no audio comes live.
        case mixed
    }

    /// What becomes of frames that come too late for paced delivery, and of those that never come.
    package enum LatePolicy: String, Codable, Sendable, CaseIterable {
        /// They are left out: the subscriber sees it by the sequence and conceals. Frames pass untouched.
        case drop
        /// The relay decodes, conceals, and encodes anew: every frame is there.
        case conceal
    }

    /// How much delay a jitter buffer of the relay trades for how much concealment.
    package enum JitterProfileName: String, Codable, Sendable, CaseIterable {
        case lowLatency
        case balanced
        case smooth
    }
}

extension RelayMessage {
    /// The stream that has all audio of a room but the subscriber's own.
    package struct MixInfo: Codable, Sendable, Equatable {
        package var stream: UInt32
        package var codec: String
        /// Hz.
        package var sampleRate: Double
        package var channels: Int
        package var frameMilliseconds: Double

        package init(stream: UInt32, codec: String, sampleRate: Double, channels: Int, frameMilliseconds: Double) {
            self.stream = stream
            self.codec = codec
            self.sampleRate = sampleRate
            self.channels = channels
            self.frameMilliseconds = frameMilliseconds
        }
    }

    /// Why the relay cannot put a stream into the mix, or decode it for concealing.
    package enum UnmixedReason: String, Codable, Sendable, CaseIterable {
        /// Its codec is none that the relay decodes.
        case codec
        /// Its payload is encrypted between the ends.
        case encrypted
        /// The room has as many streams in its mix as it may.
        case limit
    }

    /// A stream that is not heard in the mix, or comes paced with late frames dropped instead of concealed.
    package struct StreamUnmixed: Codable, Sendable, Equatable {
        package var stream: UInt32
        package var reason: UnmixedReason

        package init(stream: UInt32, reason: UnmixedReason) {
            self.stream = stream
            self.reason = reason
        }
    }
}
