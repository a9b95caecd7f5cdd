internal import CSpeexDSP

/// Converts between sample rates (libspeexdsp), interleaved Float32. What comes out is some milliseconds behind what goes in: half the filter's length.
/// Where the rates are the same, nothing is done to the samples.
@safe
package struct Resampler: ~Copyable {
    package static let sampleRateBounds = 4_000...192_000
    /// 0 (coarse) to 10. 4 keeps what aliases 80 dB down, with a delay of 4 ms at 8 kHz.
    package static let qualityDefault = 4

    package let inputRate: Int
    package let outputRate: Int
    package let channels: Int
    /// `nil`: the rates are the same.
    private let state: OpaquePointer?

    /// - Parameter channels: 1 or 2.
    package init(inputRate: Int, outputRate: Int, channels: Int, quality: Int = Resampler.qualityDefault) throws(AudioFault) {
        guard Self.sampleRateBounds.contains(inputRate), Self.sampleRateBounds.contains(outputRate) else { throw .sampleRate }
        guard (1...2).contains(channels) else { throw .channels }
        guard (0...10).contains(quality) else { throw .settings }
        let state = unsafe Self.makeState(inputRate: inputRate, outputRate: outputRate, channels: channels, quality: quality)
        guard unsafe inputRate == outputRate || state != nil else { throw .codecFailed }
        unsafe self.state = state
        self.inputRate = inputRate
        self.outputRate = outputRate
        self.channels = channels
    }

    private static func makeState(inputRate: Int, outputRate: Int, channels: Int, quality: Int) -> OpaquePointer? {
        guard inputRate != outputRate else { return nil }
        var status: Int32 = 0
        return unsafe speex_resampler_init(UInt32(channels), UInt32(inputRate), UInt32(outputRate), Int32(quality), &status)
    }

    deinit { if let state = unsafe state { unsafe speex_resampler_destroy(state) } }

    /// Samples per channel, of what goes in, that what comes out is behind.
    package var latency: Int { if let state = unsafe state { unsafe Int(speex_resampler_get_input_latency(state)) } else { 0 } }

    /// - Returns: samples per channel that were taken, and that were made. All are taken when there is room for what becomes of them.
    @_lifetime(output: copy output)
    package mutating func process(_ input: Span<Float>, into output: inout MutableSpan<Float>) -> (taken: Int, made: Int) {
        var taken = UInt32(clamping: input.count / channels)
        var made = UInt32(clamping: output.count / channels)
        guard taken > 0, made > 0 else { return (0, 0) }
        guard let state = unsafe state else {
            let count = Int(min(taken, made))
            for index in 0..<count * channels { output[index] = input[index] }
            return (count, count)
        }
        let status = unsafe input.withUnsafeBufferPointer { input in
            unsafe output.withUnsafeMutableBufferPointer { output in
                unsafe speex_resampler_process_interleaved_float(state, input.baseAddress, &taken, output.baseAddress, &made)
            }
        }
        return status == 0 ? (Int(taken), Int(made)) : (0, 0)
    }

    /// Forgets what came before.
    package mutating func reset() { if let state = unsafe state { _ = unsafe speex_resampler_reset_mem(state) } }
}
