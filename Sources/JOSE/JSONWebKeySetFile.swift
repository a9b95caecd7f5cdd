internal import Glibc

/// Why a key set cannot be had from its file.
package struct JSONWebKeySetFileFault: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Reason: Hashable, Sendable {
        case system(operation: String, code: Int32)
        case notAFile
        case content(JSONWebKeySetFault)
    }

    package let path: String
    package let reason: Reason

    package var description: String {
        switch reason {
        case .system(let operation, let code): "\(operation) \(path): \(SigningKeyFault.text(code))"
        case .notAFile: "\(path): not a regular file"
        case .content(let fault): "\(path): \(fault)"
        }
    }
}

extension JSONWebKeySet {
    /// Reads a key set's file; anybody may be able to read it, since all keys in it are public. Blocks on the disk.
    package static func read(path: String) throws(JSONWebKeySetFileFault) -> JSONWebKeySet {
        let bytes: [UInt8]
        do throws(FileFault) {
            bytes = try readFile(path, bytesMax: bytesMax)
        } catch {
            throw JSONWebKeySetFileFault(path: path, reason: error.reason)
        }
        do {
            return try JSONWebKeySet(parsing: bytes)
        } catch {
            throw JSONWebKeySetFileFault(path: path, reason: .content(error))
        }
    }

    private struct FileFault: Error {
        let reason: JSONWebKeySetFileFault.Reason

        static func system(_ operation: String) -> FileFault { FileFault(reason: .system(operation: operation, code: errno)) }
    }

    /// - Returns: at most one byte more than the bound, which is then refused as too large.
    private static func readFile(_ path: String, bytesMax: Int) throws(FileFault) -> [UInt8] {
        guard !path.utf8.contains(0) else { throw FileFault(reason: .system(operation: "open", code: EINVAL)) }
        // A FIFO without a writer would be waited for.
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { throw .system("open") }
        defer { close(file) }
        var status = stat()
        guard unsafe fstat(file, &status) == 0 else { throw .system("fstat") }
        guard status.st_mode & S_IFMT == S_IFREG else { throw FileFault(reason: .notAFile) }
        var bytes = [UInt8](repeating: 0, count: bytesMax + 1)
        var count = 0
        while count < bytes.count {
            let more = unsafe bytes.withUnsafeMutableBytes { unsafe Glibc.read(file, $0.baseAddress?.advanced(by: count), $0.count - count) }
            if more == 0 { break }
            guard more > 0 || errno == EINTR else { throw .system("read") }
            count += max(0, more)
        }
        return Array(bytes[..<count])
    }
}
