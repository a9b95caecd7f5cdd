import Foundation
import RelayBase
import Testing

/// Holds the documents to the code: what a client or an operator can meet is written down, with the value that it has.
@Suite("Documents")
struct DocumentTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// The first group of every match of `pattern`, in order; a pattern that finds nothing is a fault of the test.
    private static func matches(_ pattern: String, in path: String) throws -> [String] {
        let text = try text(path)
        let found = try text.matches(of: Regex(pattern)).compactMap { match in match.output[1].substring.map(String.init) }
        try #require(!found.isEmpty, "'\(pattern)' finds nothing in \(path)")
        return found
    }

    /// Every limit by name, with its default as a decimal number.
    private static let limits: [(name: String, value: String)] = Mirror(reflecting: Limits()).children.compactMap { child in
        child.label.map { ($0, "\(child.value)") }
    }

    /// `1234567` as `1,234,567`.
    private static func grouped(_ digits: String) -> String {
        var text = ""
        for (place, digit) in digits.enumerated() {
            if place > 0, (digits.count - place).isMultiple(of: 3) { text += "," }
            text.append(digit)
        }
        return text
    }

    // MARK: Limits and configuration

    @Test("every limit is a key of the configuration")
    func limitsAreConfigurable() throws {
        let configurable = Set(try Self.matches(#"LimitName\("(\w+)""#, in: "Sources/RelayServer/Configuration/LimitName.swift"))
        #expect(configurable == Set(Self.limits.map(\.name)))
    }

    @Test("the protocol document names every limit with its default and range")
    func limitsInProtocol() throws {
        let rows = try Self.text("Sources/PROTOCOL.md").split(separator: "\n")
        for limit in Self.limits {
            let row = rows.first { $0.hasPrefix("| `\(limit.name)` | ") }
            let expected = "| `\(limit.name)` | \(Self.grouped(limit.value)) | "
            #expect(row?.hasPrefix(expected) == true, "\(limit.name): \(row ?? "no row"), expected \(expected)")
        }
    }

    /// As much of a JSON value as is needed to walk the sample.
    private enum Value: Decodable {
        case object([String: Value])
        case leaf(String)

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let members = try? container.decode([String: Value].self) {
                self = .object(members)
            } else if let number = try? container.decode(Int.self) {
                self = .leaf("\(number)")
            } else if let flag = try? container.decode(Bool.self) {
                self = .leaf("\(flag)")
            } else if let text = try? container.decode(String.self) {
                self = .leaf(text)
            } else {
                self = .leaf("list")
            }
        }

        func leaves(below path: String = "") -> [String: String] {
            switch self {
            case .leaf(let text): return [path: text]
            case .object(let members):
                return members.reduce(into: [:]) { leaves, member in
                    leaves.merge(member.value.leaves(below: path.isEmpty ? member.key : "\(path).\(member.key)")) { first, _ in first }
                }
            }
        }
    }

    private static func sample() throws -> [String: String] {
        let decoder = JSONDecoder()
        decoder.allowsJSON5 = true
        return try decoder.decode(Value.self, from: Data(text("Deploy/segue.json5").utf8)).leaves()
    }

    @Test("the sample configuration is JSON5 and holds every limit with its default")
    func limitsInSample() throws {
        let sample = try Self.sample()
        for limit in Self.limits {
            #expect(sample["limits.\(limit.name)"] == limit.value, "limits.\(limit.name)")
        }
    }

    @Test("the sample configuration has exactly the keys that the relay reads")
    func keysInSample() throws {
        let block = try Self.matches(
            #"settablePaths: \[\[String\]\] =\s*\[([\s\S]*?)\] \+ LimitName"#, in: "Sources/RelayServer/Configuration/LimitName.swift")
        let paths = try block[0].matches(of: Regex(#"\[([^\]]*)\]"#)).compactMap { match in
            match.output[1].substring.map { $0.filter { $0 != "\"" && $0 != " " }.replacing(",", with: ".") }
        }
        #expect(paths.contains("tls.clientCertificates"))
        let known = Set(paths + ["tls.certificates"] + Self.limits.map { "limits.\($0.name)" })
        #expect(Set(try Self.sample().keys) == known)
    }

    // MARK: Messages, codes, metrics

    /// What the code says, and where: a pattern whose first group is the word.
    private static let vocabulary: [(what: String, pattern: String, path: String)] = [
        ("request type", #"case \.\w+: "([a-z.]+)"\n"#, "Sources/Signalling/ClientRequest.swift"),
        ("message type", #"RelayMessage\.write\(encoder, "([a-z.]+)""#, "Sources/Signalling/RelayMessage+Coding.swift"),
        ("refusal code", #"code: "([a-z_]+)""#, "Sources/Signalling/SignallingFault.swift"),
        ("metric", #""((?:segue|process)_[a-z0-9_]+)""#, "Sources/RelayServer/Operation/PrometheusText.swift"),
        // That one is the writer's own, for frames that nobody has sent yet.
        ("media fault", #": "(media_(?!extension_block_too_large)\w+)""#, "Sources/MediaProtocol/MediaFault.swift"),
        ("endpoint", #"case "(/\w*)""#, "Sources/RelayServer/API/Endpoints.swift"),
        ("path of the API", #"template: "(/[^"]+)""#, "Sources/RelayServer/API/APIRoute.swift"),
    ]

    @Test("the protocol document names every request, message, code, metric and endpoint", arguments: 0..<vocabulary.count)
    func vocabularyInProtocol(entry: Int) throws {
        let (what, pattern, path) = Self.vocabulary[entry]
        let document = try Self.text("Sources/PROTOCOL.md")
        for word in try Self.matches(pattern, in: path) {
            let isNamed = document.contains("`\(word)`")
            #expect(isNamed, "\(what) \(word) of \(path)")
        }
    }

    @Test("the protocol document names no refusal code that the code does not have")
    func noInventedCodes() throws {
        let known = Set(try Self.matches(#"code: "([a-z_]+)""#, in: "Sources/Signalling/SignallingFault.swift"))
        let rows = try Self.matches(#"\n\| `([a-z_]+)` \| (?:yes|no) \|"#, in: "Sources/PROTOCOL.md")
        #expect(Set(rows) == known)
    }

    // MARK: Documents themselves

    private static let documents: [String] = {
        let skipped: Set<String> = [".build", ".git", "node_modules"]
        guard let files = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil) else { return [] }
        var paths: [String] = []
        while let file = files.nextObject() as? URL {
            if skipped.contains(file.lastPathComponent) {
                files.skipDescendants()
            } else if ["md", "json5"].contains(file.pathExtension) {
                paths.append(String(file.path().dropFirst(root.path().count)))
            }
        }
        return paths.sorted()
    }()

    @Test("there are documents to be looked at")
    func documentsExist() {
        #expect(Self.documents.contains("README.md"))
        #expect(Self.documents.contains("Sources/PROTOCOL.md"))
        #expect(Self.documents.contains("Deploy/segue.json5"))
    }

    /// A heading's anchor: lower case, what is neither letter, digit, space nor hyphen left out, spaces as hyphens.
    private static func anchors(of document: String) -> Set<String> {
        var isCode = false
        var anchors: Set<String> = []
        for line in document.split(separator: "\n") {
            if line.hasPrefix("```") { isCode.toggle() }
            guard !isCode, line.hasPrefix("#") else { continue }
            let heading = line.drop { $0 == "#" }.drop { $0 == " " }.lowercased()
            anchors.insert(heading.filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" || $0 == "_" }.replacing(" ", with: "-"))
        }
        return anchors
    }

    @Test("a decision record is headed by its number, as all are", arguments: documents.filter { $0.hasPrefix("Sources/Decisions/") })
    func recordHeadings(document: String) throws {
        let number = try #require(Int(document.split(separator: "/").last?.prefix(4) ?? ""))
        #expect(try Self.text(document).hasPrefix("# \(number). "))
    }

    @Test("links within the repository lead to files and headings that exist", arguments: documents.filter { $0.hasSuffix(".md") })
    func links(document: String) throws {
        let url = Self.root.appending(path: document)
        let text = try String(contentsOf: url, encoding: .utf8)
        for match in try text.matches(of: Regex(#"\]\(([^)\s]+)\)"#)) {
            guard let link = match.output[1].substring, !link.contains("://"), !link.hasPrefix("mailto:") else { continue }
            let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
            let target = parts[0].isEmpty ? url : url.deletingLastPathComponent().appending(path: String(parts[0])).standardized
            #expect(FileManager.default.fileExists(atPath: target.path()), "\(document): \(link)")
            guard parts.count == 2, target.pathExtension == "md", let content = try? String(contentsOf: target, encoding: .utf8) else { continue }
            #expect(Self.anchors(of: content).contains(String(parts[1])), "\(document): \(link) has no such heading")
        }
    }

    @Test("no document names a place of one machine or a package registry's host", arguments: documents)
    func nothingForeign(document: String) throws {
        let text = try Self.text(document)
        for word in [
            "/" + "work/", "/" + "tmp/", "pypi" + ".org", "files.python" + "hosted", "registry.npm" + "js", "crates" + ".io", "deb.deb" + "ian.org",
        ] {
            #expect(!text.contains(word), "\(document) names \(word)")
        }
    }
}
