package import RelayBase

/// Bounds of pairing. They are part of the protocol and not for operators to set: loosening them would loosen what a code of eight characters is worth.
package struct PairLimits: Sendable, Equatable {
    /// How long a request and a code are good for.
    package var openMilliseconds: UInt64 = 120_000
    package var requestsOutMax = 16
    package var requestsInMax = 16
    package var requestsMax = 4_096
    package var codesPerIdentityMax = 16
    package var codesMax = 4_096
    /// Wrong codes that one identity may enter within ``openMilliseconds``.
    package var triesPerIdentityMax = 3
    /// Wrong codes that may come from one address within ``openMilliseconds``, apart from each identity's first.
    package var triesPerSourceMax = 60
    package var identitiesWithMissesMax = 65_536
    package var sourcesWithMissesMax = 16_384
    /// Pairs of one key: by grant, revoked ones that are still remembered included, and by policy.
    package var pairsPerKeyMax = 256
    package var pairsMax = 16_384
    /// Sessions of one key that are told of something.
    package var sessionsToldMax = 256
    package var devicesMax = 256

    package init() {}
}

/// Both clocks at once: the monotonic one for what lasts minutes, the wall's for what is signed or outlives the process.
package struct PairMoment: Sendable, Equatable {
    package let now: MonotonicInstant
    /// Milliseconds since 1970-01-01T00:00Z.
    package let unixMilliseconds: Int64

    package init(now: MonotonicInstant, unixMilliseconds: Int64) {
        self.now = now
        self.unixMilliseconds = unixMilliseconds
    }

    package var unixSeconds: Int64 { unixMilliseconds / 1_000 }
}

/// Two different keys, in the order of their fingerprints.
package struct PairKeys: Hashable, Sendable {
    package let low: String
    package let high: String

    /// - Parameters: fingerprints, 64 lower-case hexadecimal digits each.
    /// - Returns: `nil` when they are the same, or one is no fingerprint.
    package init?(_ first: String, _ second: String) {
        guard first != second, PairKeys.isFingerprint(first), PairKeys.isFingerprint(second) else { return nil }
        low = min(first, second)
        high = max(first, second)
    }

    package func contains(_ fingerprint: String) -> Bool { fingerprint == low || fingerprint == high }

    package static func isFingerprint(_ text: String) -> Bool {
        text.utf8.count == 64 && text.utf8.allSatisfy(isHexDigit)
    }

    static func isHexDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }

    /// What the pair's room is called after: the SHA-256 of these bytes.
    package var roomInput: [UInt8] { Array("segue-pair-v1\n\(low)\n\(high)".utf8) }
}

/// One of the two: a key, and the name that its certificate had when they were paired.
package struct PairParty: Hashable, Sendable {
    package let name: String
    package let fingerprint: String
    /// The certificate was passed on by a trusted proxy.
    package let isForwarded: Bool

    package init(name: String, fingerprint: String, isForwarded: Bool = false) {
        self.name = name
        self.fingerprint = fingerprint
        self.isForwarded = isForwarded
    }

    /// - Returns: `nil` for whoever has no certificate: a token can be carried off, and has no key to bind anything to.
    package init?(_ principal: Principal) {
        guard principal.proofs.hasCertificate, let fingerprint = principal.fingerprint, PairKeys.isFingerprint(fingerprint) else { return nil }
        self.init(name: principal.name, fingerprint: fingerprint, isForwarded: !principal.proofs.contains(.certificate))
    }
}

package enum PairBasis: String, Hashable, Sendable {
    case policy
    /// A request that was accepted.
    case grant
    case code
}

/// A pair as both ends are told of it.
package struct PairView: Hashable, Sendable {
    /// 32 hexadecimal digits: drawn at random for a grant, which keeps it when it is renewed; of a pair by policy, the beginning of its room's digest.
    package let id: String
    package let room: RoomName
    package let basis: PairBasis
    package let low: PairParty
    package let high: PairParty
    /// What lasts; `nil` for a pair by policy alone.
    package let grant: PairGrant?

    package init(id: String, room: RoomName, basis: PairBasis, low: PairParty, high: PairParty, grant: PairGrant?) {
        self.id = id
        self.room = room
        self.basis = basis
        self.low = low
        self.high = high
        self.grant = grant
    }

    package func peer(of fingerprint: String) -> PairParty { fingerprint == low.fingerprint ? high : low }
}

/// Why something about pairs was refused. The signalling layer gives each its stable code and sentence.
package enum PairRefusal: Error, Hashable, Sendable {
    case certificateNeeded
    case notAllowed
    case peerUnavailable
    case peerAmbiguous
    case unknownRequest
    case unknownPair
    case wrongCode
    case tooManyTries
    case pairsMax
    case badValue(String)
    /// It is done, but not on the disk.
    case notStored
}

/// News about pairs.
package enum PairEvent: Hashable, Sendable {
    case requested(request: String, from: PairParty, expires: Int64)
    /// `fingerprint`: whose view of the pair it is.
    case made(PairView, for: String, request: String?)
    case declined(request: String)
    case withdrawn(request: String, Withdrawal)
    case revoked(pair: String, PairEnd)

    package enum Withdrawal: Hashable, Sendable {
        case answered
        case cancelled
        case expired
    }
}

/// Why a pair is none any more.
package enum PairEnd: Hashable, Sendable {
    case revoked
    case expired
    case policy
    case admin
}

/// What is to be done after a decision, in this order.
package enum PairEffect: Hashable, Sendable {
    case tell([MemberAddress], PairEvent)
    /// Nobody may stay in the room.
    case endRoom(RoomName, PairEnd)
    /// Grants have changed: they are to be stored.
    case ledgerChanged
}
