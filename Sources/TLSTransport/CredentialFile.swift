internal import COpenSSL
import Glibc

/// A file of certificates, a key or revocation lists, read once: the bytes that are parsed are the bytes that are hashed into the trust version.
struct CredentialFile {
    let path: String
    let bytes: [UInt8]

    /// Files larger than this are refused: a revocation list of 10 MiB already names some 250,000 certificates.
    private static let bytesMax = 64 << 20

    init(path: String) throws(TLSSetupError) {
        // A FIFO without a writer would be waited for, and with it everything else that the thread does.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .unreadableFile(path: path, errno: errno) }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw .unreadableFile(path: path, errno: errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile(path: path) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = unsafe read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .unreadableFile(path: path, errno: errno) }
            guard count > 0 else { break }
            bytes.append(contentsOf: chunk[..<count])
            guard bytes.count <= Self.bytesMax else { throw .unreadableFile(path: path, errno: EFBIG) }
        }
        self.path = path
        self.bytes = bytes
    }

    /// The certificates of a PEM file, in its order; at least one. The caller owns them.
    func certificates() throws(TLSSetupError) -> [LibraryObject] {
        try unsafe pemObjects("certificate", free: { unsafe X509_free($0) }) { unsafe PEM_read_bio_X509($0, nil, refusePassword, nil) }
    }

    /// The revocation lists of a PEM file, or the one of a DER file; at least one. The caller owns them.
    func revocationLists() throws(TLSSetupError) -> [LibraryObject] {
        let kind = "revocation list"
        guard bytes.first == 0x30 else {
            let lists = try unsafe pemObjects(kind, free: { unsafe X509_CRL_free($0) }) { unsafe PEM_read_bio_X509_CRL($0, nil, refusePassword, nil) }
            for list in lists { unsafe Self.sort(list.pointer) }
            return lists
        }
        ErrorQueue.clear()
        let list = unsafe bytes.withUnsafeBufferPointer { buffer in
            var cursor = buffer.baseAddress
            return unsafe d2i_X509_CRL(nil, &cursor, buffer.count)
        }
        guard let list = unsafe list else { throw .malformed(kind: kind, path: path, detail: ErrorQueue.drainText()) }
        unsafe Self.sort(list)
        return [unsafe LibraryObject(pointer: list)]
    }

    /// The library sorts a list when something is first looked up in it. That may take long, so it is done here and not on an event loop.
    private static func sort(_ list: OpaquePointer) {
        guard let number = unsafe ASN1_INTEGER_new() else { return }
        defer { unsafe ASN1_INTEGER_free(number) }
        var entry: OpaquePointer?
        _ = unsafe X509_CRL_get0_by_serial(list, &entry, number)
    }

    /// The private key of a PEM file. The caller owns it. An encrypted key is refused: nobody is there to type a password.
    func privateKey() throws(TLSSetupError) -> OpaquePointer {
        let kind = "private key"
        // The library's decoder does not tell "there is none" from "I cannot read it".
        guard String(decoding: bytes, as: UTF8.self).contains("PRIVATE KEY-----") else { throw .nothingFound(kind: kind, path: path) }
        ErrorQueue.clear()
        let key = try unsafe withMemoryBIO { unsafe PEM_read_bio_PrivateKey($0, nil, refusePassword, nil) }
        guard let key = unsafe key else { throw .malformed(kind: kind, path: path, detail: ErrorQueue.drainText()) }
        return unsafe key
    }

    private func pemObjects(
        _ kind: String, free: (OpaquePointer) -> Void, next: (OpaquePointer) -> OpaquePointer?
    ) throws(TLSSetupError) -> [LibraryObject] {
        ErrorQueue.clear()
        let objects = try unsafe withMemoryBIO { bio in
            var objects: [LibraryObject] = []
            while let object = unsafe next(bio) { objects.append(unsafe LibraryObject(pointer: object)) }
            return objects
        }
        guard Self.atEndOfPEM else {
            for object in objects { unsafe free(object.pointer) }
            throw .malformed(kind: kind, path: path, detail: ErrorQueue.drainText())
        }
        ErrorQueue.clear()
        guard !objects.isEmpty else { throw .nothingFound(kind: kind, path: path) }
        return objects
    }

    /// Whether the last PEM call failed only because no further `-----BEGIN` was there.
    private static var atEndOfPEM: Bool {
        let code = ERR_peek_last_error()
        return ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE
    }

    private func withMemoryBIO<Result>(_ body: (OpaquePointer) -> Result) throws(TLSSetupError) -> Result {
        let result: Result? = unsafe bytes.withUnsafeBytes { buffer in
            guard let bio = unsafe BIO_new_mem_buf(buffer.baseAddress, Int32(clamping: buffer.count)) else { return nil }
            defer { unsafe BIO_free(bio) }
            return unsafe body(bio)
        }
        guard let result else { throw .library(operation: "BIO_new_mem_buf", detail: ErrorQueue.drainText()) }
        return result
    }
}

/// A pointer to one of the library's reference-counted objects; the holder's reference is to be freed by whoever was given it.
@safe
struct LibraryObject {
    let pointer: OpaquePointer
}

/// A PEM password callback that has none; without it the library would ask on the terminal.
private func refusePassword(_: UnsafeMutablePointer<CChar>?, _: Int32, _: Int32, _: UnsafeMutableRawPointer?) -> Int32 {
    -1
}
