import Signalling

extension RelayMessage.RoomRemoval {
    /// What a command says when it is out of its room.
    var sentence: String {
        switch reason {
        case .removed: "a host has taken this client out of the room"
        case .ended: "a host has ended the room"
        case .denied: "a host did not let this client in"
        case .policy: "the relay's policy does not allow this client in the room any more"
        case .grantRevoked: "the pair is revoked"
        case .grantExpired: "the pair has expired"
        case .admin: "an administrator has taken this client out of the room, or ended it"
        }
    }
}

extension CommandFailure {
    init(_ removal: RelayMessage.RoomRemoval) {
        self.init(code: .relay, message: removal.sentence)
    }
}
