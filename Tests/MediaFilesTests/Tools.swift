import Foundation

/// A command of the machine that a test needs, failed or missing.
struct ToolFault: Error, CustomStringConvertible {
    let description: String
}

enum Tools {
    static let packages = ["espeak-ng": "espeak-ng", "opusenc": "opus-tools", "ffmpeg": "ffmpeg", "ffprobe": "ffmpeg"]

    /// Runs a command and answers what it prints. A missing command is a fault that says how to install it, not a reason to skip.
    @discardableResult
    static func run(_ command: String, _ arguments: [String]) throws -> Data {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
        guard let path = folders.map({ "\($0)/\(command)" }).first(where: { FileManager.default.isExecutableFile(atPath: $0) }) else {
            throw ToolFault(description: "\(command) is missing; install it with: apt-get install \(packages[command] ?? command)")
        }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw ToolFault(description: "\(command) \(arguments.joined(separator: " ")) ended with \(process.terminationStatus)")
        }
        return data
    }
}

/// A folder that goes with the test.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "/segue-media-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }
}

/// What ffprobe says about one packet.
struct ProbedPacket: Decodable, Equatable {
    var stream: Int
    var pts: Int64?
    var dts: Int64?
    var size: String
    var flags: String
    var hash: String

    enum CodingKeys: String, CodingKey {
        case stream = "stream_index"
        case pts, dts, size, flags
        case hash = "data_hash"
    }

    var isKey: Bool { flags.hasPrefix("K") }

    /// Reads a file's packets with ffprobe, an implementation that is none of ours.
    static func all(in path: String) throws -> [ProbedPacket] {
        struct Answer: Decodable { var packets: [ProbedPacket] }
        let data = try Tools.run("ffprobe", ["-v", "error", "-show_packets", "-show_data_hash", "CRC32", "-of", "json", path])
        return try JSONDecoder().decode(Answer.self, from: data).packets
    }
}

/// CRC-32 (ISO 3309), as ffprobe prints it.
func crc32(_ bytes: [UInt8]) -> String {
    var crc: UInt32 = 0xFFFF_FFFF
    for byte in bytes {
        crc ^= UInt32(byte)
        for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
    }
    let digits = String(~crc, radix: 16)
    return "CRC32:" + String(repeating: "0", count: 8 - digits.count) + digits
}
