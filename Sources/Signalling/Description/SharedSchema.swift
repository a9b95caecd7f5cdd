import AudioSession
import RelayRooms

/// Schemas that several messages have in common; the raw value is the name among the document's components.
package enum SharedSchema: String, CaseIterable, Sendable {
    case requestID = "RequestID"
    case unixMilliseconds = "UnixMilliseconds"
    case fingerprint = "Fingerprint"
    case identity = "Identity"
    case streamKind = "StreamKind"
    case role = "Role"
    case streamDescription = "StreamDescription"
    case streamLayer = "StreamLayer"
    case streamInfo = "StreamInfo"
    case participant = "Participant"
    case roomEntry = "RoomEntry"
    case speaker = "Speaker"
    case streamGap = "StreamGap"
    case mixInfo = "MixInfo"
    case pairInfo = "PairInfo"
    case pairInvitation = "PairInvitation"
    case sessionState = "SessionState"
    case audioPort = "AudioPort"
    case audioRoute = "AudioRoute"

    package var schema: JSONSchema {
        switch self {
        case .requestID:
            JSONSchema.integer(0...Int(SignallingBounds.requestIDMax)).described("Of the client's choice; the answer has the same.")
        case .unixMilliseconds: JSONSchema.number(from: 0).described("Milliseconds since 1970-01-01T00:00Z.")
        case .fingerprint: JSONSchema.hexadecimal(digits: 64).described("SHA-256 of the SubjectPublicKeyInfo (RFC 7469 §2.4).")
        case .identity: SharedSchema.identityObject
        case .streamKind: JSONSchema.words(StreamKind.self).described("What a stream carries: its frames' kind and its lane.")
        case .role: JSONSchema.words(Role.self).described("What a participant may do in a room.")
        case .streamDescription: SharedSchema.description
        case .streamLayer: SharedSchema.layer
        case .streamInfo: JSONSchema.object(SharedSchema.streamInfoMembers).described("A stream as its room sees it.")
        case .participant: JSONSchema.object(SharedSchema.participantMembers).described("Somebody in a room.")
        case .roomEntry: JSONSchema.object(SharedSchema.roomEntryMembers).described("A room as somebody finds it who enters it, or comes back.")
        case .speaker: JSONSchema.object(SharedSchema.speakerMembers).described("Somebody who speaks.")
        case .streamGap: JSONSchema.object(SharedSchema.streamGapMembers).described("What a resumed session will never get of a stream.")
        case .mixInfo: SharedSchema.mix
        case .pairInfo: SharedSchema.pair
        case .pairInvitation: JSONSchema.object(SharedSchema.invitationMembers).described("A request for a pair that is open.")
        case .sessionState: SharedSchema.session
        case .audioPort: SharedSchema.port
        case .audioRoute: SharedSchema.route
        }
    }

    private static let identityObject = JSONSchema.object([
        .required("name", .text, "From the certificate's subject alternative names, or the token's subject."),
        .optional("fingerprint", .reference(.fingerprint), "Absent when only a token proved the name."),
        .required("proof", .words(RelayMessage.Proof.self), "How it was proven; forwarded: by a certificate that a trusted proxy passed on."),
    ]).described("Who the relay holds a client to be, and how that was proven.")

    // MARK: Streams

    private static let pixels = JSONSchema.integer(StreamLayer.pixelCounts)
    private static let frameRate = JSONSchema.number(above: 0, through: StreamLayer.frameRateMax)

    private static let description = JSONSchema.object([
        .optional("sampleRate", .number(StreamDescription.sampleRates), "Audio, Hz."),
        .optional("channels", .integer(StreamDescription.channelCounts), "Audio."),
        .optional("frameMilliseconds", .number(above: 0, through: StreamDescription.frameMillisecondsMax), "Audio: nominal duration of a frame."),
        .optional("width", pixels, "Video, pixels."),
        .optional("height", pixels, "Video, pixels."),
        .optional("frameRate", frameRate, "Video: expected frames a second."),
        .optional(
            "timescale", JSONSchema(("type", "integer"), ("enum", .list(StreamDescription.timescales.map { .number(Double($0)) }))),
            "Ticks of the frames' timestamps a second; absent: 48,000 for audio, 90,000 for video, 1,000,000 for data."),
    ]).described("The publisher's description of a stream, shown to subscribers; the relay checks ranges, not truth.")

    private static let layer = JSONSchema.object([
        .optional("temporalLayers", .integer(1...StreamLayer.countMax), "Temporal layers in this encoding; absent: 1."),
        .optional("width", pixels),
        .optional("height", pixels),
        .optional("frameRate", frameRate),
        .optional("bitrate", .number(StreamLayer.bitrates), "Bits a second that the encoding aims for; absent: measured by the relay."),
    ]).described("One encoding of a stream, or one spatial layer of it.")

    static let layers = JSONSchema.list(of: .reference(.streamLayer), 1...StreamLayer.countMax)
    static let source = JSONSchema.text(bytesMax: SignallingBounds.sourceBytesMax)

    static let streamInfoMembers: [SchemaMember] = [
        .required("stream", .unsigned32, "The number that the stream's frames carry."),
        .required("participant", .unsigned32, "Who publishes it."),
        .required("kind", .reference(.streamKind)),
        .required("codec", .text),
        .optional("description", .reference(.streamDescription)),
        .optional("source", source, "What the stream is of: microphone, camera, screen or the publisher's own word."),
        .optional("layers", layers, "Simulcast: the encodings that the stream's frames are of, lowest first."),
        .optional("priority", .words(StreamPriority.self), "Whose layers go first; absent: medium."),
    ]

    private static let mix = JSONSchema.object([
        .required("stream", .unsigned32, "As in the headers of its frames; nobody publishes it, and it is subscribed to by mixed delivery only."),
        .required("codec", .words(["opus"])), .required("sampleRate", .number(from: 1), "Hz."),
        .required("channels", .integer(SignallingBounds.mixChannels)), .required("frameMilliseconds", .number(above: 0, through: 60)),
    ]).described("The stream that has all audio of a room but the subscriber's own.")

    static let streamGapMembers: [SchemaMember] = [
        .required("stream", .unsigned32),
        .required("frames", .unsigned32, "Frames between the last that came and the first that will."),
        .required("milliseconds", .number(from: 0), "Their media time."),
    ]

    // MARK: Rooms

    static let mutedKinds = JSONSchema.list(of: .reference(.streamKind))

    static let participantMembers: [SchemaMember] = [
        .required("participant", .unsigned32, "32 bits, never used twice while the relay runs."),
        .required("identity", .reference(.identity)),
        .optional("displayName", .text(bytesMax: SignallingBounds.displayNameBytesMax), "Not verified."),
        .required("role", .reference(.role)),
        .optional("muted", mutedKinds, "Kinds of streams that a host has muted; absent: none."),
        .optional("interrupted", .boolean, "Its audio session is interrupted; absent: no."),
        .optional("held", .boolean, "Nothing comes from it and nothing goes to it; absent: no."),
        .optional("route", .reference(.audioRoute)),
        .optional("category", .words(Category.allCases.map(\.rawValue)), "Of its audio session; absent: it has none."),
        .optional("mode", .words(Mode.allCases.map(\.rawValue)), "Of its audio session; absent: it has none."),
    ]

    static let roomEntryMembers: [SchemaMember] = [
        .required("room", .text),
        .required("participant", .unsigned32, "The client's own number."),
        .required("role", .reference(.role)),
        .required("locked", .boolean),
        .required("participants", .list(of: .reference(.participant)), "Everybody in the room, oneself included, in the order in which they came."),
        .required("streams", .list(of: .reference(.streamInfo)), "The streams that are open."),
        .optional("speakers", .list(of: .reference(.speaker)), "Who speaks, loudest first; absent: nobody."),
    ]

    static let speakerMembers: [SchemaMember] = [
        .required("participant", .unsigned32),
        .required("stream", .unsigned32, "The stream of audio that it speaks in."),
        .required("level", .integer(-127...0), "dBov, as it was then: 0 is overload."),
    ]

    // MARK: Pairs

    private static let pair = JSONSchema.object([
        .required("pair", .hexadecimal(digits: 32), "The pair's number."),
        .required("room", .text(pattern: "^pair:[0-9a-f]{64}$"), "The room that only the two may enter."),
        .required("basis", .words(RelayMessage.PairBasis.self), "What the two are a pair by; grant: a request that was accepted."),
        .required("peer", .reference(.identity), "The other one."),
        .optional("expires", .reference(.unixMilliseconds), "Absent for a pair by policy."),
        .required("statement", .text, "The relay's signed word on who the two are (compact JWS, RFC 7515)."),
        .optional("grant", .text, "The same as something that lasts; absent for pairs by policy."),
    ]).described("Two keys that a room belongs to.")

    static let invitationMembers: [SchemaMember] = [
        .required("request", .hexadecimal(digits: 32)),
        .required("identity", .reference(.identity), "The other's."),
        .optional("direction", .words(RelayMessage.PairDirection.self), "In a list: whether it is to the client or from it."),
        .required("expires", .reference(.unixMilliseconds)),
    ]
}
