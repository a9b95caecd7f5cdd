package import RelayRooms

/// What a client asks for: one text message, one JSON object, answered exactly once under its `id`.
///
/// Unknown fields are ignored, an unknown `type` is answered with an error that names it.
package enum ClientRequest: Sendable, Equatable {
    case hello(Hello)
    case join(Join)
    case leave
    case publish(Publish)
    case unpublish(StreamReference)
    case subscribe(Subscribe)
    case unsubscribe(Unsubscribe)
    case time(TimeExchange)
    case requestKeyFrame(StreamReference)
    case authenticate(Authenticate)
    case report(ReceiverReport)
    case mute(Mute)
    case remove(ParticipantReference)
    case promote(Promote)
    case lock(Lock)
    case end
    case admit(ParticipantReference)
    case deny(ParticipantReference)
    case pairRequest(PairPeer)
    case pairAccept(PairRequestReference)
    case pairDecline(PairRequestReference)
    case pairCancel(PairRequestReference)
    case pairCode
    case pairEnter(PairCode)
    case pairList
    case pairRevoke(PairReference)
    case pairDevices(PairPeer)
    case sessionInit
    case setCategory(SetCategory)
    case setActive(SetActive)
    case interruptionBegan(InterruptionBegan)
    case interruptionEnded(InterruptionEnded)
    case routeChanged(RouteChanged)
    case playbackPause
    case playbackContinue
    case streamStart(StreamStart)
    case streamPrime(StreamReference)
    case streamPause(StreamReference)
    case streamStop(StreamStop)
    case streamFlush(StreamReference)
    case streamReset(StreamReference)
    case setParameters(SetParameters)

    package struct Hello: Codable, Sendable, Equatable {
        /// The protocol versions that the client speaks; the relay picks the highest that it speaks too.
        package var versions: [Int]
        package var client: ClientName?
        /// A bearer token (JWT, RFC 7519): the identity where there is no certificate, a second factor where there is one.
        package var token: String?
        /// The device's name, shown to devices of the same identity; at most 64 bytes.
        package var device: String?
        package var wishes: SessionWishes?
        /// Goes on with a session whose connection was lost or is about to be replaced.
        package var resume: Resumption?

        package init(
            versions: [Int], client: ClientName?, token: String? = nil, device: String? = nil, wishes: SessionWishes? = nil, resume: Resumption? = nil
        ) {
            self.versions = versions
            self.client = client
            self.token = token
            self.device = device
            self.wishes = wishes
            self.resume = resume
        }
    }

    package struct ClientName: Codable, Sendable, Equatable {
        package var name: String
        package var version: String?

        package init(name: String, version: String?) {
            self.name = name
            self.version = version
        }
    }

    package struct Join: Codable, Sendable, Equatable {
        package var room: String
        /// What others see beside the verified identity; at most 64 bytes.
        package var displayName: String?
        /// One of the roles that the policy allows; else the first of them.
        package var role: Role?
        /// For a pair's room: the signed grant, where the relay may not know of it.
        package var grant: String?

        package init(room: String, displayName: String?, role: Role? = nil, grant: String? = nil) {
            self.room = room
            self.displayName = displayName
            self.role = role
            self.grant = grant
        }
    }

    package struct Publish: Codable, Sendable, Equatable {
        package var kind: StreamKind
        /// `opus`, `pcm_s16`, `pcmu`, `pcma`, `aac`, or a video codec string (RFC 6381).
        package var codec: String
        package var description: StreamDescription?
        /// What the stream is of: `microphone`, `camera`, `screen` or the publisher's own word; at most 64 bytes.
        package var source: String?
        /// Simulcast: the encodings that the stream's frames are of, lowest first. Absent: one encoding, spatial layer 0.
        package var layers: [StreamLayer]?
        /// Whose layers go first when a subscriber's bandwidth does not carry all; absent: medium.
        package var priority: StreamPriority?

        package init(
            kind: StreamKind, codec: String, description: StreamDescription?, source: String?, layers: [StreamLayer]? = nil,
            priority: StreamPriority? = nil
        ) {
            self.kind = kind
            self.codec = codec
            self.description = description
            self.source = source
            self.layers = layers
            self.priority = priority
        }
    }

    package struct StreamReference: Codable, Sendable, Equatable {
        package var stream: UInt32

        package init(stream: UInt32) {
            self.stream = stream
        }
    }

    package struct Subscribe: Codable, Sendable, Equatable {
        /// These streams; or, with `all`, every stream of the room but one's own, those to come included.
        package var streams: [UInt32]?
        package var all: Bool?
        /// Every stream of the room but one's own whose `source` is one of these, those to come included.
        package var sources: [String]?
        package var delivery: Delivery?
        /// Nothing above these layers, whatever the bandwidth.
        package var maxLayer: LayerBound?
        /// Video of one stream, bits a second at most.
        package var maxBitrate: Double?
        /// Milliseconds after which a queued frame is of no use to this subscriber; it can only shorten the class's deadline.
        package var maxDelay: Double?
        /// Paced: what becomes of late and lost frames; absent: dropped.
        package var late: LatePolicy?
        /// Paced: how careful the buffer is; absent: what the audio session's mode says.
        package var profile: JitterProfileName?
        /// Paced: the buffer's delay in milliseconds, whatever arrives; absent: as the stream's arrivals need it.
        package var delay: Double?
        /// Mixed: 1 or 2 channels; absent: 1.
        package var channels: Int?
        /// Of video, only that of so many participants who spoke last, and screens; absent: of everybody.
        package var lastN: Int?

        package init(
            streams: [UInt32]?, all: Bool?, sources: [String]? = nil, delivery: Delivery?, maxLayer: LayerBound? = nil, maxBitrate: Double? = nil,
            maxDelay: Double? = nil, late: LatePolicy? = nil, profile: JitterProfileName? = nil, delay: Double? = nil, channels: Int? = nil,
            lastN: Int? = nil
        ) {
            self.lastN = lastN
            self.streams = streams
            self.all = all
            self.sources = sources
            self.delivery = delivery
            self.maxLayer = maxLayer
            self.maxBitrate = maxBitrate
            self.maxDelay = maxDelay
            self.late = late
            self.profile = profile
            self.delay = delay
            self.channels = channels
        }
    }

    package struct Unsubscribe: Codable, Sendable, Equatable {
        package var streams: [UInt32]?
        package var all: Bool?

        package init(streams: [UInt32]?, all: Bool?) {
            self.streams = streams
            self.all = all
        }
    }

    package struct TimeExchange: Codable, Sendable, Equatable {
        /// The client's clock in milliseconds, given back as it came.
        package var clientTime: Double
        /// The exchange before this one, completed: from it the relay knows round trip, offset and drift.
        package var last: CompletedExchange?

        package init(clientTime: Double, last: CompletedExchange? = nil) {
            self.clientTime = clientTime
            self.last = last
        }
    }

    /// One finished time exchange as its client saw it; all in milliseconds.
    package struct CompletedExchange: Codable, Sendable, Equatable {
        /// The client's clock when it asked.
        package var clientTime: Double
        /// The relay's, as it answered.
        package var serverTime: Double
        /// The client's clock when the answer came.
        package var received: Double

        package init(clientTime: Double, serverTime: Double, received: Double) {
            self.clientTime = clientTime
            self.serverTime = serverTime
            self.received = received
        }
    }

    /// The value of the message's `type` member.
    package var type: String {
        switch self {
        case .hello: "hello"
        case .join: "join"
        case .leave: "leave"
        case .publish: "publish"
        case .unpublish: "unpublish"
        case .subscribe: "subscribe"
        case .unsubscribe: "unsubscribe"
        case .time: "time"
        case .requestKeyFrame: "keyframe.request"
        case .authenticate: "authenticate"
        case .report: "report"
        case .mute: "mute"
        case .remove: "remove"
        case .promote: "promote"
        case .lock: "lock"
        case .end: "end"
        case .admit: "admit"
        case .deny: "deny"
        case .pairRequest: "pair.request"
        case .pairAccept: "pair.accept"
        case .pairDecline: "pair.decline"
        case .pairCancel: "pair.cancel"
        case .pairCode: "pair.code"
        case .pairEnter: "pair.enter"
        case .pairList: "pair.list"
        case .pairRevoke: "pair.revoke"
        case .pairDevices: "pair.devices"
        case .sessionInit: "session.init"
        case .setCategory: "session.setCategory"
        case .setActive: "session.setActive"
        case .interruptionBegan: "interruption.began"
        case .interruptionEnded: "interruption.ended"
        case .routeChanged: "route.changed"
        case .playbackPause: "playback.pause"
        case .playbackContinue: "playback.continue"
        case .streamStart: "stream.start"
        case .streamPrime: "stream.prime"
        case .streamPause: "stream.pause"
        case .streamStop: "stream.stop"
        case .streamFlush: "stream.flush"
        case .streamReset: "stream.reset"
        case .setParameters: "stream.setParameters"
        }
    }
}

