internal import FoundationEssentials

/// What stays the same for all that an authority signs. Kept in `settings.json`.
package struct AuthoritySettings: Hashable, Sendable {
    package static let crlValidityDaysMax = 365

    /// A URI at which relying parties find `crl.pem`; put into every certificate when there is one.
    package let crlDistributionPoint: SubjectAlternativeName?
    /// From one revocation list to the moment by which the next one must be there.
    package let crlValidityDays: Int

    /// Throws ``CertificateAuthorityFault/invalidName(_:kind:)`` when the distribution point is no URI and
    /// ``CertificateAuthorityFault/validityOutOfRange(daysMax:)`` outside of 1 to 365 days.
    package init(crlDistributionPoint: String? = nil, crlValidityDays: Int = 7) throws(CertificateAuthorityFault) {
        guard (1...Self.crlValidityDaysMax).contains(crlValidityDays) else { throw .validityOutOfRange(daysMax: Self.crlValidityDaysMax) }
        if let crlDistributionPoint {
            self.crlDistributionPoint = try .uri(crlDistributionPoint)
        } else {
            self.crlDistributionPoint = nil
        }
        self.crlValidityDays = crlValidityDays
    }

    private struct Record: Codable {
        var crlDistributionPoint: String?
        var crlValidityDays: Int
    }

    static func read(path: String) throws(CertificateAuthorityFault) -> AuthoritySettings {
        let bytes = try Files.read(path, bytesMax: Files.pemBytesMax).copy
        guard let record = try? JSONDecoder().decode(Record.self, from: Data(bytes)),
            let settings = try? AuthoritySettings(crlDistributionPoint: record.crlDistributionPoint, crlValidityDays: record.crlValidityDays)
        else { throw .settingsCorrupt(path: path) }
        return settings
    }

    func write(path: String) throws(CertificateAuthorityFault) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let record = Record(crlDistributionPoint: crlDistributionPoint?.value, crlValidityDays: crlValidityDays)
        guard let bytes = try? encoder.encode(record) else { preconditionFailure("a string and a number always encode") }
        try Files.write(String(decoding: bytes, as: UTF8.self) + "\n", to: path, mode: Files.secretMode)
    }
}
