internal import COpenSSL

/// Reading and writing PEM by way of memory, so that files are opened, bounded and made by our own rules.
enum PEM {
    /// Reads the first block of this kind; `nil` when there is none or it is broken.
    static func read<Kind: PEMObject>(_ kind: Kind.Type, from bytes: borrowing SecretBytes) throws(CertificateAuthorityFault) -> Owned<Kind>? {
        guard bytes.count > 0 else { return nil }
        let bio = try unsafe Owned<BIOObject>(BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)), "BIO_new_mem_buf")
        guard let reference = unsafe Kind.read(bio.reference) else {
            ERR_clear_error()
            return nil
        }
        return try unsafe Owned<Kind>(reference, "PEM_read_bio")
    }

    static func read<Kind: PEMObject>(_ kind: Kind.Type, path: String) throws(CertificateAuthorityFault) -> Owned<Kind> {
        guard let object = try read(kind, from: try Files.read(path, bytesMax: Files.pemBytesMax)) else { throw .malformedPEM(path: path) }
        return object
    }

    static func write<Kind: PEMObject>(_ object: borrowing Owned<Kind>, to path: String, mode: mode_t) throws(CertificateAuthorityFault) {
        let bio = try unsafe Owned<BIOObject>(BIO_new(BIO_s_mem()), "BIO_new")
        try require(unsafe Kind.write(object.reference, to: bio.reference), "PEM_write_bio")
        try write(bio, to: path, mode: mode)
    }

    /// PEM of something that is no secret.
    static func text<Kind: PEMObject>(_ object: borrowing Owned<Kind>) throws(CertificateAuthorityFault) -> String {
        let bio = try unsafe Owned<BIOObject>(BIO_new(BIO_s_mem()), "BIO_new")
        try require(unsafe Kind.write(object.reference, to: bio.reference), "PEM_write_bio")
        var start: UnsafeMutablePointer<CChar>?
        let count = unsafe segue_x509_bio_bytes(bio.reference, &start)
        guard let start = unsafe start, count > 0 else { throw .cryptography("BIO_get_mem_data") }
        return unsafe String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
    }

    static func write(_ bio: borrowing Owned<BIOObject>, to path: String, mode: mode_t) throws(CertificateAuthorityFault) {
        var start: UnsafeMutablePointer<CChar>?
        let count = unsafe segue_x509_bio_bytes(bio.reference, &start)
        guard let start = unsafe start, count > 0 else { throw .cryptography("BIO_get_mem_data") }
        try unsafe Files.write(UnsafeRawBufferPointer(start: start, count: count), to: path, mode: mode)
    }
}
