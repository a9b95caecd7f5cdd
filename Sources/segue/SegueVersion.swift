import CNghttp2
import COpenSSL
import COpus

/// The program's version, and those of the libraries that it runs with.
enum SegueVersion {
    static let text = "0.1.0"

    static var report: String { "segue \(text)\n\(openSSL)\nnghttp2 \(nghttp2)\n\(opus)" }

    /// As the library names itself: `OpenSSL 3.0.17 1 Jul 2025`.
    static var openSSL: String {
        guard let text = unsafe OpenSSL_version(OPENSSL_VERSION) else { return "OpenSSL of an unknown version" }
        return unsafe String(cString: text)
    }

    static var nghttp2: String {
        guard let information = unsafe nghttp2_version(0), let text = unsafe information.pointee.version_str else { return "of an unknown version" }
        return unsafe String(cString: text)
    }

    /// As the library names itself: `libopus 1.3.1`.
    static var opus: String {
        guard let text = unsafe opus_get_version_string() else { return "libopus of an unknown version" }
        return unsafe String(cString: text)
    }
}
