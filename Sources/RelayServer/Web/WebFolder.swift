import FoundationEssentials
import Glibc
package import RelayBase

/// Why the folder `web` cannot be served.
package struct WebFolderFault: Error, Sendable, CustomStringConvertible {
    package let path: String
    package let reason: String

    package var description: String { "\(path): \(reason)" }
}

/// The folder of the web client on disk. These functions block on the disk.
package struct WebFolder: Sendable {
    package let path: String
    let filesMax: Int
    let bytesMax: Int

    private static let depthMax = 16

    package init(path: String, limits: Limits) {
        self.path = path
        filesMax = limits.webFilesMax
        bytesMax = limits.webBytesMax
    }

    /// Reads all files in the folder and below. What begins with a dot is left out, and so is what is neither file nor folder: links too, which could lead
    /// anywhere. The folder itself may be a link.
    func read() throws(WebFolderFault) -> WebFiles {
        var contents: [String: [UInt8]] = [:]
        var bytesLeft = bytesMax
        try collect("", depth: 0, &contents, &bytesLeft)
        guard !contents.isEmpty else { throw WebFolderFault(path: path, reason: "has no files") }
        return WebFiles(contents)
    }

    /// For who only looks whether all is well: the number of files and their bytes.
    package func survey() throws(WebFolderFault) -> (files: Int, bytes: Int) {
        let files = try read()
        return (files.count, files.byteCount)
    }

    private func collect(_ relative: String, depth: Int, _ contents: inout [String: [UInt8]], _ bytesLeft: inout Int) throws(WebFolderFault) {
        let folder = relative.isEmpty ? path : path + "/" + relative
        guard depth <= WebFolder.depthMax else { throw WebFolderFault(path: folder, reason: "is \(depth) folders deep") }
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: folder)
        } catch {
            throw WebFolderFault(path: folder, reason: "cannot be listed")
        }
        for name in names.sorted() where !name.hasPrefix(".") {
            let place = relative.isEmpty ? name : relative + "/" + name
            var status = stat()
            guard unsafe lstat(path + "/" + place, &status) == 0 else {
                throw WebFolderFault(path: path + "/" + place, reason: "cannot be looked at")
            }
            switch status.st_mode & S_IFMT {
            case S_IFDIR: try collect(place, depth: depth + 1, &contents, &bytesLeft)
            case S_IFREG:
                guard contents.count < filesMax else { throw WebFolderFault(path: path, reason: "has more than \(filesMax) files (webFilesMax)") }
                contents[place] = try readFile(path + "/" + place, &bytesLeft)
            default: break
            }
        }
    }

    private func readFile(_ file: String, _ bytesLeft: inout Int) throws(WebFolderFault) -> [UInt8] {
        do throws(StateFault) {
            guard let bytes = try StateFolder.read(file, bytesMax: bytesMax) else { throw StateFault(path: file, reason: "is gone") }
            bytesLeft -= bytes.count
            guard bytesLeft >= 0 else { throw StateFault(path: path, reason: "has more than \(bytesMax) bytes (webBytesMax)") }
            return bytes
        } catch {
            throw WebFolderFault(path: error.path, reason: error.reason)
        }
    }
}
