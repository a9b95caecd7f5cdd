package import MediaProtocol
package import RelayBase

/// What a video buffer is made for.
package struct VideoPlayoutConfiguration: Sendable, Hashable {
    /// Units of the frames' timestamps a second.
    package var timescale = 90_000
    /// Of the delay while there is no sound to keep to.
    package var profile = JitterProfile.balanced
    /// A picture that is shown later than this after its sound is out of step.
    package var lateMillisecondsMax = 40
    /// Hard bounds: beyond them the oldest frames go first, never all.
    package var framesMax = 256
    package var bytesMax = 8 << 20
    package var bufferedMillisecondsMax = 5_000

    package init() {}
}

/// Which sound is heard when: what pictures are held to.
package struct AudioClock: Sendable, Hashable {
    /// Of the sound that is heard, in the audio stream's timescale (``PlayoutOutcome/mediaTimestamp``).
    package var timestamp: UInt32
    package var timescale: Int
    /// When that is heard: the instant of the pull, and what the way to the ear takes.
    package var heardAt: MonotonicInstant
    /// When that sound was captured, where the stream says so. With the pictures' own capture times it holds the two streams together; without, both count from one
    /// zero, as tracks of one file do.
    package var capturedAt: NTPTime?

    package init(timestamp: UInt32, timescale: Int = 48_000, heardAt: MonotonicInstant, capturedAt: NTPTime? = nil) {
        self.timestamp = timestamp
        self.timescale = timescale
        self.heardAt = heardAt
        self.capturedAt = capturedAt
    }
}

/// What a video buffer gives out.
package enum VideoRelease: Sendable, Hashable {
    /// Nothing is due.
    case nothing
    /// A frame to decode and to show at the instant given, which is later than now where frames are shown in another order than they are decoded.
    case show(at: MonotonicInstant)
    /// A frame to decode and not to show: its time is over, but others need it.
    case decodeOnly
}

/// Counters of one video buffer since it was made, and what it is like now.
package struct VideoPlayoutStatistics: Sendable, Hashable {
    package var framesInserted: UInt64 = 0
    package var duplicates: UInt64 = 0
    package var malformed: UInt64 = 0
    /// Given out to be shown, and given out to be decoded only.
    package var shown: UInt64 = 0
    package var decodedOnly: UInt64 = 0
    /// Of what was shown: later than the bound, since otherwise nothing would have been.
    package var shownLate: UInt64 = 0
    /// Not given out: their time was over and nothing needs them, or they came after what follows them.
    package var late: UInt64 = 0
    /// Not given out: what they need was dropped.
    package var undecodable: UInt64 = 0
    /// Flushed by a hard bound or a reset.
    package var discarded: UInt64 = 0
    /// Pictures that stood still for longer than three mean intervals and the mean + 150 ms, and how long they did together.
    package var freezes: UInt64 = 0
    package var freezeMilliseconds: UInt64 = 0

    package var framesBuffered: UInt32 = 0
    package var bytesBuffered: UInt32 = 0
    /// The delay while there is no sound to keep to.
    package var targetMilliseconds: UInt32 = 0
    /// Whether the last picture was held to the sound.
    package var isHeldToAudio = false
    /// Of the last picture that was shown, against the sound; positive: the picture was late.
    package var skewMilliseconds: Int32 = 0
    /// The greatest magnitude of that, late pictures left out.
    package var skewMillisecondsMax: Int32 = 0
    /// By how much the sound would have to be held back for all pictures to come in time; 0 when they do. For the least delay of the audio buffer.
    package var audioDelayWantedMilliseconds: Int32 = 0

    package init() {}
}
