internal import Glibc

/// The file system as the authority needs it: files appear whole or not at all, and with their final mode from the first moment.
enum Files {
    static let publicMode: mode_t = 0o644
    static let secretMode: mode_t = 0o600
    static let folderMode: mode_t = 0o700
    static let pemBytesMax = 65_536

    static func fault(_ operation: String, _ path: String) -> CertificateAuthorityFault {
        .system(operation: operation, path: path, code: errno)
    }

    static func exists(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0
    }

    /// Makes the folder and whatever is missing above it, each for its owner alone.
    static func makeFolder(_ path: String) throws(CertificateAuthorityFault) {
        try checkPath(path)
        if unsafe mkdir(path, folderMode) == 0 || errno == EEXIST { return }
        guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex else { throw fault("mkdir", path) }
        try makeFolder(String(path[..<slash]))
        guard unsafe mkdir(path, folderMode) == 0 || errno == EEXIST else { throw fault("mkdir", path) }
    }

    static func mode(of path: String) throws(CertificateAuthorityFault) -> mode_t {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw fault("stat", path) }
        return status.st_mode & 0o7777
    }

    static func read(_ path: String, bytesMax: Int) throws(CertificateAuthorityFault) -> SecretBytes {
        try checkPath(path)
        // A FIFO without a writer would be waited for.
        let file = try FileDescriptor(opening: path, flags: O_RDONLY | O_NONBLOCK, mode: 0)
        var status = stat()
        guard unsafe fstat(file.number, &status) == 0 else { throw fault("fstat", path) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .system(operation: "read", path: path, code: EINVAL) }
        guard status.st_size <= bytesMax else { throw .fileTooLarge(path: path, bytesMax: bytesMax) }
        // Writers replace whole files, so that an opened one never grows; one byte more finds out if it did all the same.
        var bytes = SecretBytes(capacity: Int(status.st_size) + 1)
        while bytes.count < bytes.capacity {
            let count = unsafe bytes.append { unsafe Glibc.read(file.number, $0.baseAddress, $0.count) }
            if count == 0 { return bytes }
            if count < 0, errno != EINTR { throw fault("read", path) }
        }
        throw .fileTooLarge(path: path, bytesMax: bytesMax)
    }

    static func write(_ text: String, to path: String, mode: mode_t) throws(CertificateAuthorityFault) {
        let bytes = Array(text.utf8)
        try unsafe bytes.span.bytes.withUnsafeBytes { (buffer: UnsafeRawBufferPointer) throws(CertificateAuthorityFault) in
            try unsafe write(buffer, to: path, mode: mode)
        }
    }

    /// Writes beside `path`, makes the disk keep it, and renames it there. The callers hold the authority's lock, so that the name beside is free.
    static func write(_ bytes: UnsafeRawBufferPointer, to path: String, mode: mode_t) throws(CertificateAuthorityFault) {
        try checkPath(path)
        let temporary = hiddenSibling(of: path)
        unsafe unlink(temporary)
        try unsafe writeNew(bytes, to: temporary, mode: mode)
        guard unsafe rename(temporary, path) == 0 else { throw fault("rename", path) }
        try synchronize(folder: folder(of: path))
    }

    private static func writeNew(_ bytes: UnsafeRawBufferPointer, to path: String, mode: mode_t) throws(CertificateAuthorityFault) {
        let file = try FileDescriptor(opening: path, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: mode)
        // The umask can only have taken bits away, so that this never narrows what was open before.
        guard fchmod(file.number, mode) == 0 else { throw fault("fchmod", path) }
        var offset = 0
        while offset < bytes.count {
            let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[offset...])
            let written = unsafe Glibc.write(file.number, rest.baseAddress, rest.count)
            if written > 0 { offset += written } else if errno != EINTR { throw fault("write", path) }
        }
        guard fsync(file.number) == 0 else { throw fault("fsync", path) }
    }

    static func move(_ source: String, to target: String) throws(CertificateAuthorityFault) {
        guard unsafe rename(source, target) == 0 else { throw fault("rename", target) }
        try synchronize(folder: folder(of: target))
    }

    /// Makes `path` a symbolic link to `target` in one step, whatever link was there before.
    static func link(_ path: String, to target: String) throws(CertificateAuthorityFault) {
        let temporary = folder(of: path) + "/.link"
        unsafe unlink(temporary)
        guard unsafe symlink(target, temporary) == 0 else { throw fault("symlink", temporary) }
        try move(temporary, to: path)
    }

    static func linkTarget(_ path: String) -> String? {
        var text = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe text.withUnsafeMutableBytes { buffer in
            guard let start = buffer.baseAddress else { return 0 }
            return unsafe readlink(path, start.assumingMemoryBound(to: CChar.self), buffer.count)
        }
        return count > 0 ? String(decoding: text.prefix(count), as: UTF8.self) : nil
    }

    /// The names in a folder without `.` and `..`, in no order.
    static func list(_ path: String) throws(CertificateAuthorityFault) -> [String] {
        guard let folder = unsafe opendir(path) else { throw fault("opendir", path) }
        defer { unsafe closedir(folder) }
        var names: [String] = []
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            if name != "." && name != ".." { names.append(name) }
        }
        return names
    }

    static func remove(_ path: String) throws(CertificateAuthorityFault) {
        guard unsafe unlink(path) == 0 || errno == ENOENT else { throw fault("unlink", path) }
    }

    /// Removes a folder that holds only files.
    static func removeFolder(_ path: String) throws(CertificateAuthorityFault) {
        for name in try list(path) {
            guard unsafe unlink(path + "/" + name) == 0 else { throw fault("unlink", path + "/" + name) }
        }
        guard unsafe rmdir(path) == 0 else { throw fault("rmdir", path) }
    }

    static func synchronize(folder path: String) throws(CertificateAuthorityFault) {
        let folder = try FileDescriptor(opening: path, flags: O_RDONLY | O_DIRECTORY, mode: 0)
        guard fsync(folder.number) == 0 else { throw fault("fsync", path) }
    }

    /// A NUL would silently name another file.
    private static func checkPath(_ path: String) throws(CertificateAuthorityFault) {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw .system(operation: "open", path: "(a path that is empty or holds NUL)", code: EINVAL)
        }
    }

    static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func hiddenSibling(of path: String) -> String {
        let name = path.lastIndex(of: "/").map { path[path.index(after: $0)...] } ?? path[...]
        return folder(of: path) + "/." + name + ".new"
    }
}

/// An open file, closed with its owner.
struct FileDescriptor: ~Copyable {
    let number: Int32

    init(opening path: String, flags: Int32, mode: mode_t) throws(CertificateAuthorityFault) {
        var number: Int32
        repeat { number = unsafe open(path, flags | O_CLOEXEC, mode) } while number < 0 && errno == EINTR
        guard number >= 0 else { throw Files.fault("open", path) }
        self.number = number
    }

    deinit { close(number) }
}

/// The C library's sentence for an `errno`. glibc keeps the text per thread.
func systemErrorText(_ code: Int32) -> String {
    guard let text = unsafe strerror(code) else { return "error \(code)" }
    return unsafe String(cString: text)
}
