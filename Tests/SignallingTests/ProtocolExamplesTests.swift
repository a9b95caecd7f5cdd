import Foundation
import Testing

@testable import Signalling

/// Holds the JSON of the protocol document to the real coders: what a reader copies from it works, and says nothing that does not exist.
@Suite("Examples in PROTOCOL.md")
struct ProtocolExamplesTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The JSON objects of every ```json block of section 3, one after the other, whatever lines they take.
    private static func examples() throws -> [String] {
        let text = try String(contentsOf: root.appending(path: "Sources/PROTOCOL.md"), encoding: .utf8)
        let start = try #require(text.range(of: "\n## 3. Control messages\n"))
        let end = try #require(text.range(of: "\n## 4. ", range: start.upperBound..<text.endIndex))
        return text[start.upperBound..<end.lowerBound].matches(of: /```json\n([\s\S]*?)```/).flatMap { objects(in: $0.output.1) }
    }

    /// What stands between braces that match; text outside of them is kept as an object of its own, which no decoder takes.
    private static func objects(in block: Substring) -> [String] {
        var objects: [String] = []
        var (object, depth, isInText, isEscaped) = ("", 0, false, false)
        for character in block {
            object.append(character)
            if isInText {
                (isInText, isEscaped) = (isEscaped || character != "\"", !isEscaped && character == "\\")
            } else if character == "\"" {
                isInText = true
            } else if character == "{" {
                depth += 1
            } else if character == "}" {
                depth -= 1
                if depth == 0 {
                    objects.append(object.trimmingCharacters(in: .whitespacesAndNewlines))
                    object = ""
                }
            }
        }
        let rest = object.trimmingCharacters(in: .whitespacesAndNewlines)
        return rest.isEmpty ? objects : objects + [rest]
    }

    private struct NoMessage: Error {
        let type: String
    }

    /// What the decoders make of an example, encoded again; throws what they throw.
    private static func recoded(_ example: String) throws -> [UInt8] {
        let members = try parsed(Array(example.utf8))
        let type = members["type"] as? String ?? ""
        if members["id"] != nil, RequestKind(rawValue: type) != nil {
            let incoming = try IncomingRequest(decoding: Array(example.utf8))
            return incoming.request.encoded(id: incoming.id)
        }
        guard let message = try RelayMessage.decode(Array(example.utf8)) else { throw NoMessage(type: type) }
        return message.encoded
    }

    @Test("every JSON object of section 3 is a message that the real decoder takes, to the last member")
    func decode() throws {
        let examples = try Self.examples()
        #expect(examples.count > 50)
        for example in examples {
            do {
                let recoded = try parsed(try Self.recoded(example))
                let original = try parsed(Array(example.utf8))
                #expect(isSame(recoded, original), "\(example) comes back as \(recoded)")
            } catch {
                Issue.record("\(example): \(error)")
            }
        }
    }

    @Test(
        "an example with a member too many, one too few, or of no type is found out",
        arguments: [
            #"{"type":"leave","id":4,"tomorrow":1}"#, #"{"type":"join","id":3}"#, #"{"type":"dance","id":3}"#, #"{"type":"keepalive","bitrate":1}"#,
            #"{"type":"ok","id":2,"pair":{"pair":"c41f","basis":"code"}}"#, #"{"type":"publish","id":1,"kind":"video","codec":"vp8","prio":"low"}"#,
        ])
    func faults(example: String) throws {
        let original = try parsed(Array(example.utf8))
        let isFound = (try? parsed(try Self.recoded(example))).map { !isSame($0, original) } ?? true
        #expect(isFound)
    }

    @Test("every request and event of audio sessions has an example")
    func audioSessions() throws {
        let examples = try Self.examples()
        func isHere(_ type: String) -> Bool {
            Self.streams.contains(type) || Self.areas.contains(String(type.prefix { $0 != "." }))
        }
        let requests = RequestKind.allCases.map(\.rawValue).filter(isHere)
        let events = EventKind.allCases.map(\.rawValue).filter(isHere)
        #expect(requests.count > 12 && events.count > 12)
        for (types, areRequests) in [(requests, true), (events, false)] {
            for type in types {
                // Some requests and events share their name: only requests have an id.
                let isShown = examples.contains { $0.contains("\"type\":\"\(type)\"") && $0.contains("\"id\"") == areRequests }
                #expect(isShown, "\(type) has no example")
            }
        }
    }

    private static let areas: Set = ["session", "interruption", "duck", "silenceSecondaryAudio", "mediaServices", "route", "playback"]
    private static let streams: Set = [
        "stream.start", "stream.prime", "stream.pause", "stream.stop", "stream.flush", "stream.reset", "stream.setParameters", "stream.stopped",
        "stream.state", "format.wanted", "participant.interrupted", "participant.held", "participant.route",
    ]

    @Test("3.18 the members of resumed are in its table")
    func resumed() throws {
        let text = try String(contentsOf: Self.root.appending(path: "Sources/PROTOCOL.md"), encoding: .utf8)
        let table = try #require(text.range(of: "| Member of `resumed` | Type | |"))
        let end = try #require(text.range(of: "\n\n", range: table.upperBound..<text.endIndex))
        let rows = text[table.upperBound..<end.lowerBound]
        var whole = RelayMessage.ResumedSession(room: nil, subscribed: [], published: [], gaps: [])
        (whole.waiting, whole.session) = ("demo", RelayMessage.SessionState(state: .active))
        // Without a value, a room is the one member that this does not show.
        let members = try parsed(Array(try JSONEncoder().encode(whole))).keys + ["room"]
        for member in members { #expect(rows.contains("\n| `\(member)` |"), "\(member) has no row") }
    }

    @Test(
        "what is easily got wrong has an example",
        arguments: [
            "wishes", "bundles", "keepAliveMilliseconds", "layers", "temporalLayers", "priority", "sources", "maxLayer", "maxBitrate", "maxDelay",
            "resume",
            "congested", "recovered", "layers.wanted", "stream.report", "stream.gap", "keepalive", "authenticate",
        ])
    func coverage(word: String) throws {
        #expect(try Self.examples().contains { $0.contains("\"\(word)\"") })
    }
}
