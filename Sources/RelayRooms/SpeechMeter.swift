package import RelayBase

/// A stream that somebody speaks in.
package struct SpeakingStream: Hashable, Sendable, Codable {
    package let stream: UInt32
    /// dBov, −127 (silence) to 0 (overload).
    package let level: Int

    package init(stream: UInt32, level: Int) {
        self.stream = stream
        self.level = level
    }
}

/// In which of a room's streams that come in on one loop somebody speaks, by the levels in their frames' headers (RFC 6464).
///
/// Pure. ``note(_:level:isSilence:)`` is done for every frame of audio: it adds to two numbers. ``look(now:)``, some ten times a second, makes the rest of them; what
/// it decides goes to the room's home (``ActiveSpeakers``), in as few messages as ``report(now:streamsMax:stream:)`` says.
package struct SpeechMeter: Sendable {
    /// By slot.
    private var streams: [StreamSpeech] = []
    private var lookedAt: MonotonicInstant?
    /// There is something to look at: levels have come, or somebody speaks or is about to.
    private var isStirring = false
    private var reported: [SpeakingStream] = []
    private var reportedAt: MonotonicInstant?

    /// Between two reports, and so at most five of them a second.
    package static let reportMillisecondsMin: UInt64 = 200
    /// Levels that have changed by so much are told.
    private static let levelStep = 3

    package init() {}

    /// Takes note of a frame's level. Slots beyond a room's streams are passed over.
    ///
    /// - Parameters:
    ///   - level: the header's byte: voice activity in the high bit, and the level below overload in the others.
    ///   - isSilence: the frame says that it is of discontinuous transmission.
    package mutating func note(_ slot: StreamSlot, level: UInt8, isSilence: Bool) {
        guard slot.index < streams.count else { return }
        streams[slot.index].note(level: level, isSilence: isSilence)
        isStirring = true
    }

    /// A stream begins, or has to be heard anew: nothing of what was in the slot counts. To be called before its first frame.
    package mutating func reset(_ slot: StreamSlot) {
        guard slot.index < RoomFanout.streamsMax else { return }
        while streams.count <= slot.index { streams.append(StreamSpeech()) }
        if streams[slot.index].isSpeaking { isStirring = true }
        streams[slot.index] = StreamSpeech()
    }

    /// Looks at what has come since the last look. Costs nothing where nothing comes.
    package mutating func look(now: MonotonicInstant) {
        let elapsed = lookedAt.map { now.milliseconds(since: $0) } ?? 0
        lookedAt = now
        guard isStirring else { return }
        isStirring = false
        for slot in streams.indices where streams[slot].isStirring {
            streams[slot].look(milliseconds: elapsed, now: now)
            if streams[slot].isStirring { isStirring = true }
        }
    }

    /// What the room's home is to be told now; `nil`: nothing that it does not know, or not yet.
    ///
    /// - Parameters:
    ///   - streamsMax: the loudest of so many.
    ///   - stream: the identifier of a slot's stream; `nil`: it has ended.
    package mutating func report(now: MonotonicInstant, streamsMax: Int, stream: (StreamSlot) -> UInt32?) -> [SpeakingStream]? {
        guard isStirring || !reported.isEmpty else { return nil }
        if let reportedAt, now.milliseconds(since: reportedAt) < SpeechMeter.reportMillisecondsMin { return nil }
        var speaking: [SpeakingStream] = []
        for slot in streams.indices where streams[slot].isSpeaking {
            guard let stream = stream(StreamSlot(slot)) else { continue }
            speaking.append(SpeakingStream(stream: stream, level: streams[slot].level))
        }
        speaking.sort(by: SpeakingStream.isLouder)
        if speaking.count > streamsMax { speaking.removeLast(speaking.count - streamsMax) }
        guard isNews(speaking) else { return nil }
        reported = speaking
        reportedAt = now
        return speaking
    }

    private func isNews(_ speaking: [SpeakingStream]) -> Bool {
        guard speaking.count == reported.count else { return true }
        return speaking.contains { one in
            guard let known = reported.first(where: { $0.stream == one.stream }) else { return true }
            return abs(known.level - one.level) >= SpeechMeter.levelStep
        }
    }
}

extension SpeakingStream {
    /// Loudest first; of those alike, the one that was published first.
    static func isLouder(_ left: SpeakingStream, _ right: SpeakingStream) -> Bool {
        left.level == right.level ? left.stream < right.stream : left.level > right.level
    }
}

