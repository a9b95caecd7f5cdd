internal import COpus
internal import JitterBuffer
internal import RelayBase

/// Decodes Opus packets (RFC 6716) to Float32, and makes up for those that are missing.
///
/// What comes out is within −1 to 1: the library itself gives peaks of a million where a packet was made to do so.
@safe
package struct OpusFrameDecoder: ~Copyable, JitterDecoder {
    package let sampleRate: Int
    package let channels: Int
    private let decoder: OpaquePointer
    /// What soft clipping goes on from, by channel.
    private var clipping: InlineArray<2, Float> = [0, 0]

    /// - Parameters:
    ///   - sampleRate: of what comes out: 8,000, 12,000, 16,000, 24,000 or 48,000, whatever went into the encoder.
    ///   - channels: of what comes out: 1 or 2, whatever the packets have.
    package init(sampleRate: Int, channels: Int) throws(AudioFault) {
        guard AudioBandwidth.sampleRates.contains(sampleRate) else { throw .sampleRate }
        guard (1...2).contains(channels) else { throw .channels }
        var status: Int32 = 0
        guard let decoder = unsafe opus_decoder_create(Int32(sampleRate), Int32(channels), &status), status == OPUS_OK else { throw .codecFailed }
        unsafe self.decoder = decoder
        self.sampleRate = sampleRate
        self.channels = channels
    }

    deinit { unsafe opus_decoder_destroy(decoder) }

    package func sampleCount(of payload: RawSpan) -> Int {
        OpusPacketShape(payload, sampleRate: sampleRate)?.sampleCount ?? 0
    }

    package func redundantSampleCount(of payload: RawSpan) -> Int {
        guard let shape = OpusPacketShape(payload, sampleRate: sampleRate), shape.hasRedundancy else { return 0 }
        return shape.samplesPerFrame
    }

    package mutating func decode(_ payload: RawSpan, into samples: inout MutableSpan<Float>) -> Int {
        run(payload, sampleCount: samples.count / channels, isRedundancy: false, into: &samples)
    }

    package mutating func decodeRedundancy(of payload: RawSpan, sampleCount: Int, into samples: inout MutableSpan<Float>) -> Int {
        let count = wholeSteps(sampleCount, room: samples.count)
        guard count > 0, redundantSampleCount(of: payload) > 0 else { return 0 }
        return run(payload, sampleCount: count, isRedundancy: true, into: &samples)
    }

    package mutating func conceal(sampleCount: Int, into samples: inout MutableSpan<Float>) -> Int {
        let count = wholeSteps(sampleCount, room: samples.count)
        guard count > 0 else { return 0 }
        let made = unsafe samples.withUnsafeMutableBufferPointer { room in
            guard let output = room.baseAddress else { return Int32(0) }
            return unsafe opus_decode_float(decoder, nil, 0, output, Int32(clamping: count), 0)
        }
        return clip(made, &samples)
    }

    package mutating func reset() {
        _ = unsafe segue_opus_reset_decoder(decoder)
        clipping = [0, 0]
    }

    /// - Returns: how many samples per channel were made.
    private mutating func clip(_ made: Int32, _ samples: inout MutableSpan<Float>) -> Int {
        guard made > 0 else { return 0 }
        let channels = Int32(channels)
        var memory = clipping.mutableSpan
        unsafe memory.withUnsafeMutableBufferPointer { memory in
            unsafe samples.withUnsafeMutableBufferPointer { room in
                guard let output = room.baseAddress, let state = memory.baseAddress else { return }
                unsafe opus_pcm_soft_clip(output, made, channels, state)
            }
        }
        return Int(made)
    }

    /// The library conceals in steps of 2.5 ms only, 120 ms at most.
    private func wholeSteps(_ sampleCount: Int, room: Int) -> Int {
        let step = sampleRate / 400
        return min(sampleCount, room / channels, 48 * step) / step * step
    }

    private mutating func run(_ payload: RawSpan, sampleCount: Int, isRedundancy: Bool, into samples: inout MutableSpan<Float>) -> Int {
        // A null pointer or no bytes would mean concealment: asked for by that name only.
        guard let length = Int32(exactly: payload.byteCount), length > 0 else { return 0 }
        let made = unsafe payload.withUnsafeBytes { bytes in
            unsafe samples.withUnsafeMutableBufferPointer { room in
                guard let output = room.baseAddress else { return Int32(0) }
                return unsafe opus_decode_float(
                    decoder, bytes.assumingMemoryBound(to: UInt8.self).baseAddress, length, output, Int32(clamping: sampleCount), isRedundancy ? 1 : 0
                )
            }
        }
        return clip(made, &samples)
    }
}
