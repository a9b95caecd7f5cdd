import FoundationEssentials
package import RelayRooms

/// The operator's policy as a file: JSON5, read whole, every fault told at once with its path. The annotated sample under `Deploy/` explains each key.
package enum PolicyFile {
    static let bytesMax = 16 << 20
    /// Of each kind.
    static let rulesMax = 10_000
    static let patternsMax = 100_000
    static let grantSecondsMax = 10 * 366 * 86_400

    /// Blocks on the disk, but never on a file that is none.
    ///
    /// - Throws: all faults, of which each says that it is the file's; their paths begin with `policy`, the key that names it.
    package static func read(_ path: String) throws(ServerConfiguration.Invalid) -> AccessPolicy {
        let text: [UInt8]?
        do {
            text = try StateFolder.read(path, bytesMax: bytesMax)
        } catch {
            throw ServerConfiguration.Invalid(faults: [ConfigurationFault(path: "policy", message: "cannot be read: \(error.reason)", file: path)])
        }
        guard let text else {
            throw ServerConfiguration.Invalid(faults: [ConfigurationFault(path: "policy", message: "cannot be read", file: path)])
        }
        do {
            return try parse(text)
        } catch {
            throw ServerConfiguration.Invalid(faults: error.faults.map { ConfigurationFault(path: $0.path, message: $0.message, file: path) })
        }
    }

    package static func parse(_ text: [UInt8]) throws(ServerConfiguration.Invalid) -> AccessPolicy {
        guard text.count <= bytesMax else {
            throw ServerConfiguration.Invalid(faults: [ConfigurationFault(path: "policy", message: "is longer than \(bytesMax) bytes")])
        }
        let decoder = JSONDecoder()
        decoder.allowsJSON5 = true
        guard let value = try? decoder.decode(JSONValue.self, from: Data(text)), case .object(let members) = value else {
            throw ServerConfiguration.Invalid(faults: [ConfigurationFault(path: "policy", message: "is not a file with one JSON5 object")])
        }
        var reader = ConfigurationReader(members, path: "policy")
        var policy = PolicyReader()
        policy.read(&reader)
        let faults = reader.finish()
        guard faults.isEmpty else { throw ServerConfiguration.Invalid(faults: faults) }
        return policy.policy
    }
}

/// Builds a policy out of a reader's members.
private struct PolicyReader {
    var policy = AccessPolicy()
    private var patterns = 0

    mutating func read(_ reader: inout ConfigurationReader) {
        policy.admins = identities("admins", &reader) ?? []
        policy.access = rules("access", &reader) { policy, reader in policy.accessRule(&reader) }
        policy.rooms = rules("rooms", &reader) { policy, reader in policy.roomRule(&reader) }
        var policy = self
        reader.object("pairing") { policy.pairing(&$0) }
        self = policy
    }

    /// A list of objects, each of which makes a rule or is at fault.
    private mutating func rules<Rule>(
        _ key: String, _ reader: inout ConfigurationReader, _ rule: (inout PolicyReader, inout ConfigurationReader) -> Rule?
    ) -> [Rule] {
        var rules: [Rule] = []
        var policy = self
        reader.objects(key) { reader in
            if let rule = rule(&policy, &reader) { rules.append(rule) }
        }
        self = policy
        if rules.count > PolicyFile.rulesMax { reader.fault(key, "has more than \(PolicyFile.rulesMax) rules") }
        return rules
    }

    private mutating func accessRule(_ reader: inout ConfigurationReader) -> AccessPolicy.AccessRule? {
        let identities = required("identities", identities("identities", &reader), &reader)
        let rooms = required("rooms", rooms("rooms", &reader), &reader)
        let roles = required("roles", words("roles", &reader, of: Role.allCases.map(\.rawValue)) { Role(rawValue: $0) }, &reader)
        let publish = publishKinds("publish", &reader)
        guard let identities, let rooms, let roles else { return nil }
        if Set(roles).count < roles.count { reader.fault("roles", "names a role twice") }
        return AccessPolicy.AccessRule(identities: identities, rooms: rooms, roles: roles, publish: publish)
    }

    private mutating func roomRule(_ reader: inout ConfigurationReader) -> AccessPolicy.RoomRule? {
        let rooms = required("rooms", rooms("rooms", &reader), &reader)
        var settings = RoomSettings()
        settings.hasLobby = reader.bool("lobby") ?? false
        let proofs: [String: ProofSet] = ["certificate": .certificate, "token": .token]
        for proof in words("requires", &reader, of: ["certificate", "token"], { proofs[$0] }) ?? [] { settings.requires.formUnion(proof) }
        settings.participantsMax = reader.integer("participantsMax", in: 1...10_000_000)
        settings.publishersMax = reader.integer("publishersMax", in: 1...10_000_000)
        settings.bitRateMax = reader.integer("bitRateMax", in: 1_000...BitRateBudget.bitsPerSecondMax)
        settings.flushHoldMicroseconds = reader.integer("flushHoldMicroseconds", in: LimitName.flushHoldMicroseconds)
        return rooms.map { AccessPolicy.RoomRule(rooms: $0, settings: settings) }
    }

