import Glibc

/// The folder in which the relay keeps what must outlive it. These functions block on the disk.
enum StateFolder {
    private static let fileMode: mode_t = 0o600
    private static let folderMode: mode_t = 0o700

    /// Makes the folder unless it is there. Its parent must be, and nobody else may be able to write to it.
    static func prepare(_ path: String) throws(StateFault) {
        guard !path.isEmpty, !path.utf8.contains(0) else { throw StateFault(path: "state", reason: "is no path") }
        if unsafe mkdir(path, folderMode) != 0, errno != EEXIST {
            if errno == ENOENT { throw StateFault(path: path, reason: "cannot be made: the folder above is missing") }
            throw fault(path, "mkdir")
        }
        try check(path)
    }

    private static func check(_ path: String) throws(StateFault) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw fault(path, "stat") }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw StateFault(path: path, reason: "is no folder") }
        guard status.st_mode & 0o022 == 0 else { throw StateFault(path: path, reason: "can be written to by others; it must have mode 0700") }
    }

    /// What a look at the folder tells; nothing is made or changed.
    static func inspect(_ path: String) throws(StateFault) -> StateInspection {
        guard !path.isEmpty, !path.utf8.contains(0) else { throw StateFault(path: "state", reason: "is no path") }
        if unsafe access(path, F_OK) != 0, errno == ENOENT {
            let above = folder(of: path)
            guard unsafe access(above, F_OK) == 0 else { throw StateFault(path: path, reason: "cannot be made: the folder above is missing") }
            guard unsafe access(above, W_OK | X_OK) == 0 else { throw fault(path, "cannot be made") }
            return .willBeMade
        }
        try check(path)
        guard unsafe access(path, R_OK | W_OK | X_OK) == 0 else { throw fault(path, "access") }
        return StateLock.isHeld(folder: path) ? .inUse : .ready
    }

    /// Any operator's file, read whole.
    ///
    /// - Returns: `nil` when there is no such file.
    static func read(_ path: String, bytesMax: Int) throws(StateFault) -> [UInt8]? {
        // A FIFO without a writer would be waited for.
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        if file < 0, errno == ENOENT { return nil }
        guard file >= 0 else { throw fault(path, "open") }
        defer { close(file) }
        var status = stat()
        guard unsafe fstat(file, &status) == 0 else { throw fault(path, "fstat") }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_size <= bytesMax else {
            throw StateFault(path: path, reason: "is no file of at most \(bytesMax) bytes")
        }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size) + 1)
        var count = 0
        while count < bytes.count {
            let more = unsafe bytes.withUnsafeMutableBytes { unsafe Glibc.read(file, $0.baseAddress?.advanced(by: count), $0.count - count) }
            if more == 0 { break }
            guard more > 0 || errno == EINTR else { throw fault(path, "read") }
            count += max(0, more)
        }
        guard count < bytes.count else { throw StateFault(path: path, reason: "changes while it is read") }
        bytes.removeLast(bytes.count - count)
        return bytes
    }

    /// The file has its new contents or its old ones, whatever happens, and when this returns the disk has the new ones.
    static func replace(_ path: String, with bytes: [UInt8]) throws(StateFault) {
        let fresh = path + ".new"
        let file = unsafe open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, fileMode)
        guard file >= 0 else { throw fault(fresh, "open") }
        defer { close(file) }
        guard fchmod(file, fileMode) == 0 else { throw fault(fresh, "fchmod") }
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(file, $0.baseAddress?.advanced(by: written), $0.count - written) }
            guard count > 0 || errno == EINTR else { throw fault(fresh, "write") }
            written += max(0, count)
        }
        guard fsync(file) == 0 else { throw fault(fresh, "fsync") }
        guard unsafe rename(fresh, path) == 0 else { throw fault(path, "rename") }
        try synchronize(folderOf: path)
    }

    private static func synchronize(folderOf path: String) throws(StateFault) {
        let folder = folder(of: path)
        let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw fault(folder, "open") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw fault(folder, "fsync") }
    }

    private static func folder(of path: String) -> String {
        var path = Substring(path)
        while path.count > 1, path.hasSuffix("/") { path = path.dropLast() }
        return path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    static func fault(_ path: String, _ operation: String) -> StateFault {
        let code = errno
        let text = unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
        return StateFault(path: path, reason: "\(operation): \(text)")
    }
}

/// How it is with a state folder, for who only looks.
package enum StateInspection: Sendable {
    case willBeMade
    case ready
    /// A relay runs on it.
    case inUse

    /// Looks at the folder, and at the key and the grants in it, without making or changing anything. Blocks on the disk.
    package static func of(_ folder: String) throws(StateFault) -> StateInspection {
        let inspection = try StateFolder.inspect(folder)
        if case .willBeMade = inspection { return inspection }
        try PairingState.inspect(folder)
        return inspection
    }
}
