internal import COpenSSL

/// A peer's certificate and the authorities that came with it, as bytes: what a path is validated from, beside the trust store.
struct CertificatePath {
    /// DER.
    let leaf: [UInt8]
    let chain: [[UInt8]]

    init(leaf: [UInt8], chain: [[UInt8]]) {
        self.leaf = leaf
        self.chain = chain
    }

    /// From what the library has parsed; `nil` when memory is out.
    ///
    /// - Parameter others: the authorities; the leaf itself may stand before them, as it does in a handshake.
    init?(leaf: OpaquePointer, others: OpaquePointer?) {
        guard let bytes = unsafe CertificateReader.der(of: leaf) else { return nil }
        var chain: [[UInt8]] = []
        for index in unsafe 0..<segue_ssl_x509_count(others) {
            guard let certificate = unsafe segue_ssl_x509_at(others, index) else { return nil }
            if index == 0, certificate == leaf { continue }
            guard let authority = unsafe CertificateReader.der(of: certificate) else { return nil }
            chain.append(authority)
        }
        self.init(leaf: bytes, chain: chain)
    }

    var byteCount: Int { chain.reduce(leaf.count) { $0 + $1.count } }

    /// Names exactly these certificates in this order. DER says its own length, so two paths never have the same bytes.
    var digest: SHA256Digest { SHA256Digest(hashing: chain.reduce(leaf, +)) }
}

extension CertificateReader {
    /// The serial number of a certificate in DER, as the library's object that the caller frees; `nil` when the bytes are none. Only the first fields are
    /// looked at (RFC 5280 §4.1): to parse all of a certificate takes ten times as long.
    static func serialNumber(inDER bytes: [UInt8]) -> UnsafeMutablePointer<ASN1_INTEGER>? {
        unsafe bytes.withUnsafeBufferPointer { buffer in
            guard let start = buffer.baseAddress else { return nil }
            let end = unsafe start + buffer.count
            var cursor: UnsafePointer<UInt8>? = unsafe start
            // Certificate and TBSCertificate are sequences; the version is context-specific and optional.
            for _ in 0..<2 {
                guard let tag = unsafe enter(&cursor, end), tag == (V_ASN1_SEQUENCE, V_ASN1_UNIVERSAL) else { return nil }
            }
            guard var field = unsafe cursor else { return nil }
            if let tag = unsafe enter(&cursor, end), tag == (0, V_ASN1_CONTEXT_SPECIFIC) {
                guard let version = unsafe cursor, let inner = unsafe enter(&cursor, end), inner == (V_ASN1_INTEGER, V_ASN1_UNIVERSAL) else {
                    return nil
                }
                // The version is one byte: 0, 1 or 2.
                guard unsafe end - version > 3 else { return nil }
                unsafe field = unsafe version + 3
            }
            var place: UnsafePointer<UInt8>? = unsafe field
            let number = unsafe d2i_ASN1_INTEGER(nil, &place, end - field)
            if unsafe number == nil { ErrorQueue.clear() }
            return unsafe number
        }
    }

    /// Steps into a value: past its tag and length. Answers its tag and class; `nil` when there is none.
    private static func enter(_ cursor: inout UnsafePointer<UInt8>?, _ end: UnsafePointer<UInt8>) -> (tag: Int32, class: Int32)? {
        guard let start = unsafe cursor, unsafe start < end else { return nil }
        var length = 0
        var tag: Int32 = 0
        var kind: Int32 = 0
        let flags = unsafe ASN1_get_object(&cursor, &length, &tag, &kind, end - start)
        guard flags & 0x80 == 0 else {
            ErrorQueue.clear()
            return nil
        }
        return (tag, kind)
    }
}
