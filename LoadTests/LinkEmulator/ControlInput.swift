import Glibc

/// Lines of the standard input.
struct ControlInput {
    private static let bytesMax = 64 << 10

    private var unread: [UInt8] = []

    /// Reads what is there. - Returns: false when there will be no more.
    mutating func read() -> Bool {
        var chunk = [UInt8](repeating: 0, count: 4_096)
        let count = unsafe Glibc.read(0, &chunk, chunk.count)
        guard count > 0 else { return false }
        unread += chunk[..<count]
        return unread.count <= Self.bytesMax
    }

    mutating func nextLine() -> String? {
        guard let end = unread.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        defer { unread.removeSubrange(...end) }
        return String(decoding: unread[..<end], as: UTF8.self)
    }
}

/// Lines, written at once: a `print` would keep them back where the output is a pipe.
enum Output {
    static func line(_ text: String, to descriptor: Int32 = 1) {
        let bytes = Array((text + "\n").utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
    }
}
