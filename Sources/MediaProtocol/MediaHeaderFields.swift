/// What a media frame carries: the low 4 bits of its first byte.
package enum MediaKind: UInt8, CaseIterable, Sendable {
    case audio = 0
    case video = 1
    case data = 2
    /// The decoder configuration ("magic cookie") of the stream: precedes its media.
    case configuration = 3
    /// Several frames in one message: ``BundleReader``.
    case bundle = 4
    /// A piece of a frame that was cut: ``MediaPart``.
    case part = 5

    /// The kind of a message, if it is one that goes from the relay to its clients only; whatever else may be wrong with it.
    package static func ofRelaysOnly(_ message: UnsafeRawBufferPointer) -> MediaKind? {
        guard message.count >= MediaHeader.byteCount, unsafe message[0] >> 4 == MediaHeader.version else { return nil }
        switch unsafe MediaKind(rawValue: message[0] & 15) {
        case .bundle: return .bundle
        case .part: return .part
        case .audio, .video, .data, .configuration, nil: return nil
        }
    }
}

/// The second byte of a media frame.
package struct MediaFlags: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    @inlinable
    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Decoding can start here.
    package static let key = MediaFlags(rawValue: 0x01)
    /// No other frame needs this one.
    package static let discardable = MediaFlags(rawValue: 0x02)
    /// What came before does not lead here: decoders and jitter buffers start afresh.
    package static let discontinuity = MediaFlags(rawValue: 0x04)
    /// Discontinuous transmission: the speaker is silent.
    package static let silence = MediaFlags(rawValue: 0x08)
    /// The last frame of a picture, when layers travel as frames of their own.
    package static let endOfPicture = MediaFlags(rawValue: 0x10)
    /// An extension block follows the header: ``ExtensionReader``.
    package static let extensionPresent = MediaFlags(rawValue: 0x20)
    /// The payload is opaque; header and extensions are in the clear.
    package static let encrypted = MediaFlags(rawValue: 0x40)
    /// Must be 0.
    package static let reserved = MediaFlags(rawValue: 0x80)
}

/// The third byte: spatial layer in the high 4 bits, temporal layer in the low 4.
package struct MediaLayer: Hashable, Sendable {
    package var rawValue: UInt8

    @inlinable
    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// - Precondition: both are 0…15.
    @inlinable
    package init(spatial: UInt8, temporal: UInt8) {
        precondition(spatial < 16 && temporal < 16, "layers are 4 bits each")
        rawValue = spatial << 4 | temporal
    }

    package static let base = MediaLayer(rawValue: 0)

    @inlinable package var spatial: UInt8 { rawValue >> 4 }
    @inlinable package var temporal: UInt8 { rawValue & 0x0F }
}

/// The fourth byte, in the format of RFC 6464 §3: voice-activity bit, then the level in −dBov (0 = loudest, 127 = silence). Meaningful for audio only.
package struct AudioLevel: Hashable, Sendable {
    package var rawValue: UInt8

    @inlinable
    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// - Parameter minusDecibelsOverload: attenuation below overload in dB; more than 127 counts as 127.
    @inlinable
    package init(voice: Bool, minusDecibelsOverload: UInt8) {
        rawValue = (voice ? 0x80 : 0) | min(minusDecibelsOverload, 127)
    }

    package static let silent = AudioLevel(rawValue: 127)

    @inlinable package var isVoice: Bool { rawValue & 0x80 != 0 }
    @inlinable package var minusDecibelsOverload: UInt8 { rawValue & 0x7F }
}

/// Names one published stream inside a room.
package struct StreamID: Hashable, Sendable {
    package let rawValue: UInt32

    @inlinable
    package init(_ rawValue: UInt32) {
        self.rawValue = rawValue
    }
}