/// Whether somebody speaks in one stream: voice that lasts, until it has been away for a while.
struct StreamSpeech: Sendable {
    // Since the last look.
    private var attenuation: UInt32 = 0
    private var frames: UInt32 = 0
    private var hasVoice = false

    /// The stream's frames have had the voice bit: its sender tells voice from noise, and better than a level can.
    private var tellsVoice = false
    /// What the stream is like without voice, in sixteenths of dBov: down at once, up slowly.
    private var floor = StreamSpeech.floorMax
    /// The level of its voice, in sixteenths of dBov.
    private var smoothed = StreamSpeech.silence
    /// Voice of late, less what was none.
    private var voiceMilliseconds: UInt64 = 0
    private var voiceAt: MonotonicInstant?
    private(set) var isSpeaking = false

    /// Voice of so long is speech. A cough of 100 ms lies in two looks at most.
    private static let onsetMilliseconds: UInt64 = 250
    /// A look stands for no more than this, however late it is: so that no one sound is an onset.
    private static let lookMillisecondsMax: UInt64 = 120
    /// Speech has pauses; the one who pauses speaks on.
    static let holdMilliseconds: UInt64 = 1_000
    private static let smoothingMilliseconds = 250
    /// What a pause lowers a level by.
    private static let fallPerSecond = 30 * scale
    private static let scale = 16
    private static let silence = -127 * scale
    /// What is quieter is no voice, unless the sender says so.
    private static let voiceLevelMin = -50 * scale
    private static let toldVoiceLevelMin = -70 * scale
    /// Steady noise that is louder than this is taken for voice.
    private static let floorMax = -48 * scale
    private static let floorMargin = 10 * scale
    /// 2 dB a second.
    private static let floorRisePerSecond = 2 * scale

    var level: Int { smoothed / StreamSpeech.scale }

    var isStirring: Bool { frames > 0 || isSpeaking || voiceMilliseconds > 0 }

    mutating func note(level: UInt8, isSilence: Bool) {
        let isVoice = level & 0x80 != 0 && !isSilence
        attenuation &+= isSilence ? 127 : UInt32(level & 0x7F)
        frames &+= 1
        if isVoice { (hasVoice, tellsVoice) = (true, true) }
    }

    /// - Parameter milliseconds: since the last look.
    mutating func look(milliseconds: UInt64, now: MonotonicInstant) {
        let elapsed = min(milliseconds, StreamSpeech.lookMillisecondsMax)
        // Without a frame there was silence: a sender that stops sending says as much.
        let mean = frames == 0 ? StreamSpeech.silence : max(StreamSpeech.silence, -Int(attenuation) * StreamSpeech.scale / Int(frames))
        let isVoice = isVoice(at: mean)
        if frames > 0 { follow(floor: mean, milliseconds: elapsed) }
        (attenuation, frames, hasVoice) = (0, 0, false)
        if isVoice {
            if isSpeaking {
                smoothed += (mean - smoothed) * Int(elapsed) / (Int(elapsed) + StreamSpeech.smoothingMilliseconds)
            } else {
                // The first looks may have been at the end of a silence.
                smoothed = voiceMilliseconds == 0 ? mean : max(smoothed, mean)
            }
            voiceMilliseconds = min(voiceMilliseconds + elapsed, StreamSpeech.onsetMilliseconds)
            voiceAt = now
            if voiceMilliseconds >= StreamSpeech.onsetMilliseconds { isSpeaking = true }
        } else {
            smoothed = max(mean, StreamSpeech.silence, smoothed - StreamSpeech.fallPerSecond * Int(elapsed) / 1_000)
            voiceMilliseconds -= min(voiceMilliseconds, elapsed)
            if isSpeaking, voiceAt.map({ now.milliseconds(since: $0) >= StreamSpeech.holdMilliseconds }) ?? true { isSpeaking = false }
        }
    }

    private func isVoice(at mean: Int) -> Bool {
        if tellsVoice { return hasVoice && mean >= StreamSpeech.toldVoiceLevelMin }
        return frames > 0 && mean >= max(StreamSpeech.voiceLevelMin, floor + StreamSpeech.floorMargin)
    }

    private mutating func follow(floor mean: Int, milliseconds: UInt64) {
        let risen = floor + max(1, StreamSpeech.floorRisePerSecond * Int(milliseconds) / 1_000)
        floor = min(mean < floor ? mean : risen, StreamSpeech.floorMax)
    }
}
