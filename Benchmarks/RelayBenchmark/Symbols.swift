import BenchmarkSupport
import Glibc

/// Names for addresses of another process, by its memory map and `llvm-symbolizer` or `addr2line`.
final class Symbols {
    private struct Module {
        let range: Range<UInt64>
        let fileOffset: UInt64
        let path: String
    }

    private let modules: [Module]
    private var known: [UInt64: [String]] = [:]

    /// - Parameter pid: a process that still runs.
    init(of pid: Int32) {
        modules = (SmallFile.text("/proc/\(pid)/maps") ?? "").split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
            guard fields.count == 6, fields[1].contains("x") else { return nil }
            let bounds = fields[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
            guard bounds.count == 2, let offset = UInt64(fields[2], radix: 16) else { return nil }
            let path = String(fields[5].drop { $0 == " " })
            return Module(range: bounds[0]..<bounds[1], fileOffset: offset, path: path)
        }
    }

    /// One line per address: function, file and line, inlined callers included, as far as debug information has them.
    func names(_ addresses: [UInt64]) -> [String] {
        addresses.flatMap { address -> [String] in
            if let names = known[address] { return names }
            guard let module = modules.first(where: { $0.range.contains(address) }), module.path.hasPrefix("/") else { return ["?"] }
            // The return address is one past the call.
            let offset = address - 1 - module.range.lowerBound + module.fileOffset
            let names = Symbols.look(module.path, offset)
            known[address] = names
            return names
        }
    }

    private static func look(_ path: String, _ offset: UInt64) -> [String] {
        // The tools want the address that the linker gave, not where in the file it lies.
        let address = offset + ExecutableSegment.difference(path, offset)
        let place = "0x" + String(address, radix: 16)
        let look = "(llvm-symbolizer --obj='\(path)' \(place) || addr2line -f -i -e '\(path)' \(place)) 2>/dev/null"
        let command = look + " | (swift demangle --simplified 2>/dev/null || cat)"
        guard let stream = unsafe popen(command, "r") else { return ["?"] }
        defer { unsafe pclose(stream) }
        var lines: [String] = []
        var buffer = [CChar](repeating: 0, count: 4_096)
        while let line = unsafe fgets(&buffer, Int32(buffer.count), stream) {
            let text = unsafe String(cString: line)
            if !text.allSatisfy(\.isWhitespace) { lines.append(text.filter { $0 != "\n" }) }
        }
        return stride(from: 0, to: lines.count - 1, by: 2).map { "\(lines[$0])  \(shortened(lines[$0 + 1]))" }
    }

    private static func shortened(_ place: String) -> String {
        place.firstRange(of: "/Sources/").map { "Sources/" + place[$0.upperBound...] } ?? place
    }
}

/// Where an ELF file's executable segment lies in the file and in memory.
enum ExecutableSegment {
    /// Virtual address minus file offset of the executable segment that holds `offset`.
    static func difference(_ path: String, _ offset: UInt64) -> UInt64 {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return 0 }
        defer { close(descriptor) }
        var head = [UInt8](repeating: 0, count: 4_096)
        guard unsafe read(descriptor, &head, head.count) == head.count else { return 0 }
        func number(_ at: Int, _ bytes: Int) -> UInt64 {
            guard at + bytes <= head.count else { return 0 }
            return (0..<bytes).reduce(0) { $0 | UInt64(head[at + $1]) << UInt64(8 * $1) }
        }
        let table = Int(number(32, 8))
        for entry in 0..<Int(number(56, 2)) {
            let at = table + entry * Int(number(54, 2))
            let isExecutable = number(at, 4) == 1 && number(at + 4, 4) & 1 == 1
            let start = number(at + 8, 8)
            if isExecutable, offset >= start, offset < start + number(at + 32, 8) { return number(at + 16, 8) &- start }
        }
        return 0
    }
}
