import Foundation
import Testing

@testable import segue

/// The built program, and what it did.
struct Program {
    let status: Int32
    let output: String
    let errors: String

    /// Beside the test bundle.
    static let path = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().appending(path: "segue").path

    /// Runs a program to its end, which `timeout` brings about at the latest.
    static func run(_ executable: String, _ arguments: [String], environment: [String: String] = [:], input: String = "") throws -> Program {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["timeout", "120", executable] + arguments
        var inherited = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("SEGUE_") }
        inherited.merge(environment) { $1 }
        process.environment = inherited
        let folder = try TemporaryFolder()
        let (output, errors, standardInput) = (folder.file("output"), folder.file("errors"), folder.file("input"))
        try input.write(toFile: standardInput, atomically: false, encoding: .utf8)
        for path in [output, errors] { _ = FileManager.default.createFile(atPath: path, contents: nil) }
        process.standardInput = FileHandle(forReadingAtPath: standardInput)
        process.standardOutput = FileHandle(forWritingAtPath: output)
        process.standardError = FileHandle(forWritingAtPath: errors)
        try process.run()
        process.waitUntilExit()
        return Program(
            status: process.terminationStatus, output: try String(contentsOfFile: output, encoding: .utf8),
            errors: try String(contentsOfFile: errors, encoding: .utf8))
    }

    static func segue(_ arguments: String..., environment: [String: String] = [:], input: String = "") throws -> Program {
        try run(path, arguments, environment: environment, input: input)
    }
}

/// A folder that goes with its owner.
final class TemporaryFolder {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appending(path: "segue-tests-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { path + "/" + name }
}

/// Every command of the program with the words that lead to it.
func everyCommand(_ spec: CommandSpec = CommandTable.root.spec, path: [String] = ["segue"]) -> [(path: [String], spec: CommandSpec)] {
    [(path, spec)] + spec.subcommands.flatMap { everyCommand($0, path: path + [$0.name]) }
}

/// Looks again and again; false when nothing has come of it after two minutes.
func waitUntil(_ condition: () -> Bool) -> Bool {
    let end = ContinuousClock.now + .seconds(120)
    while !condition() {
        if ContinuousClock.now > end { return false }
        usleep(20_000)
    }
    return true
}
