internal import COpenSSL
import Glibc

/// Reads what the relay needs out of a certificate (RFC 5280) that the library has parsed.
enum CertificateReader {
    /// The identity in a certificate; `nil` when its names are refused or a field does not parse.
    static func identity(of certificate: OpaquePointer) -> PeerIdentity? {
        guard let names = unsafe subjectNames(of: certificate), let fingerprint = unsafe keyFingerprint(of: certificate),
            let notBefore = unsafe unixSeconds(X509_get0_notBefore(certificate)), let notAfter = unsafe unixSeconds(X509_get0_notAfter(certificate)),
            let serialNumber = unsafe serialNumber(of: certificate), let issuer = unsafe issuer(of: certificate)
        else {
            ErrorQueue.clear()
            return nil
        }
        let (name, kind) = names.identifying(keyFingerprint: fingerprint)
        let statements = PeerIdentity.Statements(
            name: name, nameKind: kind, uris: names.uris, dnsNames: names.dnsNames, emails: names.emails, keyFingerprint: fingerprint,
            notBefore: notBefore, notAfter: notAfter, serialNumber: serialNumber, issuer: issuer)
        return PeerIdentity(statements, proof: .certificate)
    }

    /// The names; empty when the certificate has none, `nil` when it has one that is refused, or an extension that does not parse.
    static func subjectNames(of certificate: OpaquePointer) -> SubjectNames? {
        var names = SubjectNames()
        var found: Int32 = 0
        guard let extensionData = unsafe X509_get_ext_d2i(certificate, NID_subject_alt_name, &found, nil) else {
            // −1: there is no such extension. Anything else: it is there twice, or does not parse.
            return found == -1 ? names : nil
        }
        let list = OpaquePointer(extensionData)
        defer { unsafe GENERAL_NAMES_free(list) }
        for index in unsafe 0..<segue_ssl_names_count(list) {
            var bytes: UnsafePointer<UInt8>?
            var count: Int32 = 0
            let kind: PeerIdentity.NameKind
            switch unsafe segue_ssl_name_at(list, index, &bytes, &count) {
            case GEN_URI: kind = .uri
            case GEN_DNS: kind = .dns
            case GEN_EMAIL: kind = .email
            // Addresses and directory names are not identities of participants; they neither help nor harm.
            default: continue
            }
            guard unsafe names.append(kind, UnsafeRawBufferPointer(start: bytes, count: Int(count))) else { return nil }
        }
        return names
    }

    static func keyFingerprint(of certificate: OpaquePointer) -> SHA256Digest? {
        unsafe encoded { unsafe i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), $0) }.map(SHA256Digest.init(hashing:))
    }

    /// The DER encoding.
    static func der(of certificate: OpaquePointer) -> [UInt8]? {
        unsafe encoded { unsafe i2d_X509(certificate, $0) }
    }

    /// Seconds since 1970 of an ASN.1 time.
    static func unixSeconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        var fields = unsafe tm()
        guard let time = unsafe time, unsafe ASN1_TIME_to_tm(time, &fields) == 1 else { return nil }
        return unsafe Int64(timegm(&fields))
    }

    private static func serialNumber(of certificate: OpaquePointer) -> String? {
        guard let number = unsafe ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nil) else { return nil }
        defer { unsafe BN_free(number) }
        guard let text = unsafe BN_bn2hex(number) else { return nil }
        defer { unsafe CRYPTO_free(text, #file, #line) }
        let hex = unsafe String(cString: text).lowercased()
        let trimmed = hex.drop { $0 == "0" }
        return trimmed.isEmpty ? "0" : String(trimmed)
    }

    private static func issuer(of certificate: OpaquePointer) -> String? {
        unsafe text(of: X509_get_issuer_name(certificate))
    }

    /// A distinguished name as RFC 2253 writes it.
    static func text(of name: OpaquePointer?) -> String? {
        guard let bio = unsafe BIO_new(BIO_s_mem()) else { return nil }
        defer { unsafe BIO_free(bio) }
        guard unsafe X509_NAME_print_ex(bio, name, 0, segue_ssl_name_format_rfc2253()) >= 0 else { return nil }
        var text = [UInt8](repeating: 0, count: 1_024)
        let count = unsafe BIO_read(bio, &text, Int32(text.count))
        return String(decoding: text.prefix(Int(max(0, count))), as: UTF8.self)
    }

    /// Runs one of the library's `i2d` functions twice: for the length, then for the bytes.
    private static func encoded(_ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32) -> [UInt8]? {
        let count = encode(nil)
        guard count > 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(count))
        let written = unsafe bytes.withUnsafeMutableBufferPointer { buffer in
            var cursor = buffer.baseAddress
            return unsafe encode(&cursor)
        }
        return written == count ? bytes : nil
    }
}
