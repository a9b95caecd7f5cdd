import Foundation
import RelayServer
import Signalling
import Testing

@testable import segue

@Suite("Scripts of audio sessions: the file")
struct ListenScriptTests {
    private static let scripts = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(
            path: "Deploy/scripts")

    private static func step(_ text: String) throws -> ScriptStep {
        try #require(try ListenScript(text: Array("{steps: [\(text)]}".utf8)).steps.first)
    }

    private static func faults(_ text: String) -> [String] {
        do {
            _ = try ListenScript(text: Array(text.utf8))
            return []
        } catch {
            return error.faults.map(\.path)
        }
    }

    @Test("the scripts that come along are without fault")
    func examples() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.scripts.path).filter { $0.hasSuffix(".json5") }
        #expect(names.count >= 5)
        for name in names {
            let text = try Data(contentsOf: Self.scripts.appending(path: name))
            #expect(throws: Never.self, "\(name)") { try ListenScript(text: Array(text)) }
        }
    }

    @Test("call.json5 explains every word that a step can be")
    func words() throws {
        let text = try String(contentsOf: Self.scripts.appending(path: "call.json5"), encoding: .utf8)
        for word in ScriptWord.allCases {
            let last = "." + (word.rawValue.split(separator: ".").last ?? "")
            #expect(text.contains(word.rawValue) || text.contains(last), "\(word.rawValue)")
        }
    }

    @Test("README.md of the scripts explains every kind of line, and every member that a line can have")
    func lines() throws {
        let text = try String(contentsOf: Self.scripts.appending(path: "README.md"), encoding: .utf8)
        for kind in ScriptLine.Kind.allCases { #expect(text.contains("| `\(kind.rawValue)` |"), "\(kind.rawValue)") }
        let line = ScriptLine(.summary, at: 0)
        let media = MediaStart(stream: 1, kind: "audio", key: true, discontinuity: true, configured: true)
        let members = [Mirror(reflecting: line), Mirror(reflecting: media)].flatMap { $0.children.compactMap(\.label) }
        #expect(members.count > 20)
        for member in members { #expect(text.contains("`\(member)`"), "\(member)") }
    }

    @Test("a line's time is told in seconds, for people and for programs", arguments: [(0.0, "0.000 s"), (0.25, "0.250 s"), (61.5, "61.500 s")])
    func seconds(at: Double, text: String) throws {
        let line = ScriptLine(.mediaUnexpected, at: at)
        #expect(line.sentence { "\($0)" }.hasPrefix(text))
        let encoded = try JSONDecoder().decode(JSONValue.self, from: JSONEncoder().encode(line))
        #expect(encoded == .object(["event": .string("media.unexpected"), "at": .number(at)]))
    }

    struct Request: Sendable {
        let text: String
        let request: ClientRequest

        init(_ text: String, _ request: ClientRequest) {
            self.text = text
            self.request = request
        }
    }

    private static let requests = [
        Request("do: 'session.init'", .sessionInit),
        Request(
            "do: 'session.setCategory', category: 'plar', mode: 'videoChat', options: ['mixWithOthers', 'defaultToSpeaker']",
            .setCategory(.init(category: "playAndRecord", mode: "videoChat", options: 9))),
        Request("do: 'session.setCategory', category: 'playback', options: 17", .setCategory(.init(category: "playback", options: 17))),
        Request(
            "do: 'session.setActive', active: true, background: true, priority: 100",
            .setActive(.init(active: true, background: true, priority: 100))),
        Request(
            "do: 'session.setActive', active: false, force: true, notifyOthersOnDeactivation: true",
            .setActive(.init(active: false, notifyOthersOnDeactivation: true, force: true))),
        Request("do: 'interruption.began', reason: 'builtInMicMuted'", .interruptionBegan(.init(reason: "builtInMicMuted"))),
        Request("do: 'interruption.began'", .interruptionBegan(.init())),
        Request("do: 'interruption.ended', shouldResume: true", .interruptionEnded(.init(shouldResume: true))),
        Request("do: 'route.changed', reason: 255, legacyRoute: 'Headset'", .routeChanged(.init(reason: 255, legacyRoute: "Headset"))),
        Request(
            "do: 'route.changed', reason: 1, route: {inputs: [], outputs: [{type: 'HDMI', sampleRate: 48000, channels: 2, latency: 0.1}]}",
            .routeChanged(
                .init(
                    reason: 1,
                    route: .init(inputs: [], outputs: [.init(type: "HDMI", sampleRate: 48_000, channels: 2, latency: 0.1)])))),
        Request("do: 'playback.pause'", .playbackPause),
        Request("do: 'playback.continue'", .playbackContinue),
        Request("do: 'stream.start', stream: 3, mediaTime: 960", .streamStart(.init(stream: 3, at: 960))),
        Request("do: 'stream.prime', stream: 3", .streamPrime(.init(stream: 3))),
        Request("do: 'stream.pause', stream: 3", .streamPause(.init(stream: 3))),
        Request("do: 'stream.stop', stream: 3, mode: 'drain'", .streamStop(.init(stream: 3, mode: .drain))),
        Request("do: 'stream.flush', stream: 3", .streamFlush(.init(stream: 3))),
        Request("do: 'stream.reset', stream: 3", .streamReset(.init(stream: 3))),
        Request(
            "do: 'stream.setParameters', stream: 3, volume: 0.5, rampMilliseconds: 20, rate: 2, pan: -1",
            .setParameters(
                {
                    var body = ClientRequest.SetParameters(stream: 3)
                    body.volume = 0.5
                    body.rampMilliseconds = 20
                    body.rate = 2
                    body.pan = -1
                    return body
                }())),
        Request("do: 'subscribe'", .subscribe(.init(streams: nil, all: true, delivery: nil))),
        Request("do: 'subscribe', stream: 3", .subscribe(.init(streams: [3], all: nil, delivery: nil))),
        Request("do: 'unsubscribe', stream: 3", .unsubscribe(.init(streams: [3], all: nil))),
    ]

    @Test("a step that is a request is that request of the protocol", arguments: requests)
    func request(_ expected: Request) throws {
        guard case .request(let request, .ok) = try Self.step("{\(expected.text)}").action else {
            Issue.record("no request")
            return
        }
        let asked = if case .number(let id) = request.stream { request.about(id) } else { request.request }
        #expect(asked == expected.request)
    }

    @Test("every request of audio sessions can be played")
    func allRequests() {
        let played = Set(ScriptWord.allCases.map(\.rawValue))
        for request in Self.requests { #expect(played.contains(request.request.type)) }
        #expect(Set(Self.requests.map(\.request.type)).count == 17)
    }

    @Test("streams go by number or by kind")
    func streams() throws {
        guard case .request(let request, .refusal(let code)) = try Self.step("{do: 'stream.start', stream: 'video', refused: 'category'}").action
        else {
            Issue.record("no request")
            return
        }
        #expect(request.stream == .newest(.video) && code == "category")
        #expect(request.about(9) == .streamStart(.init(stream: 9)))
    }

    @Test(
        "times",
        arguments: [
            ("'2s'", UInt64(2_000_000_000)), ("'1.5s'", 1_500_000_000), ("'200ms'", 200_000_000), ("'2min'", 120_000_000_000), ("3", 3_000_000_000),
            ("0.25", 250_000_000), ("'0s'", 0),
        ])
    func times(_ text: String, _ nanoseconds: UInt64) throws {
        #expect(try Self.step("{at: \(text), do: 'reconnect'}").start == .at(nanoseconds: nanoseconds))
        #expect(try Self.step("{after: \(text), do: 'renew'}").start == .after(nanoseconds: nanoseconds))
        #expect(try Self.step("{do: 'stay', for: \(text)}").action == .stay(nanoseconds: nanoseconds))
    }

    @Test("a step without a time follows at once")
    func atOnce() throws {
        #expect(try Self.step("{do: 'disconnect'}").start == .after(nanoseconds: 0))
    }

    @Test(
        "each fault is told with its path",
        arguments: [
            ("[]", "(script)"), ("{", "(script)"), ("{}", "steps"), ("{steps: []}", "steps"), ("{steps: [3]}", "steps[0]"),
            ("{steps: [{do: 'reconnect'}], color: 1}", "color"),
            ("{steps: [{do: 'reconnect'}], device: '\(String(repeating: "d", count: 65))'}", "device"),
            ("{steps: [{}]}", "steps[0].do"), ("{steps: [{do: 'ring'}]}", "steps[0].do"), ("{steps: [{do: 3}]}", "steps[0].do"),
            ("{steps: [{do: 'reconnect', loud: true}]}", "steps[0].loud"),
            ("{steps: [{do: 'reconnect', at: '2 years'}]}", "steps[0].at"), ("{steps: [{do: 'reconnect', at: -1}]}", "steps[0].at"),
            ("{steps: [{do: 'reconnect', at: '1e300s'}]}", "steps[0].at"), ("{steps: [{do: 'reconnect', at: 'nans'}]}", "steps[0].at"),
            ("{steps: [{do: 'reconnect', at: 1, after: 1}]}", "steps[0].after"), ("{steps: [{do: 'stay'}]}", "steps[0].for"),
            ("{steps: [{do: 'session.setCategory', category: 'loud'}]}", "steps[0].category"),
            ("{steps: [{do: 'session.setCategory', category: 'playback', mode: 'loud'}]}", "steps[0].mode"),
            ("{steps: [{do: 'session.setCategory', category: 'playback', options: ['loud']}]}", "steps[0].options"),
            ("{steps: [{do: 'session.setCategory', category: 'playback', options: -1}]}", "steps[0].options"),
            ("{steps: [{do: 'session.setActive'}]}", "steps[0].active"),
            ("{steps: [{do: 'session.setActive', active: true, priority: 101}]}", "steps[0].priority"),
            ("{steps: [{do: 'interruption.began', reason: 'hunger'}]}", "steps[0].reason"),
            ("{steps: [{do: 'route.changed'}]}", "steps[0].reason"), ("{steps: [{do: 'route.changed', reason: 1e12}]}", "steps[0].reason"),
            ("{steps: [{do: 'route.changed', reason: 1, route: {outputs: [{type: 'horn'}]}}]}", "steps[0].route.outputs[0].type"),
            ("{steps: [{do: 'route.changed', reason: 1, route: {}, legacyRoute: ''}]}", "steps[0].legacyRoute"),
            ("{steps: [{do: 'stream.pause'}]}", "steps[0].stream"), ("{steps: [{do: 'stream.pause', stream: 'smell'}]}", "steps[0].stream"),
            ("{steps: [{do: 'stream.pause', stream: 4294967296}]}", "steps[0].stream"),
            ("{steps: [{do: 'stream.setParameters', stream: 1, volume: 2}]}", "steps[0].volume"),
            ("{steps: [{do: 'microphone'}]}", "steps[0].sends"), ("{steps: [{do: 'wait'}]}", "steps[0].event"),
            ("{steps: [{do: 'wait', event: 'interuption.ended'}]}", "steps[0].event"),
            ("{steps: [{do: 'wait', event: 'lost', with: 3}]}", "steps[0].with"), ("{steps: [{do: 'expect'}]}", "steps[0].do"),
            ("{steps: [{do: 'expect', session: 'asleep'}]}", "steps[0].session"), ("{steps: [{do: 'expect', media: 'loud'}]}", "steps[0].media"),
            ("{steps: [{do: 'expect', session: 'active', unexpectedFramesMax: 0, for: 1}]}", "steps[0].for"),
            ("{steps: [{do: 'expect', noEvent: 'nothing'}]}", "steps[0].noEvent"),
        ])
    func faults(_ text: String, _ path: String) {
        #expect(Self.faults(text) == [path])
    }

    @Test("all faults at once")
    func allFaults() {
        let found = Self.faults(
            "{device: 1, steps: [{do: 'ring', at: 1}, {do: 'stay', for: 'x'}, {do: 'wait', event: 'nothing', timeout: true}, {do: 'expect', media: 1}]}"
        )
        #expect(Set(found) == ["device", "steps[0].do", "steps[1].for", "steps[2].event", "steps[2].timeout", "steps[3].media"])
    }
}
