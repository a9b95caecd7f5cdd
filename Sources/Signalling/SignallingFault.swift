package import AudioSession
internal import RelayBase
package import RelayRooms

/// What was wrong with a text message itself.
package enum SignallingFault: Error, Equatable, Sendable {
    /// Not JSON at all: closes 1007 (RFC 6455 §7.4.1).
    case notJSON
    case malformed(id: UInt64?, detail: String)
    case unknownType(id: UInt64, type: String)
}

/// A refusal as clients see it: a stable code, a sentence for people, and whether trying again can help.
package struct Refusal: Error, Codable, Sendable, Equatable {
    package let code: String
    package let message: String
    package let retry: Bool
    /// The platform's code for it, where it has one: four characters, and the number that they are.
    package var fourCharCode: String?
    package var status: UInt32?

    package init(code: String, message: String, retry: Bool) {
        self.code = code
        self.message = message
        self.retry = retry
    }

    /// A refusal that the platform has a code for.
    package init(code: String, message: String, _ platform: SessionErrorCode) {
        self.init(code: code, message: message, retry: platform.isRetryable)
        fourCharCode = platform.rawValue
        status = platform.code.rawValue
    }

    package init(_ fault: RoomFault) {
        switch fault {
        case .tooManyRooms: self.init(code: "rooms_max", message: "The relay holds as many rooms as it may.", retry: true)
        case .roomFull(let limit): self.init(code: "participants_max", message: "The room holds \(limit) participants at most.", retry: true)
        case .tooManyPublishers(let limit): self.init(code: "publishers_max", message: "The room has \(limit) publishers at most.", retry: true)
        case .tooManyStreams(let limit): self.init(code: "streams_max", message: "A participant publishes \(limit) streams at most.", retry: false)
        case .roomStreamsFull(let limit): self.init(code: "room_streams_max", message: "The room has \(limit) streams at most.", retry: true)
        case .notAMember: self.init(code: "not_in_room", message: "Join a room first.", retry: false)
        case .unknownStream: self.init(code: "unknown_stream", message: "There is no such stream here.", retry: false)
        case .locked: self = .roomLocked
        case .lobbyFull: self = .lobbyFull
        case .notHost: self = .notHost
        case .role: self = .role
        case .kindNotAllowed: self = .notAllowed
        case .unknownParticipant: self = .unknownParticipant
        case .homeUncertain: self = .clusterUnavailable
        }
    }

    package init(_ refusal: AccessRefusal) {
        switch refusal {
        case .notAllowed: self = .notAllowed
        case .missingProof(let missing):
            let names = (missing.hasCertificate ? ["a certificate"] : []) + (missing.contains(.token) ? ["a token"] : [])
            self = .proofRequired(names.joined(separator: " and "))
        }
    }

    package init(_ refusal: PairRefusal) {
        switch refusal {
        case .certificateNeeded: self = .certificateNeeded
        case .notAllowed: self = .notAllowed
        case .peerUnavailable: self = .peerUnavailable
        case .peerAmbiguous: self = .peerAmbiguous
        case .unknownRequest: self = .unknownRequest
        case .unknownPair: self = .unknownPair
        case .wrongCode: self = .pairCode
        case .tooManyTries: self = .pairRate
        case .pairsMax: self = .pairsMax
        case .badValue(let member): self = .badValue(member)
        case .notStored: self = .notStored
        }
    }

    package static func unknownType(_ type: String) -> Refusal {
        Refusal(code: "unknown_type", message: "The request type '\(type)' is not known.", retry: false)
    }

    package static func malformed(_ detail: String) -> Refusal {
        Refusal(code: "malformed", message: "The request is malformed: \(detail).", retry: false)
    }

    package static let noCommonVersion = Refusal(code: "version", message: "The relay speaks version 1 of the protocol only.", retry: false)
    package static let helloFirst = Refusal(code: "hello_first", message: "Say hello first.", retry: false)
    package static let helloTwice = Refusal(code: "hello_twice", message: "The session said hello already.", retry: false)
    package static let alreadyInRoom = Refusal(code: "already_in_room", message: "The session is in a room; leave it first.", retry: false)
    package static func badRoomName(bytesMax: Int) -> Refusal {
        Refusal(code: "room_name", message: "A room's name is 1 to \(bytesMax) of the characters A-Z a-z 0-9 - . _ ~ : @.", retry: false)
    }
    package static let draining = Refusal(code: "draining", message: "The relay is going away; connect again.", retry: true)
    package static let clusterUnavailable = Refusal(
        code: "cluster_unavailable", message: "The node that decides about the room cannot be reached: try again.", retry: true)
    package static let pending = Refusal(code: "pending", message: "An earlier request of that kind has not been answered yet.", retry: true)
    package static func badValue(_ member: String) -> Refusal {
        Refusal(code: "bad_value", message: "The member '\(member)' is out of range.", retry: false)
    }
    package static func unknownCodec(_ codec: String) -> Refusal {
        Refusal(code: "unknown_codec", message: "The codec '\(codec.prefix(64))' is not one that the relay carries.", retry: false)
    }

    package static let unauthenticated = Refusal(
        code: "unauthenticated", message: "The session has proven no identity: send a token with hello.", retry: false)
    package static func tokenRefused(_ why: String) -> Refusal {
        Refusal(code: "token_refused", message: "The token is not accepted: \(why).", retry: false)
    }
    package static let resumeRefused = Refusal(
        code: "resume_refused", message: "There is no such session to resume: say hello without it.", retry: false)
    package static let connectionShared = Refusal(
        code: "connection_shared", message: "The session is not to be had over a connection that others share: come over one of its own.", retry: true
    )
    package static func proofRequired(_ what: String) -> Refusal {
        Refusal(code: "proof_required", message: "The room asks for \(what) as well.", retry: false)
    }
    package static let notAllowed = Refusal(
        code: "not_allowed", message: "What decides here does not allow this: the relay's policy, the token's own rights, or the pair.", retry: false)
    package static let roomLocked = Refusal(code: "room_locked", message: "The room is locked.", retry: true)
    package static let notHost = Refusal(code: "not_host", message: "Only a host of the room may do this.", retry: false)
    package static let role = Refusal(code: "role", message: "The role in this room does not allow this.", retry: false)
    package static let unknownParticipant = Refusal(code: "unknown_participant", message: "There is no such participant here.", retry: false)
    package static let lobbyFull = Refusal(code: "lobby_full", message: "As many are waiting as may.", retry: true)
    package static let peerUnavailable = Refusal(code: "peer_unavailable", message: "The peer is not connected.", retry: true)
    package static let peerAmbiguous = Refusal(
        code: "peer_ambiguous", message: "The peer is connected with several keys: name one by its fingerprint.", retry: false)
    package static let unknownRequest = Refusal(code: "unknown_request", message: "There is no such request.", retry: false)
    package static let unknownPair = Refusal(code: "unknown_pair", message: "There is no such pair.", retry: false)
    package static let pairCode = Refusal(code: "pair_code", message: "The code is not right, or not any more.", retry: false)
    package static let pairRate = Refusal(code: "pair_rate", message: "Too many tries; wait.", retry: true)
    package static let pairsMax = Refusal(code: "pairs_max", message: "As many pairs, requests or codes are open as may be.", retry: true)
    package static let notStored = Refusal(
        code: "not_stored", message: "The pair has ended, but that could not be written down: a restart may bring it back.", retry: true)
    package static let deliveriesMax = Refusal(
        code: "deliveries_max", message: "The stream comes in as many kinds of paced delivery as it may: ask for one of those, or live.", retry: true)
    package static let internalFault = Refusal(code: "internal", message: "The relay could not do it.", retry: true)
    package static let certificateNeeded = Refusal(code: "certificate_needed", message: "Pairs need a certificate on both sides.", retry: false)

    // MARK: Audio sessions

    package static let sessionLost = Refusal(
        code: "session_lost", message: "There is no audio session: initialise it, set its category, activate it.", .notInitialised)
    package static let illegalCategory = Refusal(
        code: "illegal_category", message: "The session cannot have this category, mode and options together.", .illegalOperation)
    package static let insufficientPriority = Refusal(
        code: "insufficient_priority", message: "Another session of the identity holds the audio and may not be interrupted by this one.",
        .insufficientPriority)
    package static let ioRunning = Refusal(
        code: "io_running", message: "Streams are running: stop them first, or deactivate with 'force'.", .isBusy)
    package static let cannotStartPlaying = Refusal(
        code: "cannot_start_playing", message: "The audio session is not active.", .cannotStartPlaying)
    package static let cannotStartRecording = Refusal(
        code: "cannot_start_recording", message: "The audio session is not active.", .cannotStartRecording)
    package static let audioSessionsMax = Refusal(
        code: "audio_sessions_max", message: "The identity has as many audio sessions as it may.", retry: true)
    package static let categoryForbids = Refusal(
        code: "category", message: "The audio session's category does not allow this.", .illegalOperation)
}
