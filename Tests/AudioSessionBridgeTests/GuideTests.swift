import AudioSessionBridge
import Foundation
import Testing

/// Holds the guide's tables to the mapping.
@Suite("Guide for iOS")
struct GuideTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// The rows of the table under a heading, each as its cells.
    private static func rows(under heading: String) throws -> [[String]] {
        let lines = try text("Sources/IOS-BRIDGE.md").split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let start = try #require(lines.firstIndex(of: heading), "\(heading) is a heading of the guide")
        let end = lines[(start + 1)...].firstIndex { $0.hasPrefix("## ") } ?? lines.endIndex
        let rows = lines[start..<end].filter { $0.hasPrefix("|") }.dropFirst(2)
        try #require(!rows.isEmpty)
        return rows.map { $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
    }

    /// What stands in backticks in a cell.
    private static func words(_ cell: String) -> [String] {
        cell.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) }
    }

    private static func types(in path: String) throws -> Set<String> {
        Set(try text(path).matches(of: /"([a-z][A-Za-z]*\.[A-Za-z]+)"/).map { String($0.output.1) })
    }

    @Test("every notification and every key of the platform's has its row, and no other")
    func notifications() throws {
        let rows = try Self.rows(under: "## From the platform to the relay")
        #expect(Set(rows.flatMap { Self.words($0[0]) }) == Set(PlatformNotification.allCases.map(\.rawValue)))
        #expect(Set(rows.flatMap { Self.words($0[1]) }) == Set(PlatformKey.allCases.map(\.rawValue)))
    }

    /// From Apple's documentation of AVAudioSession and AVAudioApplication, not from the bridge.
    private static let documented: Set = [
        "AVAudioSessionInterruptionNotification", "AVAudioSessionRouteChangeNotification", "AVAudioSessionSilenceSecondaryAudioHintNotification",
        "AVAudioSessionMediaServicesWereLostNotification", "AVAudioSessionMediaServicesWereResetNotification",
        "AVAudioSessionRenderingModeChangeNotification", "AVAudioSessionRenderingCapabilitiesChangeNotification",
        "AVAudioSessionSpatialPlaybackCapabilitiesChangedNotification", "AVAudioSessionMicrophoneInjectionCapabilitiesChangeNotification",
        "AVAudioSessionAvailableInputsChangeNotification", "AVAudioApplicationInputMuteStateChangeNotification",
    ]

    @Test("the bridge observes what the platform's documentation has")
    func documentedNotifications() {
        #expect(Set(PlatformNotification.allCases.map(\.rawValue)) == Self.documented)
    }

    @Test("every message of a row is a request that the relay reads")
    func requests() throws {
        let known = try Self.types(in: "Sources/Signalling/IncomingRequest.swift")
        let told = try Self.rows(under: "## From the platform to the relay").flatMap { Self.words($0[3]) }
            .compactMap { $0.split(separator: "{").first.map { $0.trimmingCharacters(in: .whitespaces) } }
        #expect(!told.isEmpty && Set(told).isSubset(of: known), "\(Set(told).subtracting(known).sorted())")
        let sent = try ["SessionBridge", "SessionBridge+Relay"].flatMap { file in
            try Self.text("Sources/AudioSessionBridge/\(file).swift").matches(of: /"([a-z]+\.[a-zA-Z]+)"/).map { String($0.output.1) }
        }
        #expect(Set(sent).isSubset(of: known))
        let rows = try Self.rows(under: "## From the platform to the relay") + Self.rows(under: "## From the app to the relay")
        let inTables = Set(
            rows.flatMap { $0.flatMap(Self.words) }.compactMap { $0.split(separator: "{").first.map { $0.trimmingCharacters(in: .whitespaces) } })
        #expect(Set(sent).isSubset(of: inTables), "\(Set(sent).subtracting(inTables).sorted()) is sent and has no row")
    }

    @Test("every event of the relay's has its row, which names what the app does")
    func events() throws {
        let rows = try Self.rows(under: "## From the relay to the app")
        #expect(Set(rows.flatMap { Self.words($0[0]) }) == Set(RelayEventType.allCases.map(\.rawValue)))
        let known = try Self.types(in: "Sources/Signalling/RelayMessage+Coding.swift")
        #expect(Set(RelayEventType.allCases.map(\.rawValue)).isSubset(of: known))
        let actions = Set(
            try Self.text("Sources/AudioSessionBridge/AppAction.swift").matches(of: /(?m)^    case (\w+)(\(|$)/).map { String($0.output.1) })
        let told = Set(rows.flatMap { Self.words($0[1]) })
        #expect(!told.isEmpty && told.isSubset(of: actions), "\(told.subtracting(actions).sorted())")
        let platform = Set(try Self.rows(under: "## From the platform to the relay").flatMap { Self.words($0[4]) })
        #expect(platform.isSubset(of: actions), "\(platform.subtracting(actions).sorted())")
        let refused = Set(try Self.rows(under: "## Refusals").flatMap { Self.words($0[1]) })
        #expect(refused.isSubset(of: actions), "\(refused.subtracting(actions).sorted())")
        let inTables = told.union(platform).union(refused)
        #expect(inTables == actions, "\(actions.subtracting(inTables).sorted()) has no row")
    }
}
