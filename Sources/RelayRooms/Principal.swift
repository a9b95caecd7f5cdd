/// One of the names that somebody has proven to have.
package struct PrincipalName: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case uri
        case dns
        case email
        /// The subject of a bearer token, behind `token:`.
        case token
        /// The fingerprint of a key, behind `spki:`.
        case key

        /// By what stands in a name; names of two kinds never look alike.
        init(shapeOf text: String) {
            if text.hasPrefix(Kind.tokenPrefix) {
                self = .token
            } else if text.hasPrefix(Kind.keyPrefix) {
                self = .key
            } else if text.utf8.contains(UInt8(ascii: ":")) {
                self = .uri
            } else {
                self = text.utf8.contains(UInt8(ascii: "@")) ? .email : .dns
            }
        }

        package static let tokenPrefix = "token:"
        package static let keyPrefix = "spki:"

        /// The form in which names of the kind are compared.
        func folded(_ text: String) -> String {
            switch self {
            case .uri, .token, .key: return text
            case .dns: return text.lowercased()
            case .email:
                guard let at = text.lastIndex(of: "@") else { return text }
                return text[..<at] + text[at...].lowercased()
            }
        }
    }

    package let kind: Kind
    package let text: String
    /// For comparisons; for most kinds the same as the text, and then the same memory.
    let folded: String

    package init(_ kind: Kind, _ text: String) {
        self.kind = kind
        self.text = text
        folded = kind.folded(text)
    }
}

/// What proved an identity. A certificate counts the same whether the relay's own TLS or a trusted proxy's took it.
package struct ProofSet: OptionSet, Hashable, Sendable, Codable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// By mutual TLS with the relay itself.
    package static let certificate = ProofSet(rawValue: 1)
    /// A certificate that a trusted proxy passed on, and that the relay has verified.
    package static let forwarded = ProofSet(rawValue: 2)
    package static let token = ProofSet(rawValue: 4)

    package var hasCertificate: Bool { !isDisjoint(with: [.certificate, .forwarded]) }
}

/// Who a client has proven to be, as authorisation sees it.
package struct Principal: Hashable, Sendable {
    /// The name that stands for the client towards others.
    package var name: String
    /// All names that were proven; patterns are compared with each.
    package var names: [PrincipalName]
    /// SHA-256 of the certificate's key as 64 lower-case hexadecimal digits; `nil` without a certificate.
    package var fingerprint: String?
    package var proofs: ProofSet
    /// What a token says about rooms; empty: nothing.
    package var tokenRules: [TokenRule] = []

    package init(name: String, names: [PrincipalName], fingerprint: String?, proofs: ProofSet, tokenRules: [TokenRule] = []) {
        self.name = name
        self.names = names
        self.fingerprint = fingerprint
        self.proofs = proofs
        self.tokenRules = tokenRules
    }

    /// A right that a bearer token grants: for the rooms that it names.
    package struct TokenRule: Hashable, Sendable {
        package let rooms: RoomPattern
        package let roles: [Role]
        package let publish: PublishKinds

        /// - Parameter roles: the first is what one gets, the others may be asked for; at least one.
        package init?(rooms: RoomPattern, roles: [Role], publish: PublishKinds) {
            guard !roles.isEmpty else { return nil }
            self.rooms = rooms
            self.roles = roles
            self.publish = publish
        }
    }
}

/// What a participant may do in a room.
package enum Role: String, Hashable, Sendable, Codable, CaseIterable {
    /// Everything, moderation included.
    case host
    /// Publishes and subscribes.
    case speaker
    /// Subscribes.
    case listener
    /// Subscribes, and everybody is shown that it may be keeping what it gets.
    case recorder

    package var mayModerate: Bool { self == .host }

    package var mayPublish: Bool {
        switch self {
        case .host, .speaker: true
        case .listener, .recorder: false
        }
    }
}

/// Kinds of streams that somebody may publish at most, whatever role they are given.
package struct PublishKinds: OptionSet, Hashable, Sendable, Codable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    package static let audio = PublishKinds(rawValue: 1)
    package static let video = PublishKinds(rawValue: 2)
    package static let data = PublishKinds(rawValue: 4)
    package static let all: PublishKinds = [.audio, .video, .data]

    package init(_ lane: Lane) {
        switch lane {
        case .audio: self = .audio
        case .video: self = .video
        case .data: self = .data
        }
    }
}
