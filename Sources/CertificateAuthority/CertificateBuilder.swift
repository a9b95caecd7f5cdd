internal import COpenSSL

/// Makes X.509 version 3 certificates (RFC 5280 §4). Extensions come from here alone, never from a request.
enum CertificateBuilder {
    /// How far a certificate's beginning lies before its making, for clients whose clock is slow.
    static let backdating = Duration.seconds(300)

    struct Leaf {
        let kind: CertificateKind
        let commonName: String
        let names: [SubjectAlternativeName]
        let serial: CertificateSerial
        let notBefore: UnixTime
        let notAfter: UnixTime
        let crlDistributionPoint: SubjectAlternativeName?
    }

    /// 126 random bits after a leading 01: positive and always 16 octets.
    static func randomSerial() throws(CertificateAuthorityFault) -> CertificateSerial {
        var octets = [UInt8](repeating: 0, count: 16)
        try require(unsafe RAND_bytes(&octets, 16) == 1, "RAND_bytes")
        octets[0] = octets[0] & 0x3F | 0x40
        guard let serial = CertificateSerial(octets: octets) else { preconditionFailure("the first octet is not zero") }
        return serial
    }

    /// A self-signed root that signs leaves only (path length 0).
    static func authority(
        commonName: String, key: borrowing PrivateKey, notBefore: UnixTime, notAfter: UnixTime
    ) throws(CertificateAuthorityFault) -> Certificate {
        let certificate = try blank(serial: try randomSerial(), notBefore: notBefore, notAfter: notAfter)
        try setSubject(commonName, of: certificate)
        try unsafe require(X509_set_issuer_name(certificate.reference, X509_get_subject_name(certificate.reference)) == 1, "issuer")
        try unsafe require(X509_set_pubkey(certificate.reference, key.reference) == 1, "public key")
        try addExtension(NID_basic_constraints, "critical,CA:TRUE,pathlen:0", to: certificate, issuer: certificate)
        try addExtension(NID_key_usage, "critical,keyCertSign,cRLSign", to: certificate, issuer: certificate)
        try addExtension(NID_subject_key_identifier, "hash", to: certificate, issuer: certificate)
        try addExtension(NID_authority_key_identifier, "keyid:always", to: certificate, issuer: certificate)
        try unsafe require(X509_sign(certificate.reference, key.reference, EVP_sha256()) > 0, "signing the authority's certificate")
        return certificate
    }

    /// - Parameter publicKey: only its public half is used.
    static func leaf(
        _ leaf: Leaf, publicKey: borrowing PrivateKey, issuer: borrowing Certificate, issuerKey: borrowing PrivateKey
    ) throws(CertificateAuthorityFault) -> Certificate {
        let certificate = try blank(serial: leaf.serial, notBefore: leaf.notBefore, notAfter: leaf.notAfter)
        try setSubject(leaf.commonName, of: certificate)
        try unsafe require(X509_set_issuer_name(certificate.reference, X509_get_subject_name(issuer.reference)) == 1, "issuer")
        try unsafe require(X509_set_pubkey(certificate.reference, publicKey.reference) == 1, "public key")
        try addExtension(NID_basic_constraints, "critical,CA:FALSE", to: certificate, issuer: issuer)
        // TLS 1.3 and the ephemeral suites of 1.2 only ever sign with the key (RFC 8446 §4.4.2.2), RSA keys too.
        try addExtension(NID_key_usage, "critical,digitalSignature", to: certificate, issuer: issuer)
        try addExtension(NID_ext_key_usage, leaf.kind == .server ? "serverAuth" : "clientAuth", to: certificate, issuer: issuer)
        try addExtension(NID_subject_key_identifier, "hash", to: certificate, issuer: issuer)
        try addExtension(NID_authority_key_identifier, "keyid:always", to: certificate, issuer: issuer)
        try addNames(leaf.names, to: certificate)
        if let point = leaf.crlDistributionPoint {
            let octets = point.octets
            try unsafe require(
                segue_x509_add_crl_distribution_point(certificate.reference, octets, Int32(octets.count)) == 1, "CRL distribution point")
        }
        try unsafe require(X509_sign(certificate.reference, issuerKey.reference, EVP_sha256()) > 0, "signing the certificate")
        return certificate
    }