/// What a stream carries: its frames' kind and its lane.
package enum StreamKind: String, CaseIterable, Codable, Sendable, Equatable {
    case audio
    case video
    case data
}

/// The publisher's description of a stream, shown to subscribers. Every member may be absent; the relay checks ranges, not truth.
package struct StreamDescription: Codable, Sendable, Equatable {
    /// Audio: sample rate in Hz, channels, nominal frame duration in milliseconds.
    package var sampleRate: Double?
    package var channels: Int?
    package var frameMilliseconds: Double?
    /// Video: coded size in pixels and expected frames per second.
    package var width: Int?
    package var height: Int?
    package var frameRate: Double?
    /// Units of the frames' timestamps per second: 48,000 for audio, 90,000 for video where absent.
    package var timescale: Int?

    package init() {}

    /// The first member whose value no stream can have; `nil` when all that are given are possible.
    package var memberOutOfRange: String? {
        if let sampleRate, !StreamDescription.sampleRates.contains(sampleRate) { return "sampleRate" }
        if let channels, !StreamDescription.channelCounts.contains(channels) { return "channels" }
        if let frameMilliseconds, !(frameMilliseconds > 0 && frameMilliseconds <= StreamDescription.frameMillisecondsMax) {
            return "frameMilliseconds"
        }
        if let width, !StreamLayer.pixelCounts.contains(width) { return "width" }
        if let height, !StreamLayer.pixelCounts.contains(height) { return "height" }
        if let frameRate, !(frameRate > 0 && frameRate <= StreamLayer.frameRateMax) { return "frameRate" }
        if let timescale, !StreamDescription.timescales.contains(timescale) { return "timescale" }
        return nil
    }
}
