import MediaFiles
import MediaProtocol
import Reactor
import RelayBase
import RelayClient
import Signalling

/// Publishes the files' streams and sends their packets when they are due.
final class Publisher {
    /// What was sent, for people and for scripts.
    struct Summary: Encodable {
        struct Stream: Encodable {
            var file: String
            var stream: UInt32
            var kind: String
            var codec: String
            /// With --simulcast.
            var layer: Int?
            var frames: UInt64 = 0
            var bytes: UInt64 = 0
            /// Left out because they had become too late to be live.
            var framesSkipped: UInt64 = 0
            /// Of media: from the first packet's decode time to the last one's end.
            var seconds: Double = 0
            /// How its receivers had it, as the relay told last.
            var reception: RelayMessage.StreamQuality?
        }

        var room: String
        var streams: [Stream]
        var elapsedSeconds: Double = 0
        var latenessMillisecondsMax: UInt64 = 0
        var keyFrameRequests = 0
        var isInterrupted = false
        /// Connections that were lost and made anew, and frames that were sent once more because of that.
        var resumptions = 0
        var framesRepeated = 0
        /// What Opus encoders came to make, as subscribers wanted it.
        var formats: [FormatChange] = []
        var problems: [String] = []
        var clock: ClockSummary?
    }

    struct Track {
        let file: Int
        let source: MediaFileStream
        let id: StreamID
        let layer: MediaLayer
        var gate = LayerGate()
        var edge: LiveEdge
        var sequence: UInt32 = 0
        var firstDecode: Int64?
        /// `nil`: packets go out as they are in the file.
        let encoder: StreamEncoder?

        init(file: Int, source: MediaFileStream, id: StreamID, layer: Int, _ encoding: EncodingPlan?) throws {
            encoder = try encoding.flatMap { try $0.encoder(for: source) }
            self.file = file
            self.source = source
            self.id = id
            self.layer = MediaLayer(spatial: UInt8(layer), temporal: 0)
            edge = LiveEdge(kind: source.description.kind)
        }
    }

    private let connect: ClientConnect
    private let driver: ClientDriver
    private let conversation: ClientConversation
    private var feed: PublishFeed
    private let rate: Double
    private let simulcast: SimulcastPlan?
    private let encoding: EncodingPlan?
    private(set) var startedAt = MonotonicInstant.zero
    private var participant: UInt32 = 0
    var tracks: [Track] = []
    var progress = ProgressLine()
    private var progressDue = MonotonicInstant.zero
    private var extensions = ByteQueue()
    private var sent: SentFrames
    /// Late frames are left out.
    private let isLive: Bool
    /// The connection was lost or took nothing, and the timeline has not been caught up with since.
    private var isBehind = false

    /// From the moment that the last awaited listener is in the room: it still has to subscribe.
    private static let settleMilliseconds: UInt64 = 1_000

    init(
        _ connect: ClientConnect, _ feed: PublishFeed, rate: Double, simulcast: SimulcastPlan?, encoding: EncodingPlan?, resumes: Bool, isLive: Bool
    ) throws {
        self.encoding = encoding
        self.connect = connect
        driver = try ClientDriver()
        conversation = try ClientConversation(driver, connect, exchangesTime: true, resumes: resumes)
        sent = SentFrames(isKept: resumes)
        self.feed = feed
        self.rate = rate
        self.isLive = isLive
        self.simulcast = simulcast
    }

    func run(room: String, others: Int) throws -> Summary {
        defer { progress.clear() }
        try conversation.open()
        let entry = try conversation.join(connect, room: room) { Console.error("waiting in the lobby of \(room) until a host lets this client in") }
        participant = entry.participant
        try wait(for: others, present: (entry.participants?.count ?? 1) - 1)
        var summary = Summary(room: room, streams: [])
        try publish(&summary)
        let start = MonotonicClock.now()
        startedAt = start
        if let origin = feed.nextDecode { try send(PublishSchedule(start: start, originNanoseconds: origin, rate: rate), &summary) }
        summary.elapsedSeconds = Double(MonotonicClock.now().nanoseconds(since: start)) / 1e9
        summary.isInterrupted = driver.isInterrupted
        for id in Set(tracks.map(\.id.rawValue)).sorted() { _ = try conversation.request(.unpublish(.init(stream: id))) }
        _ = try conversation.request(.leave)
        try conversation.close()
        summary.clock = conversation.session.clockEstimate.map { ClockSummary(client: 1, $0) }
        summary.problems = feed.files.flatMap(\.problems)
        return summary
    }

