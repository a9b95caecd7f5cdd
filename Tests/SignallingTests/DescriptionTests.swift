import Foundation
import RelayBase
import Testing

@testable import Signalling

/// Holds the AsyncAPI document to the Codable types: the same messages, the same members, and examples that the real coders take and give.
@Suite("The description of the protocol")
struct DescriptionTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    @Test("Sources/asyncapi.json is what the code makes: write it anew by 'segue describe asyncapi > Sources/asyncapi.json'")
    func kept() throws {
        let kept = try String(contentsOf: Self.root.appending(path: "Sources/asyncapi.json"), encoding: .utf8)
        let isCurrent = kept == ProtocolDescription().text
        #expect(isCurrent)
    }

    // MARK: Requests

    @Test("each example of a request is taken by the decoder as that request, and encodes to the same members", arguments: RequestKind.allCases)
    func requestExamples(kind: RequestKind) throws {
        let described = try DescribedProtocol()
        let examples = try described.examples(of: kind.rawValue)
        #expect(!examples.isEmpty)
        for example in examples {
            let incoming = try IncomingRequest(decoding: bytes(example))
            #expect(RequestKind(incoming.request) == kind)
            #expect(incoming.request.type == kind.rawValue)
            let encoded = try parsed(incoming.request.encoded(id: incoming.id))
            #expect(isSame(encoded, example), "\(encoded) is not \(example)")
        }
    }

    @Test("the examples of a request have every member of its schema, and its schema every member of its type", arguments: RequestKind.allCases)
    func requestMembers(kind: RequestKind) throws {
        let described = try DescribedProtocol()
        let payload = try described.payload(of: kind.rawValue)
        let schema = described.own(of: payload).paths
        let examples = try described.examples(of: kind.rawValue)
        let shown = examples.reduce(into: Set<String>()) { $0.formUnion(memberPaths(of: $1)) }
        #expect(FoundMembers(shown, at: payload, described).own == schema)
        let stored = try examples.reduce(into: Set<String>()) { $0.formUnion(try Self.stored(request: $1)) }
        #expect(FoundMembers(stored, at: payload, described).own == schema)
    }

    @Test("each example of an answer is taken by the decoder, and encodes to the same members", arguments: RequestKind.allCases)
    func answerExamples(kind: RequestKind) throws {
        let described = try DescribedProtocol()
        let exchanges = kind.description(under: Limits()).exchanges
        let examples = try described.examples(of: kind.answerName)
        #expect(examples.count == exchanges.count && !examples.isEmpty)
        for (exchange, example) in zip(exchanges, examples) {
            let message = try #require(try RelayMessage.decode(bytes(example)))
            let asked = try IncomingRequest(decoding: Array(exchange.request.utf8)).id
            switch message {
            case .welcome(let id, _): #expect(kind == .hello && id == asked)
            case .ok(let id, _): #expect(kind != .hello && id == asked)
            default: Issue.record("\(example) is no answer")
            }
            let encoded = try parsed(message.encoded)
            #expect(isSame(encoded, example), "\(encoded) is not \(example)")
        }
    }

    @Test("the answers' schemas together have every member that an answer can have, and no other")
    func answerMembers() throws {
        let described = try DescribedProtocol()
        for kinds in [[RequestKind.hello], RequestKind.allCases.filter { $0 != .hello }] {
            var (schemas, stored): (Set<String>, Set<String>) = ([], [])
            for kind in kinds {
                let payload = try described.payload(of: kind.answerName)
                schemas.formUnion(described.own(of: payload).paths)
                for example in try described.examples(of: kind.answerName) {
                    // One type serves all answers: what this one does not have is told by others.
                    let paths = try Self.stored(message: example)
                    stored.formUnion(FoundMembers(paths, at: payload, described).own.filter { !$0.contains(".") || schemas.contains($0) })
                    #expect(FoundMembers(memberPaths(of: example), at: payload, described).own.isSubset(of: schemas))
                }
            }
            #expect(stored == schemas)
        }
    }

    // MARK: Events

    @Test("each example of an event is taken by the decoder as that event, and encodes to the same members", arguments: EventKind.allCases)
    func eventExamples(kind: EventKind) throws {
        let described = try DescribedProtocol()
        let examples = try described.examples(of: kind.messageName)
        #expect(!examples.isEmpty)
        let payload = try described.payload(of: kind.messageName)
        let schema = described.own(of: payload).paths
        for example in examples {
            let message = try #require(try RelayMessage.decode(bytes(example)))
            #expect(EventKind(message) == kind)
            let encoded = try parsed(message.encoded)
            #expect(isSame(encoded, example), "\(encoded) is not \(example)")
            #expect(FoundMembers(memberPaths(of: example), at: payload, described).own.isSubset(of: schema))
        }
        let stored = try examples.reduce(into: Set<String>()) { $0.formUnion(try Self.stored(message: $1)) }
        // Only a list says of requests for pairs which way they go.
        let unsaid: Set<String> = kind == .pairRequested ? ["direction"] : []
        #expect(FoundMembers(stored, at: payload, described).own.subtracting(unsaid) == schema)
    }

    // MARK: Shared schemas

    @Test("each shared schema has every member of its type and no other, and some example shows each member", arguments: SharedSchema.allCases)
    func sharedMembers(shared: SharedSchema) throws {
        let described = try DescribedProtocol()
        var (shown, stored): (Set<String>, Set<String>) = ([], [])
        for name in described.messages.keys where !name.hasSuffix("error") {
            let payload = try described.payload(of: name)
            for example in try described.examples(of: name) {
                shown.formUnion(FoundMembers(memberPaths(of: example), at: payload, described).shared[shared.rawValue] ?? [])
                let paths = RequestKind(rawValue: name) == nil ? try Self.stored(message: example) : try Self.stored(request: example)
                stored.formUnion(FoundMembers(paths, at: payload, described).shared[shared.rawValue] ?? [])
            }
        }
        let schema = described.own(of: try #require(described.schemas[shared.rawValue])).paths
        #expect(shown == schema)
        #expect(stored == schema)
    }

    // MARK: What the types have

    private static func stored(request example: [String: Any]) throws -> Set<String> {
        let request = try IncomingRequest(decoding: bytes(example)).request
        return Set(["type", "id"]).union(Mirror(reflecting: request).children.first.map { storedPaths(of: $0.value) } ?? [])
    }

    /// The members of an answer or event: of its type, or of the case itself.
    private static func stored(message example: [String: Any]) throws -> Set<String> {
        let message = try #require(try RelayMessage.decode(bytes(example)))
        switch message {
        case .welcome(_, let body): return storedPaths(of: body).union(["type", "id"])
        case .ok(_, let body): return storedPaths(of: body).union(["type", "id"])
        default:
            guard let body = Mirror(reflecting: message).children.first?.value else { return ["type"] }
            let mirror = Mirror(reflecting: body)
            return (mirror.displayStyle == .tuple ? Set(mirror.children.compactMap(\.label)) : storedPaths(of: body)).union(["type"])
        }
    }

    // MARK: Refusals

    @Test("each refusal is described by its code, and the document says of each whether trying again can help", arguments: RefusalKind.allCases)
    func refusals(kind: RefusalKind) throws {
        #expect(kind.refusal.code == kind.rawValue)
        let schema = try #require(try DescribedProtocol().schemas["refusal.\(kind.rawValue)"])
        let properties = try #require(schema["properties"] as? [String: [String: Any]])
        #expect(properties["code"]?["const"] as? String == kind.rawValue)
        #expect(properties["retry"]?["const"] as? Bool == kind.refusal.retry)
        #expect(properties["fourCharCode"]?["const"] as? String == kind.refusal.fourCharCode)
        #expect((properties["status"]?["const"] as? NSNumber)?.uint32Value == kind.refusal.status)
    }

    @Test("the refusals that are described are those that the code has")
    func everyRefusal() throws {
        let source = try String(contentsOf: Self.root.appending(path: "Sources/Signalling/SignallingFault.swift"), encoding: .utf8)
        let codes = Set(source.matches(of: /code: "([a-z_]+)"/).map { String($0.output.1) })
        #expect(codes.count > 30 && codes == Set(RefusalKind.allCases.map(\.rawValue)))
    }

    @Test("each kind of refusal can be met by some request, and each example of one is taken and given back")
    func refusalExamples() throws {
        let described = try DescribedProtocol()
        var met: Set<String> = []
        for (name, message) in described.messages where name.hasSuffix("error") {
            let payload = try #require(message["payload"] as? [String: Any])
            let references = try #require(payload["oneOf"] as? [[String: String]])
            // Twice the same would be met twice, and then be none of them.
            #expect(Set(references).count == references.count, "\(name)")
            for reference in references {
                met.insert(String(try #require(reference["$ref"]).split(separator: ".").last ?? ""))
            }
            for example in try described.examples(of: name) {
                let decoded = try #require(try RelayMessage.decode(bytes(example)))
                guard case .error = decoded else {
                    Issue.record("\(example) is no error")
                    continue
                }
                #expect(isSame(try parsed(decoded.encoded), example))
            }
        }
        #expect(met == Set(RefusalKind.allCases.map(\.rawValue)))
    }

    // MARK: The document

    @Test("the document refers to nothing that is not there, and every message is part of an operation")
    func references() throws {
        let described = try DescribedProtocol()
        let text = ProtocolDescription().text
        for match in text.matches(of: /"\$ref": "#\/([^"]+)"/) {
            var node: Any? = described.document
            for step in match.output.1.split(separator: "/") { node = (node as? [String: Any])?[String(step)] }
            #expect(node != nil, "\(match.output.1)")
        }
        let used = Set(text.matches(of: /"#\/channels\/session\/messages\/([^"]+)"/).map { String($0.output.1) })
        #expect(used == Set(described.messages.keys))
        #expect(described.messages.count == RequestKind.allCases.count * 3 + EventKind.allCases.count + 1)
    }

    @Test("what a relay's limits bound has that relay's values")
    func limits() throws {
        var limits = Limits()
        limits.roomNameBytesMax = 17
        let described = try DescribedProtocol(limits: limits)
        let room = described.properties(of: try described.payload(of: "join"))["room"]
        #expect((room?["maxLength"] as? NSNumber)?.intValue == 17)
    }

    @Test(
        "a document's values are written as JSON",
        arguments: [
            (DocumentNode.text("a\"\\\n\u{1}é"), #""a\"\\\u000a\u0001é""#), (.number(1e15), "1000000000000000"), (.number(0.5), "0.5"),
            (["a": 1, "b": [true, "x"]], #"{"a": 1, "b": [true, "x"]}"#), (.object([]), "{}"), (.verbatim(#"{"a":1}"#), #"{"a":1}"#),
        ] as [(DocumentNode, String)])
    func written(node: DocumentNode, json: String) {
        #expect(node.json == json)
    }

    @Test("what does not fit on a line is broken, and reads back the same")
    func broken() throws {
        let long = String(repeating: "x", count: 90)
        let node: DocumentNode = ["list": [.text(long), .text(long)], "short": 1]
        #expect(node.json.split(separator: "\n").count == 7)
        #expect(isSame(try parsed(Array(node.json.utf8)), ["list": [long, long], "short": 1]))
    }
}
