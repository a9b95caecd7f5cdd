/// A client's certificate as a proxy that ended its TLS passes it on: bytes alone. Whether they are a certificate, and whether it is a good one, is for
/// whoever verifies it to say; names, hashes and verdicts that proxies send beside it are not even looked at.
package struct ForwardedCertificate: Sendable, Hashable {
    /// The client's own certificate, DER.
    package let leaf: [UInt8]
    /// The authorities that the client sent with it, DER, nearest first; without the root mostly.
    package let chain: [[UInt8]]

    package init(leaf: [UInt8], chain: [[UInt8]] = []) {
        self.leaf = leaf
        self.chain = chain
    }

    /// All certificates together may have so many bytes, as in a handshake.
    package static let bytesMax = 32 << 10
    /// Authorities in a chain, one more than validation would follow.
    package static let chainMax = 5
}

/// The field in which a proxy passes the certificate on.
package enum ForwardedCertificateForm: Sendable, Hashable, CaseIterable {
    /// `Client-Cert` and `Client-Cert-Chain`: DER as structured byte sequences (RFC 9440 §2).
    case clientCert
    /// HAProxy: `X-SSL-Client-DER` and `X-SSL-Client-Chain-DER`, base64 of `ssl_c_der` and of `ssl_c_chain_der`.
    case haproxy
    /// Envoy: `X-Forwarded-Client-Cert` with `Cert` or `Chain`, PEM in percent-encoding.
    case envoy

    /// The fields' names, in lower case.
    package var fieldNames: [String] {
        switch self {
        case .clientCert: ["client-cert", "client-cert-chain"]
        case .haproxy: ["x-ssl-client-der", "x-ssl-client-chain-der"]
        case .envoy: ["x-forwarded-client-cert"]
        }
    }
}

/// Why a forwarded certificate was refused. The request then has no identity at all: a proxy that is trusted does not send such a thing.
package enum ForwardedCertificateFault: Error, Sendable, Hashable, CaseIterable {
    /// More bytes, or more authorities, than are taken.
    case tooLarge
    /// A field that may stand once stands twice, or an element of it does: two readers could choose differently.
    case duplicate
    /// A chain without the certificate that it belongs to (RFC 9440 §2.3).
    case chainWithoutCertificate
    /// The field is not of its form.
    case malformedField
    case malformedBase64
    case malformedPEM
    /// The bytes are not one DER sequence, or not a row of them.
    case notDER

    /// A label for counters: lower-case words joined by underscores.
    package var reason: String {
        switch self {
        case .tooLarge: "too_large"
        case .duplicate: "duplicate"
        case .chainWithoutCertificate: "chain_without_certificate"
        case .malformedField: "malformed_field"
        case .malformedBase64: "malformed_base64"
        case .malformedPEM: "malformed_pem"
        case .notDER: "not_der"
        }
    }
}

extension ForwardedCertificate {
    /// Every field that any proxy passes certificates on in, or what it has found out about them. From peers that are not trusted with it, none of them means
    /// anything.
    package static let fieldNames: Set<String> = Set(ForwardedCertificateForm.allCases.flatMap(\.fieldNames))

    /// The certificate in a request's fields; `nil` when the client has shown none.
    package static func read(_ fields: HTTPFields, _ form: ForwardedCertificateForm) throws(ForwardedCertificateFault) -> ForwardedCertificate? {
        let certificate =
            switch form {
            case .clientCert: try clientCert(fields)
            case .haproxy: try haproxy(fields)
            case .envoy: try envoy(fields)
            }
        try certificate?.check()
        return certificate
    }

    /// The bounds, and that every part is one DER sequence to its last byte (X.690 §8.1, RFC 5280 §4.1).
    package func check() throws(ForwardedCertificateFault) {
        guard chain.count <= Self.chainMax, leaf.count + chain.reduce(0, { $0 + $1.count }) <= Self.bytesMax else { throw .tooLarge }
        for part in [leaf] + chain where DERSequence.length(part[...]) != part.count { throw .notDER }
    }

    /// RFC 9440 §2.2, §2.3.
    private static func clientCert(_ fields: HTTPFields) throws(ForwardedCertificateFault) -> ForwardedCertificate? {
        let chainLines = fields.all("client-cert-chain")
        guard let value = try single(fields, "client-cert") else {
            guard chainLines.isEmpty else { throw .chainWithoutCertificate }
            return nil
        }
        let leaf = try StructuredBytes.item(value)
        var chain: [[UInt8]] = []
        for line in chainLines { chain += try StructuredBytes.list(line) }
        return ForwardedCertificate(leaf: leaf, chain: chain)
    }

    /// HAProxy sets the field to nothing when the client has shown no certificate.
    private static func haproxy(_ fields: HTTPFields) throws(ForwardedCertificateFault) -> ForwardedCertificate? {
        let chainValue = try single(fields, "x-ssl-client-chain-der") ?? ""
        guard let value = try single(fields, "x-ssl-client-der"), !value.isEmpty else {
            guard chainValue.isEmpty else { throw .chainWithoutCertificate }
            return nil
        }
        let leaf = try Base64Text.decode(value)
        return ForwardedCertificate(leaf: leaf, chain: try DERSequence.split(try Base64Text.decode(chainValue)))
    }

    /// The value of a field that may stand once.
    private static func single(_ fields: HTTPFields, _ name: String) throws(ForwardedCertificateFault) -> String? {
        let values = fields.all(name)
        guard values.count <= 1 else { throw .duplicate }
        guard let value = values.first else { return nil }
        guard value.utf8.count <= bytesMax * 2 else { throw .tooLarge }
        return value
    }

    /// `Key=Value;Key="Value"`, one such element for each proxy on the way. More than one element is refused: the last is the nearest proxy's, but a proxy that
    /// appends has let through what its client had sent.
    private static func envoy(_ fields: HTTPFields) throws(ForwardedCertificateFault) -> ForwardedCertificate? {
        let values = fields.all("x-forwarded-client-cert")
        guard values.count <= 1 else { throw .duplicate }
        guard let value = values.first, !value.isEmpty else { return nil }
        // Three characters for each of PEM's, which has four for three bytes and its line ends.
        guard value.utf8.count <= bytesMax * 5 else { throw .tooLarge }
        let pairs = try EnvoyElement.pairs(value)
        let leaf = try pairs.certificate.map { (text) throws(ForwardedCertificateFault) in try PEMCertificates.decode(try PercentText.decode(text)) }
        let whole = try pairs.chain.map { (text) throws(ForwardedCertificateFault) in try PEMCertificates.decode(try PercentText.decode(text)) }
        switch (leaf, whole) {
        case (nil, nil): return nil
        case (let leaf?, nil):
            guard leaf.count == 1 else { throw .malformedPEM }
            return ForwardedCertificate(leaf: leaf[0])
        case (let leaf, let whole?):
            // The chain begins with the client's own certificate.
            guard let first = whole.first, leaf == nil || leaf == [first] else { throw .malformedPEM }
            return ForwardedCertificate(leaf: first, chain: Array(whole.dropFirst()))
        }
    }
}