    /// Waits until so many others are in the room.
    private func wait(for others: Int, present: Int) throws {
        guard others > 0 else { return }
        var count = present
        while count < others, !driver.isInterrupted {
            progress.show("waiting for listeners: \(count) of \(others)")
            try conversation.turn()
            for message in conversation.news {
                switch message {
                case .participantJoined: count += 1
                case .participantLeft: count -= 1
                case .roomRemoved(let removal): throw CommandFailure(removal)
                default: break
                }
            }
            conversation.news.removeAll()
        }
        let settled = MonotonicClock.now().advanced(byMilliseconds: Self.settleMilliseconds)
        while MonotonicClock.now() < settled, !driver.isInterrupted { try conversation.turn(until: settled) }
    }

    private func publish(_ summary: inout Summary) throws {
        /// The one stream of all encodings, once it has its number.
        var picture: UInt32?
        for (index, file) in feed.files.enumerated() {
            for source in file.streams {
                guard let layer = simulcast.map({ $0.layer(of: source, file: index) }) ?? 0 else { continue }
                let isPicture = simulcast?.isPicture(source, file: index) ?? false
                var request = ClientRequest.Publish(description: source)
                if isPicture { request.layers = simulcast?.layers }
                let known = isPicture ? picture : nil
                guard let id = try known ?? conversation.request(.publish(request)).stream else {
                    throw CommandFailure(code: .relay, message: "the relay gave no stream id")
                }
                if isPicture { picture = id }
                let track = try Track(file: index, source: source, id: StreamID(id), layer: layer, encoding)
                tracks.append(track)
                summary.streams.append(
                    .init(file: file.path, stream: id, kind: request.kind.rawValue, codec: source.codecString, layer: isPicture ? layer : nil))
                let header = MediaHeader(kind: .configuration, layer: track.layer, stream: track.id, sequence: 0, timestamp: 0)
                conversation.session.sendFrame(header, payload: unsafe source.configuration.span.bytes)
            }
        }
    }

    // MARK: Sending

    private func send(_ schedule: PublishSchedule, _ summary: inout Summary) throws {
        while !driver.isInterrupted, let decode = feed.nextDecode {
            let due = schedule.due(decodeNanoseconds: decode)
            let now = MonotonicClock.now()
            showProgress(now, summary)
            guard now >= due else {
                try conversation.turn(until: driver.isInterrupted ? now : min(due, progressDue))
                try goOn(&summary)
                try takeNews(&summary)
                continue
            }
            // What the relay does not take yet waits here, whole; the timeline stays as it is.
            guard conversation.session.canSend else {
                isBehind = isLive
                try conversation.turn(until: progressDue)
                try goOn(&summary)
                continue
            }
            guard let (file, sample) = feed.next() else { break }
            send(sample, file: file, due: due, now, &summary)
        }
        // The last packets leave before the streams are unpublished: one connection keeps its order.
        try takeNews(&summary)
    }

