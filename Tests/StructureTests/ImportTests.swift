import Foundation
import Testing

/// Holds the sources to the architecture document: which target may import which, what the pure core never imports, and how long a file may be.
@Suite("Structure of the sources")
struct ImportTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    private static let sources = root.appending(path: "Sources")

    /// The table of the architecture document. System modules that belong to a target stand with it.
    private static let mayImport: [String: Set<String>] = [
        "RelayBase": [],
        "WebSocketProtocol": ["RelayBase"],
        "HTTPProtocol": ["RelayBase"],
        "MediaProtocol": ["RelayBase"],
        "JitterBuffer": ["RelayBase", "MediaProtocol"],
        "AudioEngine": ["RelayBase", "MediaProtocol", "JitterBuffer", "COpus", "CSpeexDSP", "Glibc", "Synchronization"],
        "RelayRooms": ["RelayBase", "WebSocketProtocol", "HTTPProtocol", "MediaProtocol"],
        "AudioSession": ["RelayBase"],
        // Apple's frameworks behind `#if canImport(AVFAudio)` only.
        "AudioSessionBridge": ["AudioSession", "AVFAudio", "Foundation"],
        "RelaySimulator": ["RelayBase", "MediaProtocol", "RelayRooms"],
        "relay-simulator": ["RelayBase", "RelayRooms", "RelaySimulator", "Glibc"],
        "Signalling": ["RelayBase", "MediaProtocol", "RelayRooms", "AudioSession", "FoundationEssentials"],
        "Reactor": ["RelayBase", "CLinux", "Glibc", "Synchronization"],
        "TLSTransport": ["RelayBase", "Reactor", "COpenSSL", "Glibc", "Synchronization"],
        "CertificateAuthority": ["RelayBase", "COpenSSL", "CLinux", "Glibc", "FoundationEssentials"],
        "JOSE": ["RelayBase", "COpenSSL", "Glibc", "FoundationEssentials"],
        "HTTPTransport": ["RelayBase", "HTTPProtocol", "WebSocketProtocol", "TLSTransport", "CNghttp2", "CZlib", "Glibc"],
        "ClusterProtocol": ["RelayBase", "RelayRooms"],
        "NATSTransport": ["RelayBase", "Reactor", "CNATS", "Glibc", "Synchronization"],
        "MediaFiles": ["RelayBase", "MediaProtocol", "CAVFormat", "COpus", "Glibc", "FoundationEssentials"],
        "RelayServer": [
            "RelayBase", "WebSocketProtocol", "HTTPProtocol", "MediaProtocol", "JitterBuffer", "AudioEngine", "RelayRooms", "AudioSession",
            "Signalling", "Reactor", "CLinux", "TLSTransport",
            "HTTPTransport", "JOSE", "CertificateAuthority", "ClusterProtocol", "NATSTransport", "Glibc", "FoundationEssentials", "Synchronization",
        ],
        "RelayClient": [
            "RelayBase", "WebSocketProtocol", "HTTPProtocol", "MediaProtocol", "RelayRooms", "AudioSession", "Signalling", "Reactor", "CLinux",
            "TLSTransport",
            "HTTPTransport", "Glibc", "FoundationEssentials", "Synchronization",
        ],
        // Glibc: /proc.
        "LoadReport": ["RelayBase", "FoundationEssentials", "Glibc"],
        // RelayServer for its reader of JSON5 files alone.
        "LoadGenerator": [
            "RelayBase", "HTTPProtocol", "WebSocketProtocol", "MediaProtocol", "RelayRooms", "Signalling", "Reactor", "TLSTransport", "RelayClient",
            "RelayServer", "LoadReport", "FoundationEssentials", "Glibc", "Synchronization",
        ],
        "segue": [
            "RelayBase", "RelayRooms", "JitterBuffer", "AudioEngine", "AudioSession", "RelayServer", "RelayClient", "CertificateAuthority",
            "MediaFiles", "MediaProtocol", "LoadGenerator", "LoadReport", "Reactor", "JOSE",
            "Signalling",
            "TLSTransport",
            "HTTPProtocol", "WebSocketProtocol", "HTTPTransport", "COpenSSL", "CNghttp2", "COpus", "CLinux", "Glibc", "FoundationEssentials",
            "Synchronization",
        ],
    ]

    /// Nothing of the outside world: the core runs in simulators, fuzzers and as WebAssembly.
    private static let pureTargets: Set<String> = [
        "RelayBase", "WebSocketProtocol", "HTTPProtocol", "MediaProtocol", "JitterBuffer", "RelayRooms", "AudioSession", "RelaySimulator",
        "ClusterProtocol",
    ]
    private static let worldly: Set<String> = ["Foundation", "FoundationEssentials", "Glibc", "Dispatch", "Synchronization"]

    private static func swiftFiles(of target: String) throws -> [URL] {
        let folder = sources.appending(path: target)
        guard let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil) else { return [] }
        return files.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
    }

    private static func imports(of file: URL) throws -> [String] {
        try String(contentsOf: file, encoding: .utf8).split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard let place = words.firstIndex(of: "import"), place <= 2, words.count > place + 1 else { return nil }
            guard words[..<place].allSatisfy({ ["package", "public", "internal", "private", "fileprivate", "@_exported", "@testable"].contains($0) })
            else {
                return nil
            }
            return String(words[place + 1].split(separator: ".")[0])
        }
    }

    @Test("design §1: every target imports only what the table allows", arguments: mayImport.keys.sorted())
    func table(target: String) throws {
        let files = try Self.swiftFiles(of: target)
        #expect(!files.isEmpty, "\(target) has no sources")
        for file in files {
            for module in try Self.imports(of: file) {
                #expect(Self.mayImport[target]?.contains(module) == true, "\(target)/\(file.lastPathComponent) imports \(module)")
            }
        }
    }

    @Test("design §1: every folder of sources is in the table")
    func complete() throws {
        for folder in try FileManager.default.contentsOfDirectory(at: Self.sources, includingPropertiesForKeys: nil) {
            let name = folder.lastPathComponent
            guard try !Self.swiftFiles(of: name).isEmpty else { continue }
            #expect(Self.mayImport[name] != nil, "\(name) is not in the table")
        }
    }

    @Test("design §1: the pure core knows nothing of clocks, sockets, threads and Foundation", arguments: pureTargets.sorted())
    func pure(target: String) throws {
        for file in try Self.swiftFiles(of: target) {
            let imports = Set(try Self.imports(of: file))
            #expect(imports.isDisjoint(with: Self.worldly), "\(target)/\(file.lastPathComponent) imports \(imports.sorted())")
        }
    }

    @Test("design §1: no source file is over 400 lines", arguments: mayImport.keys.sorted())
    func length(target: String) throws {
        for file in try Self.swiftFiles(of: target) {
            let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false).count
            #expect(lines <= 401, "\(target)/\(file.lastPathComponent) has \(lines) lines")
        }
    }

    @Test("design §7: what is declared @unchecked Sendable says why it is safe", arguments: mayImport.keys.sorted())
    func uncheckedSendable(target: String) throws {
        for file in try Self.swiftFiles(of: target) {
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") where line.contains("@unchecked Sendable") {
                let isProse = line.trimmingPrefix(while: \.isWhitespace).hasPrefix("//")
                #expect(isProse || line.contains("Safe:"), "\(target)/\(file.lastPathComponent): \(line)")
            }
        }
    }
}
