package import MediaProtocol

/// A stream of a media file that can be published.
package struct MediaFileStream: Hashable, Sendable {
    /// The stream's number in the file.
    package let index: Int
    package let codec: MediaCodec
    /// RFC 6381 for video and AAC, the protocol's own name for the rest.
    package let codecString: String
    package let description: StreamDescription
    /// The decoder configuration ("magic cookie") as the container stores it: OpusHead, avcC or SPS and PPS, hvcC, av1C, AudioSpecificConfig; may be empty.
    package let configuration: [UInt8]
    /// How NAL units are framed, for H.264 and HEVC.
    package let framing: NALFraming?
    package let durationNanoseconds: Int64?

    /// The same stream of the file, published in another encoding than the file holds.
    package func encoded(as description: StreamDescription, codecString: String, configuration: [UInt8]) -> MediaFileStream {
        let codec = MediaCodec(codecString: codecString) ?? codec
        return MediaFileStream(
            index: index, codec: codec, codecString: codecString, description: description, configuration: configuration, framing: nil,
            durationNanoseconds: durationNanoseconds)
    }
}

/// A stream of a media file that is left out, and why.
package struct SkippedMediaStream: Hashable, Sendable {
    package let index: Int
    /// `audio`, `video`, `subtitle`, `data`, `attachment` or `unknown`.
    package let kindName: String
    /// libavformat's name for the codec.
    package let codecName: String
    package let reason: String
}

/// One packet of a media file.
package struct MediaSample: Hashable, Sendable {
    /// The stream's number in the file.
    package var streamIndex: Int
    /// Exactly the bytes in the container: an Opus packet, an access unit of H.264 in the framing of its configuration, …
    package var payload: [UInt8]
    /// In ticks of the stream's timescale (48,000 a second for audio, 90,000 for video). Truncated to 32 bits, it is the header's timestamp. Negative before
    /// the file's zero (encoder delay, reordering).
    package var decodeTimestamp: Int64
    /// In the same ticks; differs from the decode time in streams with reordering.
    package var presentationTimestamp: Int64
    package var decodeNanoseconds: Int64
    package var presentationNanoseconds: Int64
    /// In ticks; for Opus the duration that the packet itself states; 0 when nothing tells.
    package var duration: UInt32
    package var isKey: Bool
    /// No other frame needs this one.
    package var isDiscardable: Bool

    /// Presentation minus decode time, for the header extension; `nil` when they are equal or too far apart to be true.
    package var compositionOffset: Int32? {
        let offset = presentationTimestamp &- decodeTimestamp
        return offset == 0 ? nil : Int32(exactly: offset)
    }
}
