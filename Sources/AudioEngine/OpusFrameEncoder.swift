internal import COpus
internal import RelayBase

/// Encodes Float32 to Opus packets (RFC 6716).
@safe
package struct OpusFrameEncoder: ~Copyable {
    /// No packet of one frame is longer (RFC 6716 §3.2.1), with the byte before it.
    package static let packetBytesMax = 1_276

    package let sampleRate: Int
    package let channels: Int
    package private(set) var settings: OpusSettings
    private let encoder: OpaquePointer
    private var breaksPrediction = false

    /// - Parameters:
    ///   - sampleRate: of what goes in: 8,000, 12,000, 16,000, 24,000 or 48,000.
    ///   - channels: 1 or 2.
    ///   - settings: what is out of bounds is brought within.
    package init(sampleRate: Int, channels: Int, _ settings: OpusSettings, application: OpusApplication = .audio) throws(AudioFault) {
        guard AudioBandwidth.sampleRates.contains(sampleRate) else { throw .sampleRate }
        guard (1...2).contains(channels) else { throw .channels }
        let kind =
            switch application {
            case .voice: OPUS_APPLICATION_VOIP
            case .audio: OPUS_APPLICATION_AUDIO
            case .lowDelay: OPUS_APPLICATION_RESTRICTED_LOWDELAY
            }
        var status: Int32 = 0
        guard let encoder = unsafe opus_encoder_create(Int32(sampleRate), Int32(channels), kind, &status), status == OPUS_OK else {
            throw .codecFailed
        }
        unsafe self.encoder = encoder
        self.sampleRate = sampleRate
        self.channels = channels
        self.settings = settings.clamped
        set()
    }

    deinit { unsafe opus_encoder_destroy(encoder) }

    /// From the next packet on; what is out of bounds is brought within.
    package mutating func apply(_ settings: OpusSettings) {
        let settings = settings.clamped
        guard settings != self.settings else { return }
        self.settings = settings
        set()
    }

    /// Samples per channel that what comes out is behind what went in.
    package var lookahead: Int {
        var samples: Int32 = 0
        _ = unsafe segue_opus_lookahead(encoder, &samples)
        return Int(samples)
    }

    /// The next packet refers to none before it, so that a decoder that had others may go on with it.
    package mutating func breakPrediction() { breaksPrediction = true }

    /// Forgets what came before.
    package mutating func reset() { _ = unsafe segue_opus_reset_encoder(encoder) }

    /// - Parameters:
    ///   - samples: interleaved: 2.5, 5, 10, 20, 40, 60, 80, 100 or 120 ms.
    ///   - packet: room for ``packetBytesMax``, more for several frames of a high bit rate. Less room, a lower bit rate.
    /// - Returns: bytes written; 0 for a duration that Opus does not have.
    package mutating func encode(_ samples: Span<Float>, into packet: inout MutableRawSpan) -> Int {
        let count = samples.count / channels
        let steps = count * 400 / sampleRate
        guard samples.count == count * channels, steps * sampleRate == count * 400, Self.isDuration(steps) else { return 0 }
        if breaksPrediction { _ = unsafe segue_opus_set_prediction_disabled(encoder, 1) }
        let written = unsafe samples.withUnsafeBufferPointer { input in
            unsafe packet.withUnsafeMutableBytes { room in
                guard let input = input.baseAddress, let output = unsafe room.assumingMemoryBound(to: UInt8.self).baseAddress else { return Int32(0) }
                return unsafe opus_encode_float(encoder, input, Int32(clamping: count), output, Int32(clamping: room.count))
            }
        }
        if breaksPrediction {
            _ = unsafe segue_opus_set_prediction_disabled(encoder, 0)
            breaksPrediction = false
        }
        return Int(max(written, 0))
    }

    /// In steps of 2.5 ms (RFC 6716 §2.1.4, and opus_encode_float's documentation).
    private static func isDuration(_ steps: Int) -> Bool {
        switch steps {
        case 1, 2, 4, 8, 16, 24, 32, 40, 48: true
        default: false
        }
    }

    private func set() {
        // Refused are only values out of bounds, which these are not.
        unsafe _ = segue_opus_set_bitrate(encoder, Int32(settings.bitsPerSecond))
        unsafe _ = segue_opus_set_max_bandwidth(encoder, settings.bandwidth.opus)
        unsafe _ = segue_opus_set_force_channels(encoder, settings.channels == 1 ? 1 : OPUS_AUTO)
        unsafe _ = segue_opus_set_complexity(encoder, Int32(settings.complexity))
        unsafe _ = segue_opus_set_inband_fec(encoder, settings.usesInbandFEC ? 1 : 0)
        unsafe _ = segue_opus_set_packet_loss(encoder, Int32(settings.expectedLossPercent))
        unsafe _ = segue_opus_set_dtx(encoder, settings.isDiscontinuous ? 1 : 0)
    }
}
