internal import COpenSSL
internal import Glibc

/// A signing key's file: PKCS#8 PEM, mode 0600. These functions block on the disk.
extension SigningKey {
    private static let fileBytesMax = 16 << 10

    /// Reads a key that is there. The file must belong to this process's user or to root, and be readable by its owner alone.
    package static func open(path: String) throws(SigningKeyFault) -> SigningKey {
        try checkPath(path)
        guard let key = try read(path) else { throw .system(operation: "open", path: path, code: ENOENT) }
        return key
    }

    /// Reads the key, or makes one when there is no file. The file appears whole, with its final mode; of several processes that do this at once one
    /// makes the key, and all get that one.
    package static func openOrCreate(path: String) throws(SigningKeyFault) -> SigningKey {
        try checkPath(path)
        if let key = try read(path) { return key }
        let made = try ephemeral()
        let temporary = path + ".\(getpid()).\(UInt64.random(in: 0 ... .max))"
        try unsafe made.withPEM { (pem: UnsafeRawBufferPointer) throws(SigningKeyFault) in try unsafe writeNew(pem, to: temporary) }
        defer { unsafe unlink(temporary) }
        // A link never replaces what is there, unlike a rename.
        guard unsafe link(temporary, path) == 0 else {
            guard errno == EEXIST, let winner = try read(path) else { throw fault("link", path) }
            return winner
        }
        try synchronize(folderOf: path)
        return made
    }

    private static func fault(_ operation: String, _ path: String) -> SigningKeyFault {
        .system(operation: operation, path: path, code: errno)
    }

    /// A NUL would silently name another file.
    private static func checkPath(_ path: String) throws(SigningKeyFault) {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw .system(operation: "open", path: "(a path that is empty or holds NUL)", code: EINVAL)
        }
    }

    /// - Returns: `nil` when there is no such file.
    private static func read(_ path: String) throws(SigningKeyFault) -> SigningKey? {
        let file = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        if file < 0, errno == ENOENT { return nil }
        guard file >= 0 else { throw fault("open", path) }
        defer { close(file) }
        var status = stat()
        guard unsafe fstat(file, &status) == 0 else { throw fault("fstat", path) }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_size <= fileBytesMax else { throw .malformed(path: path) }
        guard status.st_mode & 0o077 == 0 else { throw .exposed(path: path, mode: UInt32(status.st_mode & 0o7777)) }
        guard status.st_uid == geteuid() || status.st_uid == 0 else { throw .foreignOwner(path: path) }

        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: fileBytesMax, alignment: 1)
        defer {
            unsafe OPENSSL_cleanse(buffer.baseAddress, buffer.count)
            unsafe buffer.deallocate()
        }
        var count = 0
        while count < fileBytesMax {
            let more = unsafe Glibc.read(file, buffer.baseAddress?.advanced(by: count), fileBytesMax - count)
            if more == 0 { break }
            guard more > 0 || errno == EINTR else { throw fault("read", path) }
            count += max(0, more)
        }
        guard let reference = unsafe segue_jose_private_key(buffer.baseAddress, Int32(count)), let key = unsafe SigningKey(owning: reference) else {
            ERR_clear_error()
            throw .malformed(path: path)
        }
        return key
    }

    private static func writeNew(_ bytes: UnsafeRawBufferPointer, to path: String) throws(SigningKeyFault) {
        let file = unsafe Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw fault("open", path) }
        defer { close(file) }
        do throws(SigningKeyFault) {
            var written = 0
            while written < bytes.count {
                let count = unsafe Glibc.write(file, bytes.baseAddress?.advanced(by: written), bytes.count - written)
                guard count > 0 || errno == EINTR else { throw fault("write", path) }
                written += max(0, count)
            }
            guard fsync(file) == 0 else { throw fault("fsync", path) }
        } catch {
            unsafe unlink(path)
            throw error
        }
    }

    private static func synchronize(folderOf path: String) throws(SigningKeyFault) {
        let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let descriptor = unsafe Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw fault("open", folder) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw fault("fsync", folder) }
    }
}
