internal import Glibc
package import MediaProtocol

/// Saves one stream as it is heard: a frame log with every byte of every frame (``FrameLog``), and beside it, where the codec allows, a file that
/// players play. Nothing is encoded.
///
/// Writing waits for the disk, so it belongs off the media path. What is flushed survives the process: at most about a second of media is not.
package struct RecordedStreamWriter: ~Copyable {
    /// `<directory>/<participant>-<stream>.segue`; with `-2`, `-3`, … before the dot when that exists already.
    package let framesPath: String
    /// The playable files so far; a further one starts when the configuration changes.
    package private(set) var playablePaths: [String] = []
    /// Why frames are missing from the playable files; `nil` while none is for any other reason than waiting for the first key frame.
    package private(set) var playableProblem: String?
    package private(set) var framesWritten = 0
    package private(set) var playableFramesWritten = 0

    private let description: StreamDescription
    private let codec: MediaCodec?
    private var configuration: [UInt8]
    private var frames: AppendingFile
    private var playable: PlayableFile?
    private var clock = TimestampUnwrapper()
    /// Decode time of the playable file's first frame, and of the last flush.
    private var origin: Int64 = 0
    private var flushed: Int64?
    /// No further playable file is tried once one could not be made.
    private var gaveUp = false

    private static let namesMax = 10_000

    /// Creates the frame log; `directory` must exist.
    ///
    /// - Parameters:
    ///   - participant: any name; made safe for the file system.
    ///   - configuration: the decoder configuration, where it is known already; frames of kind configuration bring it too.
    /// - Throws: `create`, `write`.
    package init(
        directory: String, participant: String, stream: StreamID, description: StreamDescription, configuration: [UInt8] = []
    ) throws(MediaFileFault) {
        var frames = try Self.createLog("\(directory)/\(StreamLabel.fileName(participant))-\(stream.rawValue)")
        let line = StreamLabel.json(participant: participant, stream: stream, description: description, configuration: configuration)
        unsafe frames.append((FrameLog.magic + Array(line.utf8) + [UInt8(ascii: "\n")]).span.bytes)
        try frames.flush()
        framesPath = frames.path
        self.frames = frames
        self.description = description
        self.configuration = configuration
        codec =
            switch description {
            case .audio(let audio): .audio(audio.codec)
            case .video(let video): .video(video.codec)
            case .data: nil
            }
    }

    private static func createLog(_ stem: String) throws(MediaFileFault) -> AppendingFile {
        for number in 1...namesMax {
            if let file = try AppendingFile.create(number == 1 ? stem + ".segue" : "\(stem)-\(number).segue") { return file }
        }
        throw .create(path: stem + ".segue", reason: systemText(EEXIST))
    }

    /// Saves one frame of the stream, as it was received: header, extensions, payload. A bundle is taken apart by the caller.
    ///
    /// - Throws: `malformedFrame`, `unexpectedKind` (nothing is written then), `write`. A playable file that cannot be written ends with
    ///   ``playableProblem``; the frame log goes on.
    package mutating func append(_ frame: RawSpan) throws(MediaFileFault) {
        let header: MediaHeader
        let details: MediaExtensions
        do {
            header = try MediaHeader(parsing: frame)
            details = try MediaExtensions(frame: frame, flags: header.flags)
        } catch {
            throw .malformedFrame(error)
        }
        guard header.kind == .configuration || header.kind == description.kind, let length = UInt32(exactly: frame.byteCount) else {
            throw .unexpectedKind(header.kind)
        }
        try frames.flushIfFull()
        frames.append(bigEndian: length)
        frames.append(frame)
        framesWritten += 1
        let payload = frame.extracting(details.payloadOffset..<frame.byteCount)
        if header.kind == .configuration {
            takeConfiguration(payload)
            return
        }
        let decode = clock.unwrap(header.timestamp)
        appendPlayable(payload, header, details, decode)
        // By the media's own clock, either way round: no timer is needed, and a stream that stands still has nothing to lose.
        let elapsed = (flushed ?? decode).distance(to: decode)
        if flushed == nil || elapsed.magnitude >= UInt64(description.timescale.ticksPerSecond) {
            flushed = decode
            try frames.flush()
        }
    }

    /// Writes out everything that is buffered.
    ///
    /// - Throws: `write`.
    package mutating func flush() throws(MediaFileFault) {
        try frames.flush()
        try playable?.flush()
    }

    /// Completes the files. Nothing is appended after; letting the writer go does the same, but tells no fault.
    ///
    /// - Throws: `write`.
    package mutating func finish() throws(MediaFileFault) {
        gaveUp = true
        try frames.flush()
        try playable?.finish()
        playable = nil
    }

    /// A changed configuration ends the playable file: its header holds the old one. The next key frame begins another.
    private mutating func takeConfiguration(_ payload: RawSpan) {
        let bytes = unsafe payload.withUnsafeBytes { bytes in unsafe Array(bytes) }
        guard bytes != configuration else { return }
        configuration = bytes
        endPlayable()
    }

    private mutating func endPlayable() {
        do {
            try playable?.finish()
        } catch {
            playableProblem = error.description
        }
        playable = nil
    }

    private mutating func appendPlayable(_ payload: RawSpan, _ header: MediaHeader, _ details: MediaExtensions, _ decode: Int64) {
        guard let codec, !gaveUp, payload.byteCount > 0 else { return }
        guard !header.flags.contains(.encrypted) else {
            playableProblem = "encrypted frames cannot be played"
            return
        }
        let isKey = description.kind == .audio || header.flags.contains(.key)
        do {
            if playable == nil {
                // A player can only start at a key frame.
                guard isKey else { return }
                try startPlayable(codec, firstPayload: payload)
                origin = decode
            }
            let presentation = decode + Int64(details.compositionOffset ?? 0)
            let duration = details.duration.map { Int64($0) } ?? usualDuration(payload)
            try playable?.append(payload, decode: decode - origin, presentation: presentation - origin, duration: duration, isKey: isKey)
            playableFramesWritten += 1
        } catch {
            playableProblem = error.description
        }
    }

    private mutating func startPlayable(_ codec: MediaCodec, firstPayload: RawSpan) throws(MediaFileFault) {
        let stem = String(framesPath.dropLast(".segue".count))
        let number = playablePaths.count + 1
        let path = (number == 1 ? stem : "\(stem).\(number)") + "." + PlayableFile.fileExtension(codec)
        do {
            playable = try PlayableFile(
                path: path, codec: codec, description: description, configuration: playableConfiguration(codec, firstPayload: firstPayload))
            playablePaths.append(path)
        } catch {
            gaveUp = true
            throw error
        }
    }

    /// The configuration, or what stands for it when none was sent: an OpusHead (RFC 7845 §5.1), the parameter sets before the first slice.
    private func playableConfiguration(_ codec: MediaCodec, firstPayload: RawSpan) -> [UInt8] {
        guard configuration.isEmpty else { return configuration }
        switch codec {
        case .audio(.opus):
            guard case .audio(let audio) = description else { return [] }
            return OpusHead.encoded(channels: audio.channels, inputRate: audio.sampleRate)
        case .video(let video):
            guard let summary = NALSummary(codec: video, payload: firstPayload), summary.framing == .annexB, let end = summary.firstSliceOffset else {
                return []
            }
            return unsafe firstPayload.extracting(0..<end).withUnsafeBytes { bytes in unsafe Array(bytes) }
        case .audio: return []
        }
    }

    /// How long a frame plays that does not say so, in ticks; 0 when nothing tells.
    private func usualDuration(_ payload: RawSpan) -> Int64 {
        switch description {
        case .audio(let audio):
            if audio.codec == .opus, let samples = OpusPacket.sampleCount(payload) { return Int64(samples) }
            return Int64(audio.frameMicroseconds) * Int64(description.timescale.ticksPerSecond) / 1_000_000
        case .video(let video):
            return video.frameRate > 0 ? Int64(Double(description.timescale.ticksPerSecond) / video.frameRate) : 0
        case .data: return 0
        }
    }
}
