package import MediaProtocol

/// Codecs that are samples, one after the other: channels interleaved, `pcm_s16` little-endian (PROTOCOL.md §5.5).
package enum PCMFormat: UInt8, Sendable, Hashable, CaseIterable {
    case s16
    case mu
    case a

    /// - Returns: `nil` for codecs that are no such thing.
    package init?(_ codec: AudioCodec) {
        switch codec {
        case .pcmS16: self = .s16
        case .pcmu: self = .mu
        case .pcma: self = .a
        case .opus, .aac: return nil
        }
    }

    package var bytesPerSample: Int {
        switch self {
        case .s16: 2
        case .mu, .a: 1
        }
    }

    private static let scale: Float = 32_768

    /// Decodes, and brings the channels to as many as are wanted: of several, one gets the mean; two get the mean of the even and of the odd ones.
    ///
    /// - Parameters:
    ///   - frames: of `payload`, which has them.
    ///   - samples: room for them in `outputChannels` (1 or 2) channels.
    func decode(_ payload: RawSpan, frames: Range<Int>, channels: Int, into samples: inout MutableSpan<Float>, outputChannels: Int) {
        for (place, frame) in frames.enumerated() {
            let first = frame * channels
            if channels == outputChannels {
                for channel in 0..<channels { samples[place * channels + channel] = sample(first + channel, of: payload) }
            } else if channels == 1 {
                let value = sample(first, of: payload)
                samples[place * 2] = value
                samples[place * 2 + 1] = value
            } else {
                for side in 0..<outputChannels {
                    var sum: Float = 0
                    for channel in stride(from: side, to: channels, by: outputChannels) { sum += sample(first + channel, of: payload) }
                    samples[place * outputChannels + side] = sum / Float((channels - side + outputChannels - 1) / outputChannels)
                }
            }
        }
    }

    private func sample(_ index: Int, of payload: RawSpan) -> Float {
        let linear: Int16 =
            switch self {
            case .s16: Int16(littleEndian: unsafe payload.unsafeLoadUnaligned(fromByteOffset: index * 2, as: Int16.self))
            case .mu: G711.linearOfMu[Int(unsafe payload.unsafeLoadUnaligned(fromByteOffset: index, as: UInt8.self))]
            case .a: G711.linearOfA[Int(unsafe payload.unsafeLoadUnaligned(fromByteOffset: index, as: UInt8.self))]
            }
        return Float(linear) / Self.scale
    }

    /// Encodes; what is beyond full scale is cut off there, and what is no number is silence.
    ///
    /// - Parameter payload: as much is encoded as it has room for.
    /// - Returns: bytes written.
    package func encode(_ samples: Span<Float>, into payload: inout MutableRawSpan) -> Int {
        let count = min(samples.count, payload.byteCount / bytesPerSample)
        for index in 0..<count {
            let linear = Self.linear(samples[index])
            switch self {
            case .s16: payload.storeBytes(of: linear.littleEndian, toByteOffset: index * 2, as: Int16.self)
            case .mu: payload.storeBytes(of: G711.mu(linear: linear), toByteOffset: index, as: UInt8.self)
            case .a: payload.storeBytes(of: G711.a(linear: linear), toByteOffset: index, as: UInt8.self)
            }
        }
        return count * bytesPerSample
    }

    /// Rounded to the nearest.
    static func linear(_ sample: Float) -> Int16 {
        guard sample.isFinite else { return 0 }
        return Int16((sample * scale).rounded().clamped(to: -32_768...32_767))
    }
}
