internal import FoundationEssentials

/// The tokens on disk: a file each (mode 0600) under a name that follows from the token's digest, so that looking one up costs the same however many
/// there are, and nothing has to be read for one that does not exist.
///
/// Changes are made by whoever holds the authority's lock; reading needs none, since files appear whole.
struct EnrolmentTokenFiles {
    private static let bytesMax = 16_384

    let files: AuthorityFiles

    /// The token that this is the secret of, used, ended or revoked ones included.
    func find(_ secret: EnrolmentSecret) throws(CertificateAuthorityFault) -> EnrolmentToken? {
        let digest = try secret.digest()
        let identifier = EnrolmentTokenID(digest: digest)
        guard Files.exists(files.token(identifier)) else { return nil }
        let token = try read(identifier)
        return SHA256.areEqual(token.digest, digest) ? token : nil
    }

    func read(_ identifier: EnrolmentTokenID) throws(CertificateAuthorityFault) -> EnrolmentToken {
        let path = files.token(identifier)
        guard Files.exists(path) else { throw .tokenNotFound(identifier) }
        let bytes = try Files.read(path, bytesMax: Self.bytesMax).copy
        guard let record = try? JSONDecoder().decode(Record.self, from: Data(bytes)), let token = EnrolmentToken(record), token.id == identifier
        else {
            throw .tokenCorrupt(path: path)
        }
        return token
    }

    /// Oldest first.
    func list() throws(CertificateAuthorityFault) -> [EnrolmentToken] {
        guard Files.exists(files.tokens) else { return [] }
        var tokens: [EnrolmentToken] = []
        for name in try Files.list(files.tokens) where name.hasSuffix(".json") {
            guard let identifier = EnrolmentTokenID(String(name.dropLast(5))) else { continue }
            do {
                tokens.append(try read(identifier))
            } catch .tokenNotFound, .system(_, _, _) {
                // Somebody has removed it since the folder was read.
                guard !Files.exists(files.token(identifier)) else { throw .tokenCorrupt(path: files.token(identifier)) }
            }
        }
        return tokens.sorted { ($0.created, $0.id.description) < ($1.created, $1.id.description) }
    }

    func write(_ token: EnrolmentToken) throws(CertificateAuthorityFault) {
        try Files.makeFolder(files.tokens)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let bytes = try? encoder.encode(Record(token)) else { preconditionFailure("strings and numbers always encode") }
        try Files.write(String(decoding: bytes, as: UTF8.self) + "\n", to: files.token(token.id), mode: Files.secretMode)
    }

    /// Forgets what ended long ago, and sees that there is room for one more.
    func makeRoom(now: UnixTime) throws(CertificateAuthorityFault) {
        var count = 0
        for token in try list() {
            if token.isForgotten(at: now) { try Files.remove(files.token(token.id)) } else { count += 1 }
        }
        guard count < EnrolmentToken.countMax else { throw .tokensFull(max: EnrolmentToken.countMax) }
    }
}

/// The shape of a file.
private struct Record: Codable {
    var digest: String
    var names: [String]
    var label: String
    var created: String
    var expires: String
    var certificateSeconds: Int64
    var usedAt: String?
    var serial: String?
    var revokedAt: String?

    init(_ token: EnrolmentToken) {
        digest = Hexadecimal.encode(token.digest)
        names = token.names.map(\.description)
        label = token.label
        created = token.created.description
        expires = token.expires.description
        certificateSeconds = token.certificateValidity.components.seconds
        usedAt = token.use?.at.description
        serial = token.use?.serial.description
        revokedAt = token.revoked?.description
    }
}

extension EnrolmentToken {
    fileprivate init?(_ record: Record) {
        guard let digest = Hexadecimal.decode(record.digest, octetsMax: 32), digest.count == 32,
            let created = UnixTime(record.created), let expires = UnixTime(record.expires),
            (try? NameSyntax.checkLabel(record.label)) != nil, (1...SubjectAlternativeName.countMax).contains(record.names.count),
            (1...Duration.days(CertificateKind.client.validityDaysMax).components.seconds).contains(record.certificateSeconds)
        else { return nil }
        var names: [SubjectAlternativeName] = []
        for text in record.names {
            guard let name = try? SubjectAlternativeName(parsing: text) else { return nil }
            names.append(name)
        }
        var use: Use?
        switch (record.usedAt.map { UnixTime($0) }, record.serial.map { CertificateSerial($0) }) {
        case (nil, nil): break
        case (let at??, let serial??): use = Use(at: at, serial: serial)
        default: return nil
        }
        let revoked = record.revokedAt.flatMap { UnixTime($0) }
        guard (revoked == nil) == (record.revokedAt == nil) else { return nil }
        self.init(
            id: EnrolmentTokenID(digest: digest), digest: digest, names: names, label: record.label, created: created, expires: expires,
            certificateValidity: .seconds(record.certificateSeconds), use: use, revoked: revoked)
    }
}
