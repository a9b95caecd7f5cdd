import Glibc

/// What the numbers were taken on.
package enum Machine {
    /// `2 cores, Linux 6.18`.
    package static var description: String {
        var names = utsname()
        unsafe uname(&names)
        let release = unsafe withUnsafeBytes(of: &names.release) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        return "\(sysconf(Int32(_SC_NPROCESSORS_ONLN))) cores, Linux \(release)"
    }

    /// Of the last minute and the last five.
    package static var load: String {
        (SmallFile.text("/proc/loadavg") ?? "").split(separator: " ").prefix(2).joined(separator: " ")
    }

    /// Today, `2026-12-01`.
    package static var date: String {
        var seconds = time(nil)
        var parts = unsafe tm()
        unsafe gmtime_r(&seconds, &parts)
        let (month, day) = unsafe (parts.tm_mon + 1, parts.tm_mday)
        return unsafe "\(parts.tm_year + 1900)-\(month < 10 ? "0" : "")\(month)-\(day < 10 ? "0" : "")\(day)"
    }
}

/// Files that are read and written whole.
package enum SmallFile {
    /// The file's text; `nil` when it cannot be read. Files of /proc have no size to be asked for, so it is read to its end.
    package static func text(_ path: String) -> String? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = unsafe read(descriptor, &chunk, chunk.count)
            guard count > 0 else { return count == 0 ? String(decoding: bytes, as: UTF8.self) : nil }
            bytes += chunk[..<count]
        }
    }

    /// Replaces the file at once, so that nobody sees half of it.
    ///
    /// - Returns: whether that went well.
    package static func replace(_ path: String, with text: String) -> Bool {
        let fresh = path + ".new"
        guard let file = unsafe fopen(fresh, "w") else { return false }
        let bytes = Array(text.utf8)
        let isWritten = unsafe fwrite(bytes, 1, bytes.count, file) == bytes.count
        guard unsafe fclose(file) == 0, isWritten else { return false }
        return unsafe rename(fresh, path) == 0
    }

    /// Puts `text` between two marker lines of a document and leaves everything else.
    ///
    /// - Returns: false when the document cannot be read or written, or lacks the markers.
    package static func keep(_ text: String, in path: String, between start: String, and end: String) -> Bool {
        guard let document = SmallFile.text(path) else { return false }
        let lines = document.split(separator: "\n", omittingEmptySubsequences: false)
        guard let first = lines.firstIndex(where: { $0 == start }), let last = lines[first...].firstIndex(where: { $0 == end }) else { return false }
        let kept = lines[...first] + ["", Substring(text), ""] + lines[last...]
        return replace(path, with: kept.joined(separator: "\n"))
    }
}
