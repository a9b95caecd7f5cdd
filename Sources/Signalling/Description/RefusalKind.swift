import RelayRooms

/// What a request can be refused with, by its code.
package enum RefusalKind: String, CaseIterable, Sendable {
    case malformed
    case unknownType = "unknown_type"
    case version
    case helloFirst = "hello_first"
    case helloTwice = "hello_twice"
    case roomName = "room_name"
    case alreadyInRoom = "already_in_room"
    case notInRoom = "not_in_room"
    case pending
    case badValue = "bad_value"
    case unknownCodec = "unknown_codec"
    case unknownStream = "unknown_stream"
    case roomsMax = "rooms_max"
    case participantsMax = "participants_max"
    case publishersMax = "publishers_max"
    case streamsMax = "streams_max"
    case roomStreamsMax = "room_streams_max"
    case draining
    case clusterUnavailable = "cluster_unavailable"
    case unauthenticated
    case tokenRefused = "token_refused"
    case proofRequired = "proof_required"
    case notAllowed = "not_allowed"
    case roomLocked = "room_locked"
    case notHost = "not_host"
    case role
    case unknownParticipant = "unknown_participant"
    case lobbyFull = "lobby_full"
    case peerUnavailable = "peer_unavailable"
    case peerAmbiguous = "peer_ambiguous"
    case unknownRequest = "unknown_request"
    case unknownPair = "unknown_pair"
    case pairCode = "pair_code"
    case pairRate = "pair_rate"
    case pairsMax = "pairs_max"
    case certificateNeeded = "certificate_needed"
    case notStored = "not_stored"
    case resumeRefused = "resume_refused"
    case connectionShared = "connection_shared"
    case internalFault = "internal"
    case sessionLost = "session_lost"
    case illegalCategory = "illegal_category"
    case insufficientPriority = "insufficient_priority"
    case ioRunning = "io_running"
    case cannotStartPlaying = "cannot_start_playing"
    case cannotStartRecording = "cannot_start_recording"
    case category
    case audioSessionsMax = "audio_sessions_max"
    case deliveriesMax = "deliveries_max"

    /// One such refusal as the relay says it, under default limits: `retry` is always the same for a code, some sentences vary.
    package var refusal: Refusal {
        switch self {
        case .malformed: .malformed("the member 'room' is missing")
        case .unknownType: .unknownType("dance")
        case .version: .noCommonVersion
        case .helloFirst: .helloFirst
        case .helloTwice: .helloTwice
        case .roomName: .badRoomName(bytesMax: 128)
        case .alreadyInRoom: .alreadyInRoom
        case .notInRoom: Refusal(RoomFault.notAMember)
        case .pending: .pending
        case .clusterUnavailable: .clusterUnavailable
        case .badValue: .badValue("displayName")
        case .unknownCodec: .unknownCodec("smoke")
        case .unknownStream: Refusal(RoomFault.unknownStream)
        case .roomsMax: Refusal(RoomFault.tooManyRooms)
        case .participantsMax: Refusal(RoomFault.roomFull(participantsMax: 2_000))
        case .publishersMax: Refusal(RoomFault.tooManyPublishers(publishersMax: 200))
        case .streamsMax: Refusal(RoomFault.tooManyStreams(streamsMax: 16))
        case .roomStreamsMax: Refusal(RoomFault.roomStreamsFull(streamsMax: 4_096))
        case .draining: .draining
        case .unauthenticated: .unauthenticated
        case .tokenRefused: .tokenRefused("it has expired")
        case .proofRequired: .proofRequired("a token")
        case .notAllowed: .notAllowed
        case .roomLocked: .roomLocked
        case .notHost: .notHost
        case .role: .role
        case .unknownParticipant: .unknownParticipant
        case .lobbyFull: .lobbyFull
        case .peerUnavailable: .peerUnavailable
        case .peerAmbiguous: .peerAmbiguous
        case .unknownRequest: .unknownRequest
        case .unknownPair: .unknownPair
        case .pairCode: .pairCode
        case .pairRate: .pairRate
        case .pairsMax: .pairsMax
        case .certificateNeeded: .certificateNeeded
        case .notStored: .notStored
        case .resumeRefused: .resumeRefused
        case .connectionShared: .connectionShared
        case .internalFault: .internalFault
        case .sessionLost: .sessionLost
        case .illegalCategory: .illegalCategory
        case .insufficientPriority: .insufficientPriority
        case .ioRunning: .ioRunning
        case .cannotStartPlaying: .cannotStartPlaying
        case .cannotStartRecording: .cannotStartRecording
        case .category: .categoryForbids
        case .audioSessionsMax: .audioSessionsMax
        case .deliveriesMax: .deliveriesMax
        }
    }

    /// The name of its schema among the components.
    var schemaName: String { "refusal.\(rawValue)" }

    /// What is the same for all such refusals.
    var schema: JSONSchema {
        let refusal = refusal
        let description = JSONSchema(("description", .text(refusal.message)))
        var properties: [DocumentNode.Member] = [
            .init("code", ["const": .text(rawValue)]), .init("retry", ["const": .boolean(refusal.retry)]),
        ]
        guard let fourCharCode = refusal.fourCharCode, let status = refusal.status else {
            return description.with("properties", .object(properties))
        }
        properties.append(.init("fourCharCode", ["const": .text(fourCharCode), "description": "The platform's code for it."]))
        properties.append(.init("status", ["const": .number(Double(status)), "description": "The number that the four characters are."]))
        return description.with("required", ["fourCharCode", "status"]).with("properties", .object(properties))
    }

    /// The payload of an `error`.
    ///
    /// - Parameter idIsRequired: an answer to something that was a request, whatever else was wrong with it.
    static func error(_ kinds: [RefusalKind], idIsRequired: Bool) -> JSONSchema {
        let id = JSONSchema.reference(.requestID)
        let members: [SchemaMember] = [
            .required("type", .constant("error")), idIsRequired ? .required("id", id) : .optional("id", id),
            .required("code", .text, "Stable, for programs."), .required("message", .text, "A sentence for people."),
            .required("retry", .boolean, "Whether the same request may succeed later."),
        ]
        return JSONSchema.object(members).with("oneOf", .list(kinds.map { .reference("components/schemas/\($0.schemaName)") }))
    }
}
