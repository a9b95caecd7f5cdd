internal import CAVFormat
internal import MediaProtocol

/// One stream in a file that players play: Opus in Ogg, everything else in Matroska. Nothing is encoded; libavformat only wraps.
///
/// Ogg pages of 200 ms, Matroska clusters of 1 s: killed at any moment, the file is good up to the last of them.
@safe
struct PlayableFile: ~Copyable {
    let path: String
    private let context: UnsafeMutablePointer<AVFormatContext>
    private let packet: AVPacketHolder
    private let base: AVRational
    private var isFinished = false

    /// The file name's extension for a codec.
    static func fileExtension(_ codec: MediaCodec) -> String {
        codec == .audio(.opus) ? "opus" : "mkv"
    }

    /// - Throws: `create` when the file cannot be made, or libavformat does not take the stream (for example AAC without its configuration).
    init(path: String, codec: MediaCodec, description: StreamDescription, configuration: [UInt8]) throws(MediaFileFault) {
        AVLibrary.prepare()
        let packet = try AVPacketHolder(path: path)
        var context: UnsafeMutablePointer<AVFormatContext>?
        let format = codec == .audio(.opus) ? "opus" : "matroska"
        let allocated = unsafe avformat_alloc_output_context2(&context, nil, format, nil)
        guard allocated >= 0, let output = unsafe context else { throw .create(path: path, reason: AVLibrary.text(allocated)) }
        let base = AVRational(num: 1, den: Int32(description.timescale.ticksPerSecond))
        var code = unsafe Self.addStream(to: output, codec: codec, description: description, configuration: configuration, base: base)
        if code >= 0 { code = unsafe avio_open(&output.pointee.pb, "file:" + path, AVIO_FLAG_WRITE) }
        if code >= 0 {
            unsafe output.pointee.flags |= AVFMT_FLAG_FLUSH_PACKETS
            var options = AVOptions(["cluster_time_limit": "1000", "page_duration": "200000"])
            code = unsafe avformat_write_header(output, &options.dictionary)
        }
        guard code >= 0 else {
            unsafe avio_closep(&output.pointee.pb)
            unsafe avformat_free_context(output)
            throw .create(path: path, reason: AVLibrary.text(code))
        }
        self.path = path
        unsafe self.context = unsafe output
        self.packet = packet
        self.base = base
    }

    deinit {
        if !isFinished { unsafe av_write_trailer(context) }
        unsafe avio_closep(&context.pointee.pb)
        unsafe avformat_free_context(context)
    }

    /// Appends one packet. Times are in ticks of the stream's timescale, counted from the start of the file.
    ///
    /// - Throws: `write`, also for times that the container does not allow.
    mutating func append(_ payload: RawSpan, decode: Int64, presentation: Int64, duration: Int64, isKey: Bool) throws(MediaFileFault) {
        guard let size = Int32(exactly: payload.byteCount) else { throw .write(path: path, reason: "packet too large") }
        let allocated = unsafe av_new_packet(packet.pointer, size)
        guard allocated >= 0 else { throw .write(path: path, reason: AVLibrary.text(allocated)) }
        defer { unsafe av_packet_unref(packet.pointer) }
        unsafe payload.withUnsafeBytes { bytes in
            unsafe UnsafeMutableRawBufferPointer(start: packet.pointer.pointee.data, count: bytes.count).copyMemory(from: bytes)
        }
        unsafe packet.pointer.pointee.stream_index = 0
        unsafe packet.pointer.pointee.dts = decode
        unsafe packet.pointer.pointee.pts = presentation
        unsafe packet.pointer.pointee.duration = duration
        unsafe packet.pointer.pointee.flags = isKey ? AV_PKT_FLAG_KEY : 0
        if let stream = unsafe context.pointee.streams[0] { unsafe av_packet_rescale_ts(packet.pointer, base, stream.pointee.time_base) }
        let written = unsafe av_write_frame(context, packet.pointer)
        guard written >= 0 else { throw .write(path: path, reason: AVLibrary.text(written)) }
    }

    /// Ends the page or cluster that is open, so that what there is can be read: all of it, but for the last packet of audio in Matroska, which libavformat
    /// keeps back to give it a place in the next cluster.
    mutating func flush() throws(MediaFileFault) {
        let flushed = unsafe av_write_frame(context, nil)
        guard flushed >= 0 else { throw .write(path: path, reason: AVLibrary.text(flushed)) }
        unsafe avio_flush(context.pointee.pb)
    }

    /// Writes the end of the file: index and duration. Nothing can be appended after.
    mutating func finish() throws(MediaFileFault) {
        guard !isFinished else { return }
        isFinished = true
        let written = unsafe av_write_trailer(context)
        guard written >= 0 else { throw .write(path: path, reason: AVLibrary.text(written)) }
    }

    private static func addStream(
        to context: UnsafeMutablePointer<AVFormatContext>, codec: MediaCodec, description: StreamDescription, configuration: [UInt8], base: AVRational
    ) -> Int32 {
        let outOfMemory = segue_averror_enomem
        guard let stream = unsafe avformat_new_stream(context, nil), let parameters = unsafe stream.pointee.codecpar else { return outOfMemory }
        unsafe stream.pointee.time_base = base
        unsafe parameters.pointee.codec_id = CodecMapping.identifier(codec)
        switch description {
        case .audio(let audio):
            unsafe parameters.pointee.codec_type = AVMEDIA_TYPE_AUDIO
            // Opus always decodes at 48 kHz (RFC 7845 §5.1).
            unsafe parameters.pointee.sample_rate = audio.codec == .opus ? 48_000 : Int32(clamping: audio.sampleRate)
            unsafe av_channel_layout_default(&parameters.pointee.ch_layout, Int32(audio.channels))
            if audio.codec == .pcmS16 { unsafe parameters.pointee.bits_per_coded_sample = 16 }
            if audio.codec == .pcmu || audio.codec == .pcma { unsafe parameters.pointee.bits_per_coded_sample = 8 }
        case .video(let video):
            unsafe parameters.pointee.codec_type = AVMEDIA_TYPE_VIDEO
            unsafe parameters.pointee.width = Int32(clamping: video.width)
            unsafe parameters.pointee.height = Int32(clamping: video.height)
        case .data: return segue_averror_eperm
        }
        guard !configuration.isEmpty else { return 0 }
        let padding = Int(AV_INPUT_BUFFER_PADDING_SIZE)
        guard let size = Int32(exactly: configuration.count), let memory = unsafe av_mallocz(configuration.count + padding) else {
            return outOfMemory
        }
        unsafe UnsafeMutableRawBufferPointer(start: memory, count: configuration.count).copyBytes(from: configuration)
        unsafe parameters.pointee.extradata = unsafe memory.assumingMemoryBound(to: UInt8.self)
        unsafe parameters.pointee.extradata_size = size
        return 0
    }
}
