/// Every bound that a peer can run into, in one place. A refusal names the limit by its property's name.
///
/// Sizes are bytes, times are milliseconds. Defaults are those of the protocol document.
package struct Limits: Sendable, Equatable {
    // Messages and frames.
    package var controlMessageBytesMax = 64 << 10
    package var audioFrameBytesMax = 8 << 10
    package var videoFrameBytesMax = 4 << 20
    package var dataFrameBytesMax = 64 << 10
    package var incompleteMessageMillisecondsMax: UInt64 = 10_000
    package var messageFragmentsMax = 1_024
    /// Non-final fragments beyond `smallFragmentsFree` must carry at least this many bytes.
    package var fragmentBytesMin = 128
    package var smallFragmentsFree = 16

    // HTTP.
    package var requestHeadBytesMax = 16 << 10
    package var requestFieldsMax = 100
    package var requestHeadMillisecondsMax: UInt64 = 10_000
    package var http2StreamsMax = 100
    /// What the folder `web` may hold.
    package var webFilesMax = 512
    package var webBytesMax = 32 << 20
    /// Administrators that watch `/v1/live` at once.
    package var liveWatchersMax = 16

    // Connections.
    package var connectionsMax = 20_000
    package var connectionsPerAddressMax = 20_000
    package var handshakesInFlightMax = 2_048
    /// Below the bound for all, so that one address cannot shut the others out.
    package var handshakesInFlightPerAddressMax = 512
    package var handshakeMillisecondsMax: UInt64 = 10_000
    /// A PROXY header, all of it; with a client's certificate in it, it is about 1 KiB.
    package var proxyHeaderBytesMax = 8 << 10
    package var proxyHeaderMillisecondsMax: UInt64 = 3_000
    package var helloMillisecondsMax: UInt64 = 10_000
    package var idleHTTPMillisecondsMax: UInt64 = 60_000

    // Liveness.
    package var pingMilliseconds: UInt64 = 15_000
    package var silenceMillisecondsMax: UInt64 = 35_000
    package var stallMillisecondsMax: UInt64 = 30_000
    /// TCP_USER_TIMEOUT; 0 is the kernel's own. It ends readers that keep their window shut, too.
    package var tcpUserTimeoutMilliseconds: UInt64 = 35_000
    package var closeHandshakeMillisecondsMax: UInt64 = 5_000

    // Sessions whose connections were lost.
    /// How long they are kept; 0: not at all.
    package var resumeMilliseconds: UInt64 = 15_000
    /// On each loop.
    package var parkedSessionsMax = 2_048
    package var parkedSessionsPerIdentityMax = 16

    // Audio sessions.
    /// How long a client's own interruption lasts at most: platforms lose the end of some.
    package var interruptionMillisecondsMax: UInt64 = 14_400_000
    package var audioSessionsPerIdentityMax = 64

    // Sound that the relay works on.
    /// Buffers of one stream that differ in what was wished, on each loop.
    package var pacedVariantsMax = 8
    /// Streams that are heard in one room's mix.
    package var mixStreamsMax = 64
    /// Of these, the loudest that are heard at once.
    package var mixSpeakersMax = 3
    /// Listeners of one room's mix that have gains of their own, and so an encoder.
    package var mixPersonalMax = 32

    // Rooms.
    package var roomsMax = 10_000
    package var participantsPerRoomMax = 2_000
    package var publishersPerRoomMax = 200
    /// Who may wait in one room's lobby at once.
    package var lobbyMax = 100
    /// Who are told to speak in a room at once.
    package var speakersMax = 8
    package var streamsPerParticipantMax = 16
    package var roomNameBytesMax = 128
    package var controlQueueBytesMax = 1 << 20
    package var controlMessagesPerSecondMax = 200

    // Real time.
    package var audioDeadlineMilliseconds: UInt64 = 200
    package var videoDeadlineMilliseconds: UInt64 = 400
    package var dataDeadlineMilliseconds: UInt64 = 30_000
    /// For how long a busy loop may hold a room's frames so that others join them; 0: not at all.
    package var flushHoldMicroseconds = 2_000
    package var audioLogBytesMax = 1 << 20
    package var videoLogBytesMax = 16 << 20
    package var dataLogBytesMax = 4 << 20
    /// What a lane log keeps of frames that everybody has been served, for sessions that resume.
    package var replayBytesMax = 256 << 10
    package var gopCacheBytesMax = 8 << 20
    package var gopCacheMillisecondsMax: UInt64 = 10_000
    /// What all rooms of one loop hold for late joiners, copies under way included.
    package var cacheBytesMax = 256 << 20
    package var keyFrameRequestMillisecondsMin: UInt64 = 500
    /// What key frames that are asked for may be of a layer's bit rate.
    package var keyFrameBitRateSharePercent = 25

    package init() {}
}
