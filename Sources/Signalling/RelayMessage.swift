package import RelayRooms

/// What the relay says: answers under a request's `id`, and events without one.
package enum RelayMessage: Sendable, Equatable {
    case welcome(id: UInt64, Welcome)
    case ok(id: UInt64, Answer)
    case error(id: UInt64?, Refusal)
    case participantJoined(Participant)
    case participantLeft(participant: UInt32, reason: LeaveReason)
    case streamPublished(StreamInfo)
    case streamEnded(stream: UInt32)
    case speakers(Speakers)
    case streamForwarded(StreamsForwarded)
    /// `layer`: the spatial layer, where the stream has several.
    case keyFrameRequested(stream: UInt32, layer: Int? = nil)
    /// `node`: where the client may go, `HOST:PORT`.
    case goAway(deadlineMilliseconds: UInt64, reason: String, node: String? = nil)
    /// The relay stays after all.
    case goAwayCancelled
    case participantChanged(ParticipantState)
    case roomLocked(Lock)
    case roomRemoved(RoomRemoval)
    case roomAdmitted(RoomEntry)
    case lobbyWaiting(Participant)
    case lobbyLeft(participant: UInt32)
    case pairRequested(PairInvitation)
    case pairMade(PairMade)
    case pairDeclined(request: String)
    case pairWithdrawn(PairWithdrawal)
    case pairRevoked(PairRevocation)
    case congested(Congestion)
    case recovered(Congestion)
    case layersWanted(LayersWanted)
    case streamGap(StreamGap)
    case streamReport(StreamQuality)
    case keepAlive
    case sessionChanged(SessionChange)
    case interruptionBegan(InterruptionBegan)
    case interruptionEnded(InterruptionEnded)
    case duckBegan(Duck)
    case duckEnded(Duck)
    case silenceSecondaryAudioBegin
    case silenceSecondaryAudioEnd
    case mediaServicesWereLost
    case mediaServicesWereReset
    case routeChanged(RouteNotice)
    case streamStopped(StreamStopped)
    case streamState(StreamPlayback)
    case formatWanted(FormatWanted)
    case streamUnmixed(StreamUnmixed)
    case participantInterrupted(ParticipantInterrupted)
    case participantHeld(ParticipantHeld)
    case participantRoute(ParticipantRoute)
    case participantMode(ParticipantMode)

    package struct Welcome: Codable, Sendable, Equatable {
        package var version: Int
        package var session: String
        package var identity: Identity?
        package var limits: SessionLimits
        /// Milliseconds since 1970-01-01T00:00Z at the relay.
        package var serverTime: Double
        package var node: String
        /// What to come back with after a lost connection; absent where the relay keeps no lost sessions.
        package var resumeToken: String?
        /// How long a lost session is kept.
        package var resumeMilliseconds: UInt64?
        /// What the session is again, when `hello` asked to resume it.
        package var resumed: ResumedSession?

        package init(
            version: Int, session: String, identity: Identity?, limits: SessionLimits, serverTime: Double, node: String, resumeToken: String? = nil,
            resumeMilliseconds: UInt64? = nil, resumed: ResumedSession? = nil
        ) {
            self.version = version
            self.session = session
            self.identity = identity
            self.limits = limits
            self.serverTime = serverTime
            self.node = node
            self.resumeToken = resumeToken
            self.resumeMilliseconds = resumeMilliseconds
            self.resumed = resumed
        }
    }

    /// Who the relay holds a client to be, and how that was proven.
    package struct Identity: Codable, Sendable, Equatable {
        package var name: String
        /// SHA-256 of the SubjectPublicKeyInfo, 64 hexadecimal digits; absent when only a token proved the name.
        package var fingerprint: String?
        package var proof: Proof

        package init(name: String, fingerprint: String?, proof: Proof) {
            self.name = name
            self.fingerprint = fingerprint
            self.proof = proof
        }
    }

    package enum Proof: String, Codable, Sendable, CaseIterable {
        case certificate
        case token
        case certificateAndToken = "certificate+token"
        /// A certificate that a trusted proxy passed on.
        case forwarded
        case forwardedAndToken = "forwarded+token"
    }

    package struct SessionLimits: Codable, Sendable, Equatable {
        package var controlMessageBytesMax: Int
        package var audioFrameBytesMax: Int
        package var videoFrameBytesMax: Int
        package var dataFrameBytesMax: Int
        package var streamsPerParticipantMax: Int
        package var controlMessagesPerSecondMax: Int

        package init(
            controlMessageBytesMax: Int, audioFrameBytesMax: Int, videoFrameBytesMax: Int, dataFrameBytesMax: Int, streamsPerParticipantMax: Int,
            controlMessagesPerSecondMax: Int
        ) {
            self.controlMessageBytesMax = controlMessageBytesMax
            self.audioFrameBytesMax = audioFrameBytesMax
            self.videoFrameBytesMax = videoFrameBytesMax
            self.dataFrameBytesMax = dataFrameBytesMax
            self.streamsPerParticipantMax = streamsPerParticipantMax
            self.controlMessagesPerSecondMax = controlMessagesPerSecondMax
        }
    }

    /// The members of an `ok`: those that the request calls for, the others absent.
    package struct Answer: Codable, Sendable, Equatable {
        package var room: String?
        package var participant: UInt32?
        package var participants: [Participant]?
        package var streams: [StreamInfo]?
        /// Who speaks; absent: nobody.
        package var speakers: [Speaker]?
        package var stream: UInt32?
        package var subscribed: [UInt32]?
        /// `subscribe` with mixed delivery: the stream that has the mix.
        package var mix: MixInfo?
        package var clientTime: Double?
        package var serverTime: Double?
        package var role: Role?
        package var state: JoinState?
        package var locked: Bool?
        package var pair: PairInfo?
        package var pairs: [PairInfo]?
        package var request: String?
        package var requests: [PairInvitation]?
        package var devices: [PairDevice]?
        package var code: String?
        /// Milliseconds since 1970-01-01T00:00Z.
        package var expires: Double?
        /// The audio session after a request that concerns it.
        package var session: SessionState?
        /// What was odd about a request that was granted nevertheless, each a sentence.
        package var warnings: [String]?
        package var playback: StreamPlayback?
        /// `stream.prime`: what is there to be played at once.
        package var primed: Primed?
        /// `stream.setParameters`: what holds now.
        package var parameters: ClientRequest.SetParameters?

        package init() {}
    }

    package struct Participant: Codable, Sendable, Equatable {
        package var participant: UInt32
        package var identity: Identity?
        package var displayName: String?
        package var role: Role?
        /// Kinds of streams that a host has muted; absent: none.
        package var muted: [StreamKind]?
        /// Its audio session is interrupted; absent: no.
        package var interrupted: Bool?
        /// Nothing comes from it and nothing goes to it; absent: no.
        package var held: Bool?
        package var route: AudioRoute?
        /// What its audio session is for; absent: it has none.
        package var category: String?
        package var mode: String?

        package init(participant: UInt32, identity: Identity?, displayName: String?, role: Role? = nil, muted: [StreamKind]? = nil) {
            self.participant = participant
            self.identity = identity
            self.displayName = displayName
            self.role = role
            self.muted = muted
        }
    }

    package struct StreamInfo: Codable, Sendable, Equatable {
        package var stream: UInt32
        package var participant: UInt32
        package var kind: StreamKind
        package var codec: String
        package var description: StreamDescription?
        package var source: String?
        package var layers: [StreamLayer]?
        package var priority: StreamPriority?

        package init(
            stream: UInt32, participant: UInt32, kind: StreamKind, codec: String, description: StreamDescription?, source: String?,
            layers: [StreamLayer]? = nil, priority: StreamPriority? = nil
        ) {
            self.layers = layers
            self.priority = priority
            self.stream = stream
            self.participant = participant
            self.kind = kind
            self.codec = codec
            self.description = description
            self.source = source
        }
    }

    package enum LeaveReason: String, Codable, Sendable, CaseIterable {
        /// It asked to leave, or closed its session.
        case left
        /// Its connection was lost.
        case lost
        /// A host, an administrator or the policy took it out.
        case removed
    }
}

extension RelayMessage.Participant {
    /// The participant as one JSON object.
    package var encoded: [UInt8] {
        JSONText.encode(self) ?? Array("{}".utf8)
    }
}

extension AudioRoute {
    /// The route as one JSON object.
    package var encoded: [UInt8] {
        JSONText.encode(self) ?? Array("{}".utf8)
    }
}

extension RelayMessage {
    /// The message with one more member, whose value is JSON already.
    package func encoded(with member: String, _ value: [UInt8]) -> [UInt8] {
        var bytes = encoded
        bytes.removeLast()
        bytes += ",\"\(member)\":".utf8
        bytes += value
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    /// The message as the bytes of a text frame: one JSON object with sorted members.
    package var encoded: [UInt8] {
        JSONText.encode(self) ?? Array("{\"type\":\"error\",\"code\":\"internal\"}".utf8)
    }
}
