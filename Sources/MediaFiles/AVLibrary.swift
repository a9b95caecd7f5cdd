internal import CAVFormat

/// What is common to all uses of libavformat.
enum AVLibrary {
    /// No timestamp (`AV_NOPTS_VALUE`, a macro with a cast, which Swift does not import).
    static let noTimestamp = Int64.min
    static let nanoseconds = AVRational(num: 1, den: 1_000_000_000)

    /// libavformat logs to standard error by default; what matters comes back as a fault instead. Once for the process.
    private static let silenced: Void = av_log_set_level(AV_LOG_QUIET)

    static func prepare() {
        _ = silenced
    }

    /// libavformat's sentence for an error code.
    static func text(_ code: Int32) -> String {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
            guard let start = buffer.baseAddress, unsafe av_strerror(code, start, buffer.count) == 0 else { return "error \(code)" }
            return unsafe String(cString: start)
        }
    }

    /// `value` in units of `base`, in units of `other`, rounded to the nearest; `nil` when there is none or it is beyond ±2⁶¹.
    static func rescale(_ value: Int64, from base: AVRational, to other: AVRational) -> Int64? {
        guard value != noTimestamp, base.num > 0, base.den > 0 else { return nil }
        // Answers Int64.min on overflow.
        let result = av_rescale_q_rnd(value, base, other, AV_ROUND_NEAR_INF)
        return (-(1 << 61)...(1 << 61)).contains(result) ? result : nil
    }
}

/// A dictionary of options for libavformat, freed with its scope.
@safe
struct AVOptions: ~Copyable {
    var dictionary: OpaquePointer?

    init(_ options: KeyValuePairs<String, String>) {
        for (key, value) in options { unsafe av_dict_set(&dictionary, key, value, 0) }
    }

    deinit {
        var dictionary = unsafe dictionary
        unsafe av_dict_free(&dictionary)
    }
}

/// One packet, used again and again.
@safe
struct AVPacketHolder: ~Copyable {
    let pointer: UnsafeMutablePointer<AVPacket>

    init(path: String) throws(MediaFileFault) {
        guard let pointer = unsafe av_packet_alloc() else { throw .open(path: path, reason: "out of memory") }
        unsafe self.pointer = unsafe pointer
    }

    deinit {
        var pointer: UnsafeMutablePointer<AVPacket>? = unsafe pointer
        unsafe av_packet_free(&pointer)
    }
}
