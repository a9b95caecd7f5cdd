import FoundationEssentials
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
    /// `layer`: the spatial layer, where the stream has several.
    case keyFrameRequested(stream: UInt32, layer: Int? = nil)
    case goAway(deadlineMilliseconds: UInt64, reason: String)
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

    package enum Proof: String, Codable, Sendable {
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
        package var stream: UInt32?
        package var subscribed: [UInt32]?
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

        package init() {}
    }

    package struct Participant: Codable, Sendable, Equatable {
        package var participant: UInt32
        package var identity: Identity?
        package var displayName: String?
        package var role: Role?
        /// Kinds of streams that a host has muted; absent: none.
        package var muted: [StreamKind]?

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

    package enum LeaveReason: String, Codable, Sendable {
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

    /// Decodes what a relay said: for clients. An unknown `type` answers `nil`: newer relays may say more.
    package static func decode(_ bytes: [UInt8]) throws -> RelayMessage? {
        let decoder = JSONDecoder()
        let data = Data(bytes)
        let head = try decoder.decode(Head.self, from: data)
        switch head.type {
        case "welcome": return .welcome(id: head.id ?? 0, try decoder.decode(Welcome.self, from: data))
        case "ok": return .ok(id: head.id ?? 0, try decoder.decode(Answer.self, from: data))
        case "error": return .error(id: head.id, try decoder.decode(Refusal.self, from: data))
        case "participant.joined": return .participantJoined(try decoder.decode(Participant.self, from: data))
        case "participant.left":
            let event = try decoder.decode(Left.self, from: data)
            return .participantLeft(participant: event.participant, reason: event.reason)
        case "stream.published": return .streamPublished(try decoder.decode(StreamInfo.self, from: data))
        case "stream.ended": return .streamEnded(stream: try decoder.decode(ClientRequest.StreamReference.self, from: data).stream)
        case "keyframe.requested":
            let event = try decoder.decode(KeyFrameNeed.self, from: data)
            return .keyFrameRequested(stream: event.stream, layer: event.layer)
        case "goaway":
            let event = try decoder.decode(Away.self, from: data)
            return .goAway(deadlineMilliseconds: event.deadlineMilliseconds, reason: event.reason)
        case "participant.changed": return .participantChanged(try decoder.decode(ParticipantState.self, from: data))
        case "room.locked": return .roomLocked(try decoder.decode(Lock.self, from: data))
        case "room.removed": return .roomRemoved(try decoder.decode(RoomRemoval.self, from: data))
        case "room.admitted": return .roomAdmitted(try decoder.decode(RoomEntry.self, from: data))
        case "lobby.waiting": return .lobbyWaiting(try decoder.decode(Participant.self, from: data))
        case "lobby.left": return .lobbyLeft(participant: try decoder.decode(ClientRequest.ParticipantReference.self, from: data).participant)
        case "pair.requested": return .pairRequested(try decoder.decode(PairInvitation.self, from: data))
        case "pair.made": return .pairMade(try decoder.decode(PairMade.self, from: data))
        case "pair.declined": return .pairDeclined(request: try decoder.decode(ClientRequest.PairRequestReference.self, from: data).request)
        case "pair.withdrawn": return .pairWithdrawn(try decoder.decode(PairWithdrawal.self, from: data))
        case "pair.revoked": return .pairRevoked(try decoder.decode(PairRevocation.self, from: data))
        case "congested": return .congested(try decoder.decode(Congestion.self, from: data))
        case "recovered": return .recovered(try decoder.decode(Congestion.self, from: data))
        case "layers.wanted": return .layersWanted(try decoder.decode(LayersWanted.self, from: data))
        case "stream.gap": return .streamGap(try decoder.decode(StreamGap.self, from: data))
        case "stream.report": return .streamReport(try decoder.decode(StreamQuality.self, from: data))
        case "keepalive": return .keepAlive
        default: return nil
        }
    }

    private struct Head: Codable {
        var type: String
        var id: UInt64?
    }

    private struct Left: Codable {
        var participant: UInt32
        var reason: LeaveReason
    }

    private struct KeyFrameNeed: Codable {
        var stream: UInt32
        var layer: Int?
    }

    private struct Away: Codable {
        var deadlineMilliseconds: UInt64
        var reason: String
    }
}

extension RelayMessage: Encodable {
    package func encode(to encoder: any Encoder) throws {
        switch self {
        case .welcome(let id, let body): try RelayMessage.write(encoder, "welcome", id: id, body)
        case .ok(let id, let body): try RelayMessage.write(encoder, "ok", id: id, body)
        case .error(let id, let body): try RelayMessage.write(encoder, "error", id: id, body)
        case .participantJoined(let body): try RelayMessage.write(encoder, "participant.joined", id: nil, body)
        case .participantLeft(let participant, let reason):
            try RelayMessage.write(encoder, "participant.left", id: nil, Left(participant: participant, reason: reason))
        case .streamPublished(let body): try RelayMessage.write(encoder, "stream.published", id: nil, body)
        case .streamEnded(let stream): try RelayMessage.write(encoder, "stream.ended", id: nil, ClientRequest.StreamReference(stream: stream))
        case .keyFrameRequested(let stream, let layer):
            try RelayMessage.write(encoder, "keyframe.requested", id: nil, KeyFrameNeed(stream: stream, layer: layer))
        case .goAway(let deadline, let reason):
            try RelayMessage.write(encoder, "goaway", id: nil, Away(deadlineMilliseconds: deadline, reason: reason))
        case .participantChanged(let body): try RelayMessage.write(encoder, "participant.changed", id: nil, body)
        case .roomLocked(let body): try RelayMessage.write(encoder, "room.locked", id: nil, body)
        case .roomRemoved(let body): try RelayMessage.write(encoder, "room.removed", id: nil, body)
        case .roomAdmitted(let body): try RelayMessage.write(encoder, "room.admitted", id: nil, body)
        case .lobbyWaiting(let body): try RelayMessage.write(encoder, "lobby.waiting", id: nil, body)
        case .lobbyLeft(let participant):
            try RelayMessage.write(encoder, "lobby.left", id: nil, ClientRequest.ParticipantReference(participant: participant))
        case .pairRequested(let body): try RelayMessage.write(encoder, "pair.requested", id: nil, body)
        case .pairMade(let body): try RelayMessage.write(encoder, "pair.made", id: nil, body)
        case .pairDeclined(let request):
            try RelayMessage.write(encoder, "pair.declined", id: nil, ClientRequest.PairRequestReference(request: request))
        case .pairWithdrawn(let body): try RelayMessage.write(encoder, "pair.withdrawn", id: nil, body)
        case .pairRevoked(let body): try RelayMessage.write(encoder, "pair.revoked", id: nil, body)
        case .congested(let body): try RelayMessage.write(encoder, "congested", id: nil, body)
        case .recovered(let body): try RelayMessage.write(encoder, "recovered", id: nil, body)
        case .layersWanted(let body): try RelayMessage.write(encoder, "layers.wanted", id: nil, body)
        case .streamGap(let body): try RelayMessage.write(encoder, "stream.gap", id: nil, body)
        case .streamReport(let body): try RelayMessage.write(encoder, "stream.report", id: nil, body)
        case .keepAlive: try Head(type: "keepalive", id: nil).encode(to: encoder)
        }
    }

    private static func write<Body: Encodable>(_ encoder: any Encoder, _ type: String, id: UInt64?, _ body: Body) throws {
        try Head(type: type, id: id).encode(to: encoder)
        try body.encode(to: encoder)
    }
}
