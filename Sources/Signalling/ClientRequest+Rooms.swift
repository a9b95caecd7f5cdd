package import RelayRooms

/// What hosts ask for, and who somebody is.
extension ClientRequest {
    package struct Authenticate: Codable, Sendable, Equatable {
        /// A JWT (RFC 7519) in the compact form.
        package var token: String

        package init(token: String) {
            self.token = token
        }
    }

    package struct ParticipantReference: Codable, Sendable, Equatable {
        package var participant: UInt32

        package init(participant: UInt32) {
            self.participant = participant
        }
    }

    package struct Mute: Codable, Sendable, Equatable {
        package var participant: UInt32
        /// Absent: all kinds.
        package var kinds: [StreamKind]?
        package var muted: Bool

        package init(participant: UInt32, kinds: [StreamKind]?, muted: Bool) {
            self.participant = participant
            self.kinds = kinds
            self.muted = muted
        }
    }

    package struct Promote: Codable, Sendable, Equatable {
        package var participant: UInt32
        package var role: Role

        package init(participant: UInt32, role: Role) {
            self.participant = participant
            self.role = role
        }
    }

    package struct Lock: Codable, Sendable, Equatable {
        package var locked: Bool

        package init(locked: Bool) {
            self.locked = locked
        }
    }
}

extension RelayMessage {
    package typealias Lock = ClientRequest.Lock

    package enum JoinState: String, Codable, Sendable, CaseIterable {
        case joined
        /// In the lobby, until a host lets the client in.
        case waiting
    }

    package struct ParticipantState: Codable, Sendable, Equatable {
        package var participant: UInt32
        package var role: Role
        package var muted: [StreamKind]

        package init(participant: UInt32, role: Role, muted: [StreamKind]) {
            self.participant = participant
            self.role = role
            self.muted = muted
        }
    }

    /// Why a client is not in its room any more, or was not let in from the lobby.
    package enum RemovalReason: String, Codable, Sendable, CaseIterable {
        case removed
        case ended
        case denied
        /// A reloaded policy does not allow it any more.
        case policy
        case grantRevoked = "grant_revoked"
        case grantExpired = "grant_expired"
        case admin
    }

    package struct RoomRemoval: Codable, Sendable, Equatable {
        package var room: String
        package var reason: RemovalReason

        package init(room: String, reason: RemovalReason) {
            self.room = room
            self.reason = reason
        }
    }

    /// A room as somebody finds it who was let in from the lobby; what an `ok` to `join` says otherwise.
    package struct RoomEntry: Codable, Sendable, Equatable {
        package var room: String
        package var participant: UInt32
        package var role: Role
        package var locked: Bool
        package var participants: [Participant]?
        package var streams: [StreamInfo]
        /// Who speaks; absent: nobody.
        package var speakers: [Speaker]?

        package init(
            room: String, participant: UInt32, role: Role, locked: Bool, participants: [Participant]?, streams: [StreamInfo],
            speakers: [Speaker]? = nil
        ) {
            self.room = room
            self.participant = participant
            self.role = role
            self.locked = locked
            self.participants = participants
            self.streams = streams
            self.speakers = speakers
        }
    }
}