    private static func blank(
        serial: CertificateSerial, notBefore: UnixTime, notAfter: UnixTime
    ) throws(CertificateAuthorityFault) -> Certificate {
        let certificate = try unsafe Certificate(X509_new(), "X509_new")
        try unsafe require(X509_set_version(certificate.reference, 2) == 1, "version 3")
        let number = try serial.integer()
        try unsafe require(X509_set_serialNumber(certificate.reference, number.pointer) == 1, "serial number")
        try unsafe require(ASN1_TIME_set(X509_getm_notBefore(certificate.reference), time_t(notBefore.seconds)) != nil, "notBefore")
        try unsafe require(ASN1_TIME_set(X509_getm_notAfter(certificate.reference), time_t(notAfter.seconds)) != nil, "notAfter")
        return certificate
    }

    private static func setSubject(_ commonName: String, of certificate: borrowing Certificate) throws(CertificateAuthorityFault) {
        let name = unsafe X509_get_subject_name(certificate.reference)
        let bytes = Array(commonName.utf8)
        try unsafe require(
            X509_NAME_add_entry_by_NID(name, NID_commonName, MBSTRING_UTF8, bytes, Int32(bytes.count), -1, 0) == 1, "subject")
    }

    private static func addNames(_ names: [SubjectAlternativeName], to certificate: borrowing Certificate) throws(CertificateAuthorityFault) {
        let list = try unsafe Owned<NamesObject>(GENERAL_NAMES_new(), "GENERAL_NAMES_new")
        for name in names {
            let octets = name.octets
            try unsafe require(segue_x509_names_push(list.reference, name.generalNameType, octets, Int32(octets.count)) == 1, "name")
        }
        try unsafe require(
            X509_add1_ext_i2d(certificate.reference, NID_subject_alt_name, UnsafeMutableRawPointer(list.reference), 0, 0) == 1, "names")
    }

    private static func addExtension(
        _ identifier: Int32, _ value: StaticString, to certificate: borrowing Certificate, issuer: borrowing Certificate
    ) throws(CertificateAuthorityFault) {
        let text = String(describing: value)
        try unsafe require(segue_x509_add_extension(certificate.reference, issuer.reference, identifier, text) == 1, "extension \(text)")
    }
}

extension Owned<CertificateObject> {
    /// The period of validity, both ends included; `nil` when the certificate writes it in a form that is none.
    func validity() -> (notBefore: UnixTime, notAfter: UnixTime)? {
        guard let from = unsafe unixTime(X509_get0_notBefore(reference)), let to = unsafe unixTime(X509_get0_notAfter(reference)) else { return nil }
        return (from, to)
    }

    /// The key that the certificate is about.
    func publicKey() throws(CertificateAuthorityFault) -> PrivateKey {
        try unsafe PrivateKey(X509_get_pubkey(reference), "X509_get_pubkey")
    }
}

/// Reads an ASN.1 time of either form; `nil` for a malformed one.
@unsafe
func unixTime(_ time: UnsafePointer<ASN1_TIME>?) -> UnixTime? {
    var parts = unsafe tm()
    guard let time = unsafe time, unsafe ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
    return unsafe UnixTime(seconds: Int64(timegm(&parts)))
}

extension CertificateSerial {
    func integer() throws(CertificateAuthorityFault) -> Owned<IntegerObject> {
        let number = try unsafe Owned<BigNumberObject>(BN_bin2bn(octets, Int32(octets.count), nil), "BN_bin2bn")
        return try unsafe Owned<IntegerObject>(BN_to_ASN1_INTEGER(number.reference, nil), "BN_to_ASN1_INTEGER")
    }
}

extension SubjectAlternativeName {
    /// The tag of the GeneralName's choice.
    var generalNameType: Int32 {
        switch kind {
        case .dns: GEN_DNS
        case .ip: GEN_IPADD
        case .uri: GEN_URI
        case .email: GEN_EMAIL
        }
    }
}
