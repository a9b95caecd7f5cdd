import Foundation
import Testing

/// `Deploy/dev real-time --help` prints the program's text from its source, so that nobody waits for a build to read it.
@Suite("Deploy/dev real-time --help")
struct RealTimeHelpTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static func help() throws -> String {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = root.appending(path: "Deploy/dev")
        process.arguments = ["real-time", "--help"]
        // Nothing can be built without the toolchain.
        process.environment = ["PATH": "/usr/bin:/bin"]
        process.standardOutput = pipe
        try process.run()
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        return String(decoding: data, as: UTF8.self)
    }

    @Test("names every scenario with what it plays, and every option, and builds nothing")
    func complete() throws {
        let text = try Self.help()
        let scenarios = try String(contentsOf: Self.root.appending(path: "LoadTests/RealTime/Scenario.swift"), encoding: .utf8)
        let summaries = scenarios.matches(of: /case \.(\w+): "(.+)"/)
        try #require(!summaries.isEmpty)
        for match in summaries {
            let line = text.split(separator: "\n").first { $0.hasPrefix("  \(match.1) ") }
            #expect(line?.hasSuffix(" \(match.2)") == true, "\(match.1): \(line ?? "no line")")
        }
        #expect(text.hasPrefix("Usage: Deploy/dev real-time") && text.contains("Exit status:"))
        #expect(!text.contains("\\("), "an interpolation is not printed as what it stands for")
    }
}
