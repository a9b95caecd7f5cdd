internal import COpenSSL

/// A kind of OpenSSL object that is freed by one function of its own.
protocol OpenSSLObject {
    @unsafe static func free(_ reference: OpaquePointer)
}

/// An object whose PEM form libcrypto reads and writes.
protocol PEMObject: OpenSSLObject {
    @unsafe static func read(_ bio: OpaquePointer) -> OpaquePointer?
    @unsafe static func write(_ reference: OpaquePointer, to bio: OpaquePointer) -> Bool
}

/// The one owner of an OpenSSL object: freed exactly once, on every path out of its scope.
@safe
struct Owned<Kind: OpenSSLObject>: ~Copyable {
    let reference: OpaquePointer

    /// Takes over what an OpenSSL constructor returned; its `nil` becomes a fault with OpenSSL's own reason.
    init(_ reference: OpaquePointer?, _ operation: String) throws(CertificateAuthorityFault) {
        guard let reference = unsafe reference else { throw .cryptography(operation) }
        unsafe self.reference = reference
    }

    deinit { unsafe Kind.free(reference) }
}

enum CertificateObject: PEMObject {
    static func free(_ reference: OpaquePointer) { unsafe X509_free(reference) }
    static func read(_ bio: OpaquePointer) -> OpaquePointer? { unsafe PEM_read_bio_X509(bio, nil, nil, nil) }
    static func write(_ reference: OpaquePointer, to bio: OpaquePointer) -> Bool { unsafe PEM_write_bio_X509(bio, reference) == 1 }
}

enum KeyObject: PEMObject {
    static func free(_ reference: OpaquePointer) { unsafe EVP_PKEY_free(reference) }
    static func read(_ bio: OpaquePointer) -> OpaquePointer? { unsafe segue_x509_read_private_key(bio) }
    /// PKCS#8 in the clear: the file's mode is what protects it.
    static func write(_ reference: OpaquePointer, to bio: OpaquePointer) -> Bool {
        unsafe PEM_write_bio_PKCS8PrivateKey(bio, reference, nil, nil, 0, nil, nil) == 1
    }
}

enum RevocationListObject: PEMObject {
    static func free(_ reference: OpaquePointer) { unsafe X509_CRL_free(reference) }
    static func read(_ bio: OpaquePointer) -> OpaquePointer? { unsafe PEM_read_bio_X509_CRL(bio, nil, nil, nil) }
    static func write(_ reference: OpaquePointer, to bio: OpaquePointer) -> Bool { unsafe PEM_write_bio_X509_CRL(bio, reference) == 1 }
}

enum RequestObject: PEMObject {
    static func free(_ reference: OpaquePointer) { unsafe X509_REQ_free(reference) }
    static func read(_ bio: OpaquePointer) -> OpaquePointer? { unsafe PEM_read_bio_X509_REQ(bio, nil, nil, nil) }
    static func write(_ reference: OpaquePointer, to bio: OpaquePointer) -> Bool { unsafe PEM_write_bio_X509_REQ(bio, reference) == 1 }
}

enum KeyContextObject: OpenSSLObject {
    static func free(_ reference: OpaquePointer) { unsafe EVP_PKEY_CTX_free(reference) }
}

enum NamesObject: OpenSSLObject {
    static func free(_ reference: OpaquePointer) { unsafe GENERAL_NAMES_free(reference) }
}

/// A stack whose certificates belong to somebody else.
enum CertificateStackObject: OpenSSLObject {
    static func free(_ reference: OpaquePointer) { unsafe segue_x509_stack_free(reference) }
}

enum BigNumberObject: OpenSSLObject {
    static func free(_ reference: OpaquePointer) { unsafe BN_free(reference) }
}

enum RevokedObject: OpenSSLObject {
    static func free(_ reference: OpaquePointer) { unsafe X509_REVOKED_free(reference) }
}

enum PKCS12Object: OpenSSLObject {
    static func free(_ reference: OpaquePointer) { unsafe PKCS12_free(reference) }
}

enum BIOObject: OpenSSLObject {
    /// A memory BIO wipes its bytes when it is freed.
    static func free(_ reference: OpaquePointer) { unsafe BIO_free_all(reference) }
}

enum TimeObject: OpenSSLObject {
    static func free(_ reference: OpaquePointer) { unsafe ASN1_TIME_free(UnsafeMutablePointer(reference)) }
}

enum IntegerObject: OpenSSLObject {
    static func free(_ reference: OpaquePointer) { unsafe ASN1_INTEGER_free(UnsafeMutablePointer(reference)) }
}

enum EnumeratedObject: OpenSSLObject {
    static func free(_ reference: OpaquePointer) { unsafe ASN1_ENUMERATED_free(UnsafeMutablePointer(reference)) }
}

// ASN.1 strings are no opaque types to Swift: the pointer is theirs again for the functions that take one.
extension Owned<TimeObject> {
    init(_ time: UnsafeMutablePointer<ASN1_TIME>?, _ operation: String) throws(CertificateAuthorityFault) {
        try unsafe self.init(OpaquePointer(time), operation)
    }

    var pointer: UnsafeMutablePointer<ASN1_TIME> { unsafe UnsafeMutablePointer(reference) }
}

extension Owned<IntegerObject> {
    init(_ integer: UnsafeMutablePointer<ASN1_INTEGER>?, _ operation: String) throws(CertificateAuthorityFault) {
        try unsafe self.init(OpaquePointer(integer), operation)
    }

    var pointer: UnsafeMutablePointer<ASN1_INTEGER> { unsafe UnsafeMutablePointer(reference) }
}

extension Owned<EnumeratedObject> {
    init(_ enumerated: UnsafeMutablePointer<ASN1_ENUMERATED>?, _ operation: String) throws(CertificateAuthorityFault) {
        try unsafe self.init(OpaquePointer(enumerated), operation)
    }

    var pointer: UnsafeMutablePointer<ASN1_ENUMERATED> { unsafe UnsafeMutablePointer(reference) }
}

typealias Certificate = Owned<CertificateObject>
typealias PrivateKey = Owned<KeyObject>
typealias RevocationList = Owned<RevocationListObject>
typealias CertificateRequest = Owned<RequestObject>

extension CertificateAuthorityFault {
    /// The failed operation with the reasons that OpenSSL queued for this thread, oldest first; the queue is empty afterwards.
    static func cryptography(_ operation: String) -> CertificateAuthorityFault {
        var reasons: [String] = []
        while case let code = ERR_get_error(), code != 0 {
            guard reasons.count < 4 else { continue }
            var text = [UInt8](repeating: 0, count: 256)
            unsafe text.withUnsafeMutableBytes { buffer in
                unsafe ERR_error_string_n(code, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), buffer.count)
            }
            reasons.append(String(decoding: text.prefix { $0 != 0 }, as: UTF8.self))
        }
        return .cryptography(operation: operation, reason: reasons.isEmpty ? "no reason given" : reasons.joined(separator: "; "))
    }
}

/// Turns the 0 or negative result of an OpenSSL call into a fault.
func require(_ succeeded: Bool, _ operation: String) throws(CertificateAuthorityFault) {
    guard succeeded else { throw .cryptography(operation) }
}