    private func send(_ sample: MediaSample, file: Int, due: MonotonicInstant, _ now: MonotonicInstant, _ summary: inout Summary) {
        guard let place = tracks.firstIndex(where: { $0.file == file && $0.source.index == sample.streamIndex }) else { return }
        guard tracks[place].gate.passes(isKey: sample.isKey) else { return }
        let track = tracks[place]
        var sample = sample
        var level = AudioLevel.silent
        var isSilence = false
        if let encoder = track.encoder {
            guard let frame = encoder.encode(sample.payload) else { return }
            (sample.payload, level, isSilence) = (frame.payload, frame.level, frame.isSilence)
        }
        tracks[place].sequence &+= 1
        let lateness = now.nanoseconds(since: due)
        if !track.edge.isLate(lateness) { isBehind = false }
        guard
            tracks[place].edge.takes(
                latenessNanoseconds: lateness, isKey: sample.isKey, isDiscardable: sample.isDiscardable, isBehind: isBehind)
        else {
            summary.streams[place].framesSkipped += 1
            return
        }
        summary.latenessMillisecondsMax = max(summary.latenessMillisecondsMax, lateness / 1_000_000)
        var flags: MediaFlags = tracks[place].edge.takeGap() ? .discontinuity : []
        if sample.isKey { flags.insert(.key) }
        if sample.isDiscardable { flags.insert(.discardable) }
        if isSilence { flags.insert(.silence) }
        let header = MediaHeader(
            kind: track.source.description.kind, flags: flags, layer: track.layer, level: level, stream: track.id, sequence: track.sequence,
            timestamp: UInt32(truncatingIfNeeded: sample.decodeTimestamp))
        extensions.removeAll()
        writeExtensions(of: sample, lateness: lateness)
        conversation.session.sendFrame(
            header, extensions: unsafe RawSpan(_unsafeBytes: extensions.readable), payload: unsafe sample.payload.span.bytes)
        unsafe sent.keep(header, due: due, Array(extensions.readable), sample.payload)
        let first = track.firstDecode ?? sample.decodeNanoseconds
        tracks[place].firstDecode = first
        summary.streams[place].frames += 1
        summary.streams[place].bytes += UInt64(sample.payload.count)
        let ticks = Double(track.source.description.timescale.ticksPerSecond)
        summary.streams[place].seconds = Double(sample.decodeNanoseconds - first) / 1e9 + Double(sample.duration) / ticks
    }

    /// A file's frame counts as captured when it is due. Two short items always fit.
    private func writeExtensions(of sample: MediaSample, lateness: UInt64) {
        var writer = ExtensionWriter()
        if let offset = sample.compositionOffset { try? writer.append(compositionOffset: offset) }
        let (seconds, milliseconds) = (WallClock.now() - min(lateness / 1_000_000, WallClock.now())).quotientAndRemainder(dividingBy: 1_000)
        try? writer.append(captureTime: NTPTime(unixSeconds: seconds, nanoseconds: UInt32(milliseconds) * 1_000_000))
        writer.write(to: &extensions)
    }

    /// The connection was lost and is there again: what the relay has not got of the streams is sent again, before anything else.
    private func goOn(_ summary: inout Summary) throws {
        for fault in conversation.losses {
            isBehind = isLive
            progress.clear()
            Console.error("\(Console.plain("\(fault)")): trying to come back")
        }
        conversation.losses.removeAll()
        for state in conversation.resumptions {
            guard state.room != nil else {
                throw CommandFailure(code: .relay, message: "out of the room meanwhile: the relay does not say why")
            }
            progress.clear()
            Console.error("back in the room")
            summary.resumptions += 1
            let repeated = framesToRepeat(state, &summary)
            for track in tracks {
                guard state.published.contains(where: { $0.stream == track.id.rawValue }) else {
                    throw CommandFailure(code: .relay, message: "the relay has ended stream \(track.id.rawValue) meanwhile")
                }
                let next = repeated.first { $0.header.stream == track.id && $0.header.layer.spatial == track.layer.spatial }?.header.sequence
                let header = MediaHeader(
                    kind: .configuration, layer: track.layer, stream: track.id, sequence: next ?? track.sequence, timestamp: 0)
                conversation.session.sendFrame(header, payload: unsafe track.source.configuration.span.bytes)
            }
            for frame in repeated {
                summary.framesRepeated += 1
                conversation.session.sendFrame(frame.header, extensions: unsafe frame.extensions.span.bytes, payload: unsafe frame.payload.span.bytes)
            }
        }
        conversation.resumptions.removeAll()
    }