    private mutating func pairing(_ reader: inout ConfigurationReader) {
        policy.pairs = rules("pairs", &reader) { policy, reader in policy.pairRule("a", "b", &reader) }
        policy.pairRequests = rules("requests", &reader) { policy, reader in policy.pairRule("from", "to", &reader) }
        policy.pairCodes = identities("codes", &reader) ?? []
        if let seconds = reader.integer("grantSeconds", in: 1...PolicyFile.grantSecondsMax) { policy.grantSeconds = Int64(seconds) }
    }

    private mutating func pairRule(_ first: String, _ second: String, _ reader: inout ConfigurationReader) -> AccessPolicy.PairRule? {
        let a = required(first, identities(first, &reader), &reader)
        let b = required(second, identities(second, &reader), &reader)
        guard let a, let b else { return nil }
        return AccessPolicy.PairRule(a: a, b: b)
    }

    // MARK: Values

    /// A rule without the list, or with an empty one, means nobody or nothing: surely not what was meant.
    private func required<Element>(_ key: String, _ list: [Element]?, _ reader: inout ConfigurationReader) -> [Element]? {
        if let list, !list.isEmpty { return list }
        if !reader.hasFault(below: key) { reader.fault(key, "must name at least one") }
        return nil
    }

    private mutating func identities(_ key: String, _ reader: inout ConfigurationReader) -> [IdentityPattern]? {
        patterns(key, &reader, "a name in printable ASCII without spaces, at most \(IdentityPattern.bytesMax) bytes") { IdentityPattern($0) }
    }

    private mutating func rooms(_ key: String, _ reader: inout ConfigurationReader) -> [RoomPattern]? {
        patterns(key, &reader, "of the characters of room names and '*', at most \(IdentityPattern.bytesMax) bytes") { RoomPattern($0) }
    }

    private mutating func patterns<Pattern>(
        _ key: String, _ reader: inout ConfigurationReader, _ form: String, _ make: (String) -> Pattern?
    ) -> [Pattern]? {
        guard let texts = reader.strings(key) else { return nil }
        patterns += texts.count
        guard patterns <= PolicyFile.patternsMax else {
            reader.fault(key, "is beyond the \(PolicyFile.patternsMax) patterns that a policy may have")
            return nil
        }
        return texts.enumerated().compactMap { place, text in
            if let pattern = make(text) { return pattern }
            reader.fault("\(key)[\(place)]", "must be \(form)")
            return nil
        }
    }

    private func words<Value>(
        _ key: String, _ reader: inout ConfigurationReader, of words: [String], _ make: (String) -> Value?
    ) -> [Value]? {
        reader.strings(key)?.enumerated().compactMap { place, text in
            if let value = make(text) { return value }
            reader.fault("\(key)[\(place)]", "must be one of \(words.joined(separator: ", "))")
            return nil
        }
    }

    /// Left out: all of them. An empty list: none.
    private func publishKinds(_ key: String, _ reader: inout ConfigurationReader) -> PublishKinds {
        let kinds: [String: PublishKinds] = ["audio": .audio, "video": .video, "data": .data]
        guard let named = words(key, &reader, of: ["audio", "video", "data"], { kinds[$0] }) else { return .all }
        return named.reduce(into: []) { $0.formUnion($1) }
    }
}

extension AccessPolicy {
    /// What holds in development mode where the operator says nothing: everybody may be everything everywhere, and the demo operator administers.
    package static var development: AccessPolicy {
        guard let everybody = IdentityPattern("*"), let everywhere = RoomPattern("*"),
            let administrator = IdentityPattern("urn:segue:client:operator")
        else { preconditionFailure("a pattern of this program is none") }
        let everyone = PairRule(a: [everybody], b: [everybody])
        var policy = AccessPolicy()
        policy.admins = [administrator]
        policy.access = [
            AccessRule(identities: [administrator], rooms: [everywhere], roles: [.host, .speaker, .listener, .recorder]),
            AccessRule(identities: [everybody], rooms: [everywhere], roles: [.speaker, .listener, .recorder, .host]),
        ]
        policy.pairRequests = [everyone]
        policy.pairCodes = [everybody]
        return policy
    }
}
