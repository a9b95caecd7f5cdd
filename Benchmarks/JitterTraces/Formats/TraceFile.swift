import Glibc

/// Traces on the disk, by what they begin with.
enum TraceFile {
    private static let bytesMax = 1 << 30

    static func read(_ path: String, source: UInt32? = nil, timescale: UInt32? = nil) throws(TraceFault) -> ArrivalTrace {
        let bytes = try FileBytes.read(path, bytesMax: bytesMax)
        let file = path.split(separator: "/").last.map(String.init) ?? path
        let name = String(file.prefix { $0 != "." })
        if bytes.starts(with: TraceText.firstLine.utf8) { return try TraceText.read(String(decoding: bytes, as: UTF8.self)) }
        if RTPDump.looksLike(bytes) { return try RTPDump.read(bytes, name: name, source: source, timescale: timescale) }
        return try PacketCapture.read(bytes, name: name, source: source, timescale: timescale)
    }

    /// Those of a folder that are in the project's own format, by name.
    static func folder(_ path: String) throws(TraceFault) -> [ArrivalTrace] {
        var traces: [ArrivalTrace] = []
        for name in FileBytes.names(in: path) where name.hasSuffix(".trace") { traces.append(try read("\(path)/\(name)")) }
        return traces
    }
}

/// Whole files.
enum FileBytes {
    static func read(_ path: String, bytesMax: Int) throws(TraceFault) -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw TraceFault("\(path) cannot be read") }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = unsafe Glibc.read(descriptor, &chunk, chunk.count)
            guard count >= 0 else { throw TraceFault("\(path) cannot be read") }
            guard count > 0 else { return bytes }
            bytes += chunk[..<count]
            guard bytes.count <= bytesMax else { throw TraceFault("\(path) is over \(bytesMax) bytes") }
        }
    }

    static func write(_ bytes: [UInt8], to path: String) throws(TraceFault) {
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw TraceFault("\(path) cannot be written") }
        defer { close(descriptor) }
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.write(descriptor, $0.baseAddress.map { unsafe $0 + written }, bytes.count - written)
            }
            guard count > 0 else { throw TraceFault("\(path) cannot be written") }
            written += count
        }
    }

    static func write(_ text: String, to path: String) throws(TraceFault) { try write(Array(text.utf8), to: path) }

    /// Names in a folder, sorted; empty when there is none.
    static func names(in path: String) -> [String] {
        guard let folder = unsafe opendir(path) else { return [] }
        defer { unsafe closedir(folder) }
        var names: [String] = []
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }
}