    /// What the connection took with it and is still of use.
    private func framesToRepeat(_ state: RelayMessage.ResumedSession, _ summary: inout Summary) -> [SentFrames.Frame] {
        let now = MonotonicClock.now()
        var frames: [SentFrames.Frame] = []
        var skipped: [MediaHeader] = []
        for frame in sent.frames where isMissing(frame.header, state) {
            guard let place = tracks.firstIndex(where: { $0.id == frame.header.stream && $0.layer.spatial == frame.header.layer.spatial }) else {
                continue
            }
            let flags = frame.header.flags
            guard
                tracks[place].edge.takes(
                    latenessNanoseconds: now.nanoseconds(since: frame.due), isKey: flags.contains(.key), isDiscardable: flags.contains(.discardable),
                    isBehind: isBehind)
            else {
                // It was counted as sent, and has come to nobody.
                summary.streams[place].frames -= 1
                summary.streams[place].bytes -= UInt64(frame.payload.count)
                summary.streams[place].framesSkipped += 1
                skipped.append(frame.header)
                continue
            }
            var frame = frame
            if tracks[place].edge.takeGap() { frame.header.flags.insert(.discontinuity) }
            frames.append(frame)
        }
        if !skipped.isEmpty { sent.forget(skipped) }
        return frames
    }

    private func isMissing(_ header: MediaHeader, _ state: RelayMessage.ResumedSession) -> Bool {
        guard let last = lastSequence(of: header.stream, header.layer, state) else { return true }
        return SentFrames.isNewer(header.sequence, than: last)
    }

    private func lastSequence(of stream: StreamID, _ layer: MediaLayer, _ state: RelayMessage.ResumedSession) -> UInt32? {
        state.published.first { $0.stream == stream.rawValue && ($0.layer ?? 0) == Int(layer.spatial) }?.sequence
    }

    /// A file cannot make a key frame on demand; requests are counted. Out of the room, or without the right to publish, there is nothing left to do.
    private func takeNews(_ summary: inout Summary) throws {
        defer { conversation.news.removeAll() }
        for message in conversation.news {
            switch message {
            case .layersWanted(let wanted): takeWanted(wanted)
            case .formatWanted(let wanted): takeWanted(wanted, &summary)
            case .keyFrameRequested: summary.keyFrameRequests += 1
            case .streamReport(let quality):
                if let place = summary.streams.firstIndex(where: { $0.stream == quality.stream }) { summary.streams[place].reception = quality }
            case .roomRemoved(let removal): throw CommandFailure(removal)
            case .streamEnded(let stream) where tracks.contains { $0.id.rawValue == stream }:
                throw CommandFailure(code: .relay, message: "the relay has ended stream \(stream): this client may not publish it any more")
            case .participantChanged(let state) where state.participant == participant: tellMuted(state.muted)
            default: break
            }
        }
    }

    /// Of one encoding alone, nothing is left out: a file that was begun is sent to its end.
    private func takeWanted(_ wanted: RelayMessage.LayersWanted) {
        guard let simulcast, !simulcast.ignoresWanted else { return }
        for place in tracks.indices where tracks[place].id.rawValue == wanted.stream {
            tracks[place].gate.setWanted(wanted.layers.contains { $0.spatial == Int(tracks[place].layer.spatial) })
        }
    }

    private func tellMuted(_ kinds: [StreamKind]) {
        progress.clear()
        Console.error(kinds.isEmpty ? "heard by all again" : "muted by a host: \(kinds.map(\.rawValue).joined(separator: ", "))")
    }

    private func showProgress(_ now: MonotonicInstant, _ summary: Summary) {
        guard now >= progressDue else { return }
        progressDue = now.advanced(byMilliseconds: 500)
        let frames = summary.streams.reduce(0) { $0 + $1.frames }
        let seconds = summary.streams.map(\.seconds).max() ?? 0
        progress.show("\(PublishCommand.seconds(seconds)) s of media, \(frames) frames, \(conversation.session.queuedBytes) bytes waiting")
    }
}
