/// What kind of file a name says it is, for the files that a web page is made of.
package struct WebMediaType: Sendable, Hashable {
    /// The Content-Type field's value (RFC 9110 §8.3).
    package let value: String
    /// Whether it is worth being sent in a content coding: text, and code.
    package let isCompressible: Bool

    /// By the ending of the name, in any case; what is not known is bytes, which browsers are told not to guess about.
    package init(fileName: String) {
        let ending = fileName.lastIndex(of: ".").map { Grammar.lowercased(fileName[fileName.index(after: $0)...]) }
        switch ending {
        case "html": self.init("text/html; charset=utf-8")
        case "css": self.init("text/css; charset=utf-8")
        // RFC 9239.
        case "mjs", "js": self.init("text/javascript; charset=utf-8")
        case "json": self.init("application/json")
        case "webmanifest": self.init("application/manifest+json")
        case "svg": self.init("image/svg+xml")
        case "txt": self.init("text/plain; charset=utf-8")
        case "wasm": self.init("application/wasm")
        case "png": self.init("image/png", isCompressible: false)
        case "ico": self.init("image/x-icon", isCompressible: false)
        default: self.init("application/octet-stream", isCompressible: false)
        }
    }

    private init(_ value: String, isCompressible: Bool = true) {
        self.value = value
        self.isCompressible = isCompressible
    }
}
