internal import CAVFormat
internal import MediaProtocol

/// Reads the packets of a media file, of any container that libavformat reads, as they are stored: nothing is decoded or converted.
///
/// Not for the relay's own threads: reading waits for the disk.
@safe
package struct MediaFileReader: ~Copyable {
    package let path: String
    /// The streams that ``next()`` gives packets of.
    package let streams: [MediaFileStream]
    package let skippedStreams: [SkippedMediaStream]
    /// How often the file was read from the start: 0 on the first pass.
    package private(set) var pass = 0

    private var input: InputContext
    private let packet: AVPacketHolder
    /// By the file's stream number; `nil` for skipped ones.
    private var tracks: [Track?]
    /// What is added to the timestamps of this pass, in whole milliseconds, which are whole ticks of every timescale.
    private var offsetMilliseconds: Int64 = 0
    /// Earliest decode time and latest end of this pass, without the offset, in nanoseconds.
    private var start: Int64?
    private var end: Int64 = 0

    private struct Track {
        let place: Int
        let base: AVRational
        let scale: AVRational
        /// Duration of a packet that does not tell, in ticks.
        let usualDuration: Int64
        var packets = 0
        /// Where the next packet is due, in ticks.
        var due: Int64?
    }

    /// - Throws: `open`, `noUsableStream`, `read`.
    package init(path: String) throws(MediaFileFault) {
        let input = try InputContext(path: path)
        let packet = try AVPacketHolder(path: path)
        let survey = StreamSurvey(of: input)
        guard !survey.streams.isEmpty else { throw .noUsableStream(path: path) }
        self.path = path
        streams = survey.streams
        skippedStreams = survey.skipped
        tracks = Self.tracks(of: input, survey.streams)
        self.input = input
        self.packet = packet
    }

    /// Whole length, where the container tells.
    package var durationNanoseconds: Int64? { input.durationNanoseconds }

    /// The next packet of any published stream, in the order of the file, which is decode order within a stream; `nil` at the end of the file.
    ///
    /// - Throws: `read`, `truncated`, `corruptPacket`, `malformedPacket`, `timestampOutOfRange`. After a fault of one packet the next call goes on behind it.
    package mutating func next() throws(MediaFileFault) -> MediaSample? {
        while true {
            let code = unsafe av_read_frame(input.pointer, packet.pointer)
            if code == segue_averror_eof {
                try checkComplete()
                return nil
            }
            guard code >= 0 else { throw .read(path: path, reason: AVLibrary.text(code)) }
            defer { unsafe av_packet_unref(packet.pointer) }
            let index = unsafe Int(packet.pointer.pointee.stream_index)
            // Some containers announce streams on the way; those were not described, so they are not published.
            guard tracks.indices.contains(index), let track = tracks[index] else { continue }
            tracks[index]?.packets += 1
            if let sample = try sample(of: streams[track.place], track) { return sample }
        }
    }

    /// Starts again at the first packet. Timestamps go on from where the last pass ended, rounded up to a millisecond, all streams by the same amount.
    ///
    /// - Throws: `open`; `changed` when the file no longer has the same streams.
    package mutating func rewind() throws(MediaFileFault) {
        let fresh = try InputContext(path: path)
        guard StreamSurvey(of: fresh).streams == streams else { throw .changed(path: path) }
        tracks = Self.tracks(of: fresh, streams)
        input = fresh
        let length = max(end - (start ?? 0), 0)
        offsetMilliseconds += (length + 999_999) / 1_000_000
        start = nil
        end = 0
        pass += 1
    }

    private mutating func sample(of stream: MediaFileStream, _ track: Track) throws(MediaFileFault) -> MediaSample? {
        let packet = unsafe packet.pointer.pointee
        guard unsafe packet.flags & AV_PKT_FLAG_CORRUPT == 0 else { throw .corruptPacket(path: path, stream: stream.index) }
        guard let data = unsafe packet.data, unsafe packet.size > 0 else { return nil }
        let payload = unsafe Array(UnsafeBufferPointer(start: data, count: Int(packet.size)))

        var duration = unsafe packet.duration > 0 ? AVLibrary.rescale(packet.duration, from: track.base, to: track.scale) ?? 0 : track.usualDuration
        if stream.codec == .audio(.opus) {
            guard let samples = unsafe OpusPacket.sampleCount(payload.span.bytes) else {
                throw .malformedPacket(path: path, stream: stream.index, codec: stream.codecString)
            }
            duration = Int64(samples)
        }
        let times = unsafe (pts: packet.pts, dts: packet.dts)
        let (decode, presentation) = try ticks(times, of: stream, track)
        tracks[stream.index]?.due = decode + duration
        let toNanoseconds = { (ticks: Int64) in AVLibrary.rescale(ticks, from: track.scale, to: AVLibrary.nanoseconds) }
        // From the container's own times where they are there, since ticks may be coarser.
        let base = track.base
        guard let decodeNanoseconds = AVLibrary.rescale(times.dts, from: base, to: AVLibrary.nanoseconds) ?? toNanoseconds(decode),
            let presentationNanoseconds = AVLibrary.rescale(times.pts, from: base, to: AVLibrary.nanoseconds) ?? toNanoseconds(presentation),
            let endNanoseconds = toNanoseconds(max(decode, presentation) + duration)
        else { throw .timestampOutOfRange(path: path, stream: stream.index) }
        start = min(start ?? decodeNanoseconds, decodeNanoseconds)
        end = max(end, endNanoseconds)

        let ticksPerMillisecond = Int64(track.scale.den) / 1_000
        let summary = summary(of: payload, stream)
        return unsafe MediaSample(
            streamIndex: stream.index, payload: payload, decodeTimestamp: decode + offsetMilliseconds * ticksPerMillisecond,
            presentationTimestamp: presentation + offsetMilliseconds * ticksPerMillisecond,
            decodeNanoseconds: decodeNanoseconds + offsetMilliseconds * 1_000_000,
            presentationNanoseconds: presentationNanoseconds + offsetMilliseconds * 1_000_000, duration: UInt32(clamping: duration),
            isKey: packet.flags & AV_PKT_FLAG_KEY != 0, isDiscardable: packet.flags & AV_PKT_FLAG_DISPOSABLE != 0 || summary)
    }

    /// Decode and presentation time in ticks; what is missing follows from the other or from the packet before.
    private func ticks(_ times: (pts: Int64, dts: Int64), of stream: MediaFileStream, _ track: Track) throws(MediaFileFault) -> (Int64, Int64) {
        let none = AVLibrary.noTimestamp
        let presentation = AVLibrary.rescale(times.pts, from: track.base, to: track.scale)
        let decode = AVLibrary.rescale(times.dts, from: track.base, to: track.scale)
        guard (presentation != nil) == (times.pts != none), (decode != nil) == (times.dts != none) else {
            throw .timestampOutOfRange(path: path, stream: stream.index)
        }
        let due = track.due ?? 0
        let found = decode ?? presentation.map { track.due == nil ? $0 : min($0, due) } ?? due
        // Room for the duration and for the offset of very many passes.
        guard abs(found) < 1 << 50, abs(presentation ?? 0) < 1 << 50 else { throw .timestampOutOfRange(path: path, stream: stream.index) }
        return (found, presentation ?? found)
    }

    /// Whether an H.264 picture says of itself that no other refers to it.
    private func summary(of payload: [UInt8], _ stream: MediaFileStream) -> Bool {
        guard stream.codec == .video(.h264) else { return false }
        return unsafe NALSummary(codec: .h264, payload: payload.span.bytes, framing: stream.framing)?.isDiscardable ?? false
    }

    /// At the end of a container with an index: every packet of every stream must have come.
    private func checkComplete() throws(MediaFileFault) {
        guard input.hasCompleteIndex else { return }
        for stream in streams {
            guard let pointer = unsafe input.stream(stream.index), let packets = tracks[stream.index]?.packets else { continue }
            let expected = unsafe Int(avformat_index_get_entries_count(pointer))
            if packets < expected { throw .truncated(path: path, stream: stream.index, packets: packets, expected: expected) }
        }
    }

    private static func tracks(of input: borrowing InputContext, _ streams: [MediaFileStream]) -> [Track?] {
        var tracks = [Track?](repeating: nil, count: input.streamCount)
        for (place, stream) in streams.enumerated() {
            guard let base = unsafe input.stream(stream.index)?.pointee.time_base else { continue }
            let ticksPerSecond = stream.description.timescale.ticksPerSecond
            var usual: Int64 = 0
            switch stream.description {
            case .audio(let audio): usual = Int64(audio.frameMicroseconds) * Int64(ticksPerSecond) / 1_000_000
            case .video(let video): usual = video.frameRate > 0 ? Int64(Double(ticksPerSecond) / video.frameRate) : 0
            case .data: break
            }
            tracks[stream.index] = Track(place: place, base: base, scale: AVRational(num: 1, den: Int32(ticksPerSecond)), usualDuration: usual)
        }
        return tracks
    }
}
