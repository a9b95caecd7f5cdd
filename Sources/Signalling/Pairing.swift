/// Requests about pairs.
extension ClientRequest {
    package struct PairPeer: Codable, Sendable, Equatable {
        /// The identity's name.
        package var peer: String
        /// One of its keys, where it has several.
        package var fingerprint: String?

        package init(peer: String, fingerprint: String? = nil) {
            self.peer = peer
            self.fingerprint = fingerprint
        }
    }

    package struct PairRequestReference: Codable, Sendable, Equatable {
        package var request: String

        package init(request: String) {
            self.request = request
        }
    }

    package struct PairCode: Codable, Sendable, Equatable {
        package var code: String

        package init(code: String) {
            self.code = code
        }
    }

    package struct PairReference: Codable, Sendable, Equatable {
        package var pair: String

        package init(pair: String) {
            self.pair = pair
        }
    }
}

/// What the relay says about pairs. Times are milliseconds since 1970-01-01T00:00Z.
extension RelayMessage {
    /// What two clients are a pair by.
    package enum PairBasis: String, Codable, Sendable, CaseIterable {
        case policy
        case grant
        case code
    }

    package struct PairInfo: Codable, Sendable, Equatable {
        package var pair: String
        package var room: String
        package var basis: PairBasis
        package var peer: Identity
        package var expires: Double?
        /// The relay's signed word on who the two are (compact JWS, RFC 7515).
        package var statement: String
        /// The same as something that lasts; absent for pairs by policy.
        package var grant: String?

        package init(pair: String, room: String, basis: PairBasis, peer: Identity, expires: Double?, statement: String, grant: String?) {
            self.pair = pair
            self.room = room
            self.basis = basis
            self.peer = peer
            self.expires = expires
            self.statement = statement
            self.grant = grant
        }
    }

    package enum PairDirection: String, Codable, Sendable, CaseIterable {
        case incoming = "in"
        case outgoing = "out"
    }

    package struct PairInvitation: Codable, Sendable, Equatable {
        package var request: String
        package var identity: Identity
        package var direction: PairDirection?
        package var expires: Double

        package init(request: String, identity: Identity, direction: PairDirection?, expires: Double) {
            self.request = request
            self.identity = identity
            self.direction = direction
            self.expires = expires
        }
    }

    package struct PairMade: Codable, Sendable, Equatable {
        package var pair: PairInfo
        /// The request that led to it.
        package var request: String?

        package init(pair: PairInfo, request: String?) {
            self.pair = pair
            self.request = request
        }
    }

    package enum PairWithdrawalReason: String, Codable, Sendable, CaseIterable {
        /// Accepted or declined on another device.
        case answered
        case cancelled
        case expired
    }

    package struct PairWithdrawal: Codable, Sendable, Equatable {
        package var request: String
        package var reason: PairWithdrawalReason

        package init(request: String, reason: PairWithdrawalReason) {
            self.request = request
            self.reason = reason
        }
    }

    package enum PairRevocationReason: String, Codable, Sendable, CaseIterable {
        case revoked
        case expired
        case policy
        case admin
    }

    package struct PairRevocation: Codable, Sendable, Equatable {
        package var pair: String
        package var reason: PairRevocationReason

        package init(pair: String, reason: PairRevocationReason) {
            self.pair = pair
            self.reason = reason
        }
    }

    /// One key of an identity that is connected now.
    package struct PairDevice: Codable, Sendable, Equatable {
        package var fingerprint: String
        package var device: String?
        package var sessions: Int

        package init(fingerprint: String, device: String?, sessions: Int) {
            self.fingerprint = fingerprint
            self.device = device
            self.sessions = sessions
        }
    }
}
