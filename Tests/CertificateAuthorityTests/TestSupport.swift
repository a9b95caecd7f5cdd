import Foundation
import Testing

@testable import CertificateAuthority

/// A fixed moment, so that no test depends on the day it runs: 2027-01-15T12:00:00Z.
let testTime = UnixTime(seconds: 1_800_014_400)

/// A folder that is removed with the value.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "segue-ca-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func callAsFunction(_ name: String) -> String { path + "/" + name }

    func authority(
        key: KeyAlgorithm = .ecdsaP256, validity: Duration = CertificateAuthority.validityDefault, settings: AuthoritySettings? = nil
    ) throws -> CertificateAuthority {
        try .create(directory: self("ca"), commonName: "Test CA", key: key, validity: validity, settings: settings, now: testTime)
    }
}

struct CommandResult {
    let status: Int32
    let output: String
}

/// Runs the openssl command line and gives both of its outputs together.
@discardableResult
func openssl(_ arguments: String...) throws -> CommandResult { try runOpenSSL(arguments) }

/// `openssl verify` with revocation checking, at a moment of the test's choice.
func verify(
    _ authority: CertificateAuthority, _ certificate: String, purpose: String, at time: UnixTime = testTime, _ more: String...
) throws -> CommandResult {
    let folder = try TemporaryFolder()
    let both = folder("both.pem")
    let text =
        try String(contentsOfFile: authority.certificatePath, encoding: .utf8) + String(contentsOfFile: authority.revocationListPath, encoding: .utf8)
    try text.write(toFile: both, atomically: false, encoding: .utf8)
    let arguments =
        ["verify", "-x509_strict", "-crl_check", "-attime", String(time.seconds), "-purpose", purpose, "-CAfile", both] + more + [certificate]
    return try runOpenSSL(arguments)
}

func runOpenSSL(_ arguments: [String]) throws -> CommandResult {
    let folder = try TemporaryFolder()
    let outputPath = folder("output")
    try Data().write(to: URL(fileURLWithPath: outputPath))
    let output = try FileHandle(forWritingTo: URL(fileURLWithPath: outputPath))
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["timeout", "60", "openssl"] + arguments
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = output
    try process.run()
    process.waitUntilExit()
    let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: outputPath)), as: UTF8.self)
    return CommandResult(status: process.terminationStatus, output: text)
}

func text(of certificate: String) throws -> String {
    try openssl("x509", "-noout", "-text", "-in", certificate).output
}

func fileMode(_ path: String) throws -> Int {
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    return try #require(attributes[.posixPermissions] as? Int)
}

/// Every path below a folder, links not followed.
func contents(of folder: String) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: folder).sorted()
}
