import HTTPProtocol
import HTTPTransport
import TLSTransport

/// The files of the folder `web` as they are served, all in memory. A value: every loop has the same bytes, and a reload replaces it whole.
struct WebFiles: Sendable {
    /// One form of a file's content.
    struct Variant: Sendable {
        let bytes: [UInt8]
        /// Strong: of these very bytes (RFC 9110 §8.8.3).
        let tag: EntityTag

        init(_ bytes: [UInt8]) {
            self.bytes = bytes
            tag = EntityTag(opaque: SHA256Digest(hashing: bytes).hex)
        }
    }

    struct File: Sendable {
        let type: WebMediaType
        let plain: Variant
        /// In gzip, where that is shorter.
        let gzip: Variant?

        init(name: String, bytes: [UInt8]) {
            type = WebMediaType(fileName: name)
            plain = Variant(bytes)
            gzip = type.isCompressible ? GzipContent.encode(bytes).map { Variant($0) } : nil
        }
    }

    static let index = "index.html"

    private var files: [String: File] = [:]

    /// - Parameter contents: by path relative to the folder, components with slashes between.
    init(_ contents: [String: [UInt8]]) {
        for (path, bytes) in contents { files[path] = File(name: path, bytes: bytes) }
    }

    var count: Int { files.count }
    /// Of the plain forms.
    var byteCount: Int { files.values.reduce(0) { $0 + $1.plain.bytes.count } }

    /// What a path leads to.
    enum Match: Sendable {
        case file(File)
        /// A folder that has a page, asked for without the slash at its end.
        case folder(location: String)
        case nothing
    }

    /// - Parameter path: of the target, still percent-encoded.
    func match(_ path: String) -> Match {
        guard let path = try? StaticFilePath(path) else { return .nothing }
        let name = path.relativePath
        if path.isFolder {
            return files[name.isEmpty ? WebFiles.index : name + "/" + WebFiles.index].map { .file($0) } ?? .nothing
        }
        if let file = files[name] { return .file(file) }
        // Not what the client wrote: `//host` would lead to another site.
        guard files[name + "/" + WebFiles.index] != nil, let location = WebFiles.location(path.components) else { return .nothing }
        return .folder(location: location)
    }

    /// `nil` for names that would have to be encoded: no folder of pages has such.
    private static func location(_ components: [String]) -> String? {
        let isPlain = components.allSatisfy { name in
            name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                    UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
                    true
                default: false
                }
            }
        }
        return isPlain ? "/" + components.joined(separator: "/") + "/" : nil
    }
}
