internal import FoundationEssentials

/// The list of every certificate that was ever signed, oldest first: one JSON object a line.
struct CertificateIndex {
    static let entriesMax = 100_000
    static let bytesMax = 128 << 20

    private(set) var entries: [CertificateEntry] = []

    /// - Parameter path: named in the fault when a line cannot be read; an index that is half understood is not used at all, since the next
    ///   revocation list made of it would forget certificates.
    init(parsing bytes: [UInt8], path: String) throws(CertificateAuthorityFault) {
        let decoder = JSONDecoder()
        for (number, line) in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: true).enumerated() {
            guard entries.count < Self.entriesMax else { throw .indexFull(max: Self.entriesMax) }
            guard let record = try? decoder.decode(Line.self, from: Data(line)), let entry = CertificateEntry(record) else {
                throw .indexCorrupt(path: path, line: number + 1)
            }
            entries.append(entry)
        }
    }

    func encoded() throws(CertificateAuthorityFault) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var text = ""
        for entry in entries {
            guard let line = try? encoder.encode(Line(entry)) else { preconditionFailure("strings and booleans always encode") }
            text += String(decoding: line, as: UTF8.self) + "\n"
        }
        return text
    }

    mutating func append(_ entry: CertificateEntry) throws(CertificateAuthorityFault) {
        guard entries.count < Self.entriesMax else { throw .indexFull(max: Self.entriesMax) }
        entries.append(entry)
    }

    /// All that match, oldest first.
    func positions(of selector: CertificateSelector) -> [Int] {
        switch selector {
        case .serial(let serial): entries.indices.filter { entries[$0].serial == serial }
        case .label(let label): entries.indices.filter { entries[$0].label == label }
        case .key(let fingerprint): entries.indices.filter { entries[$0].keyFingerprint == fingerprint }
        }
    }

    /// The newest that matches.
    func latest(_ selector: CertificateSelector) -> CertificateEntry? {
        positions(of: selector).last.map { entries[$0] }
    }

    /// Whether a server goes or ever went by `label`: its configuration may still name the files that are found by it.
    func hasServer(_ label: String) -> Bool { entries.contains { $0.kind == .server && $0.label == label } }

    mutating func revoke(at position: Int, _ revocation: CertificateEntry.Revocation) {
        entries[position].revocation = revocation
    }
}

/// The shape of a line on disk.
private struct Line: Codable {
    var serial: String
    var kind: String
    var label: String
    var names: [String]
    var notBefore: String
    var notAfter: String
    var key: String?
    var spki: String?
    var token: String?
    var renews: String?
    var status: String
    var revokedAt: String?
    var reason: String?

    init(_ entry: CertificateEntry) {
        serial = entry.serial.description
        kind = entry.kind.rawValue
        label = entry.label
        names = entry.names.map(\.description)
        notBefore = entry.notBefore.description
        notAfter = entry.notAfter.description
        key = entry.key?.rawValue
        spki = entry.keyFingerprint?.description
        token = entry.origin.token?.description
        renews = entry.origin.predecessor?.description
        // Expiry is not stored: it follows from the clock.
        status = entry.revocation == nil ? "valid" : "revoked"
        revokedAt = entry.revocation?.at.description
        reason = entry.revocation?.reason.rawValue
    }
}

extension CertificateEntry {
    fileprivate init?(_ line: Line) {
        guard let serial = CertificateSerial(line.serial), let kind = CertificateKind(rawValue: line.kind),
            let notBefore = UnixTime(line.notBefore), let notAfter = UnixTime(line.notAfter),
            (try? NameSyntax.checkLabel(line.label)) != nil, (1...SubjectAlternativeName.countMax).contains(line.names.count)
        else { return nil }
        var names: [SubjectAlternativeName] = []
        for text in line.names {
            guard let name = try? SubjectAlternativeName(parsing: text) else { return nil }
            names.append(name)
        }
        var key: KeyAlgorithm?
        if let text = line.key {
            guard let known = KeyAlgorithm(rawValue: text) else { return nil }
            key = known
        }
        // Each is optional, but one that is there and cannot be read makes the line one that is not understood.
        let keyFingerprint = line.spki.flatMap { KeyFingerprint($0) }
        let token = line.token.flatMap { EnrolmentTokenID($0) }
        let predecessor = line.renews.flatMap { CertificateSerial($0) }
        guard (keyFingerprint == nil) == (line.spki == nil), (token == nil) == (line.token == nil), (predecessor == nil) == (line.renews == nil)
        else { return nil }
        var revocation: Revocation?
        switch (line.status, line.revokedAt.flatMap { UnixTime($0) }, line.reason.flatMap { RevocationReason(rawValue: $0) }) {
        case ("valid", nil, nil): break
        case ("revoked", let at?, let reason?): revocation = Revocation(at: at, reason: reason)
        default: return nil
        }
        self.init(
            serial: serial, kind: kind, label: line.label, names: names, notBefore: notBefore, notAfter: notAfter, key: key,
            keyFingerprint: keyFingerprint, origin: CertificateOrigin(token: token, predecessor: predecessor), revocation: revocation)
    }
}
