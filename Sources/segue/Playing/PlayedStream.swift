import JitterBuffer
import MediaProtocol
import RelayClient
import Signalling

/// What an audio stream is, as far as playing it goes.
struct PlayedDescription: Sendable {
    var audio: AudioStreamDescription
    /// Ticks of its timestamps a second.
    var timescale: Int

    /// `nil`: no audio, or of a codec that is not known here.
    init?(_ info: RelayMessage.StreamInfo) {
        guard case .audio(let audio)? = MediaProtocol.StreamDescription(of: info) else { return nil }
        self.audio = audio
        timescale = info.description?.timescale ?? Int(MediaTimescale.audio.ticksPerSecond)
    }
}

/// A time in which nothing came of a stream that was not silent.
struct ArrivalHole: Encodable, Sendable, Equatable {
    /// Of the recording, when the last frame before it came.
    var seconds: Double
    var milliseconds: Double
}

/// What a stream's jitter buffer has done so far.
struct PlayedStatistics: Sendable, Equatable {
    var buffer = JitterStatistics()
    /// Milliseconds that a frame plays; 0 while that is not known.
    var frameMilliseconds = 0.0
    /// Frames that were offered to the buffer.
    var frames: UInt64 = 0
    /// Frames that cannot be decoded: encrypted between the ends.
    var encrypted: UInt64 = 0
    /// Fresh starts that the session demanded.
    var restarts = 0
    var holes: [ArrivalHole] = []

    /// Frames that played or were concealed, of the length that the stream's frames have.
    var concealedFrames: UInt64 {
        guard frameMilliseconds > 0 else { return 0 }
        let milliseconds = Double(buffer.concealedSamples) * 1_000 / Double(Player.sampleRate)
        return UInt64(min(milliseconds / frameMilliseconds, 9e15))
    }

    var playedFrames: UInt64 {
        let unplayed = buffer.late &+ buffer.discarded &+ buffer.malformed &+ buffer.duplicates
        return frames > unplayed ? frames - unplayed : 0
    }
}

/// The same for people and for scripts, at the end.
struct PlayedSummary: Encodable, Equatable {
    var seconds: Double
    var concealedMilliseconds: Double
    /// Of these, in silence.
    var silentConcealedMilliseconds: Double
    var concealments: UInt64
    /// Concealments of 150 ms and more.
    var interruptions: UInt64
    var interruptionMilliseconds: UInt64
    var lateFrames: UInt64
    var duplicateFrames: UInt64
    var discardedFrames: UInt64
    var recoveredFrames: UInt64
    var malformedFrames: UInt64
    var encryptedFrames: UInt64
    var acceleratedMilliseconds: Double
    var expandedMilliseconds: Double
    /// Of the buffer at the end.
    var targetMilliseconds: UInt32
    var levelMilliseconds: UInt32
    /// The mean from arrival to playing.
    var delayMilliseconds: Double
    var driftPPM: Double
    var restarts: Int
    /// As the frames arrived here: what the buffer had to bridge.
    var arrivalHoles: [ArrivalHole]

    init(_ played: PlayedStatistics) {
        let buffer = played.buffer
        func milliseconds(_ samples: UInt64) -> Double { Self.rounded(Double(samples) * 1_000 / Double(Player.sampleRate)) }
        seconds = milliseconds(buffer.samplesPlayed) / 1_000
        concealedMilliseconds = milliseconds(buffer.concealedSamples)
        silentConcealedMilliseconds = milliseconds(buffer.silentConcealedSamples)
        concealments = buffer.concealmentEvents
        interruptions = buffer.interruptions
        interruptionMilliseconds = buffer.interruptionMilliseconds
        lateFrames = buffer.late
        duplicateFrames = buffer.duplicates
        discardedFrames = buffer.discarded
        recoveredFrames = buffer.recovered
        malformedFrames = buffer.malformed
        encryptedFrames = played.encrypted
        acceleratedMilliseconds = milliseconds(buffer.removedByAccelerate)
        expandedMilliseconds = milliseconds(buffer.insertedByExpand)
        targetMilliseconds = buffer.targetMilliseconds
        levelMilliseconds = buffer.levelMilliseconds
        let real = buffer.samplesPlayed > buffer.concealedSamples ? buffer.samplesPlayed - buffer.concealedSamples : 0
        delayMilliseconds = real > 0 ? Self.rounded(Double(buffer.delaySampleMilliseconds) / Double(real)) : 0
        driftPPM = Self.rounded(Double(buffer.driftPartsPerMillion))
        restarts = played.restarts
        arrivalHoles = played.holes
    }

    var sentence: String {
        var parts = ["played \(ScriptLine.seconds(seconds * 1_000)) s, \(ScriptLine.number(concealedMilliseconds)) ms of it concealed"]
        if interruptions > 0 { parts.append("\(interruptions) interruption\(interruptions == 1 ? "" : "s") of \(interruptionMilliseconds) ms") }
        for (count, what) in [(lateFrames, "late"), (discardedFrames, "discarded"), (malformedFrames, "malformed"), (encryptedFrames, "encrypted")]
        where count > 0 {
            parts.append("\(count) \(what)")
        }
        parts.append("buffer \(ScriptLine.number(delayMilliseconds)) ms in the mean, \(levelMilliseconds) of \(targetMilliseconds) ms at the end")
        parts.append(
            "stretched −\(ScriptLine.number(acceleratedMilliseconds)) +\(ScriptLine.number(expandedMilliseconds)) ms, drift \(ScriptLine.number(driftPPM)) ppm"
        )
        return parts.joined(separator: ", ")
    }

    private static func rounded(_ value: Double) -> Double { (max(-1e12, min(1e12, value)) * 1_000).rounded() / 1_000 }
}

/// What was heard as a whole.
struct PlaybackSummary: Encodable, Equatable {
    /// Of the WAV file; absent: there is none.
    var path: String?
    var seconds: Double
    /// When its first sample was played: milliseconds since the machine started.
    var monotonicMilliseconds: Double
    /// Seconds in which nothing was played.
    var silentSeconds: Double
    /// The largest sample, as decibels of full scale; absent: all are zero.
    var peakDecibels: Double?
    /// Samples beyond full scale: what adds up to too much.
    var samplesBeyondFullScale: UInt64
    var problem: String?

    var sentence: String {
        let peak = peakDecibels.map { "peak \(ScriptLine.number($0)) dBFS" } ?? "nothing but silence"
        return
            "\(ScriptLine.seconds(seconds * 1_000)) s were heard, \(ScriptLine.seconds(silentSeconds * 1_000)) s of it silence, \(peak)\(path.map { ": \($0)" } ?? "")"
    }
}
