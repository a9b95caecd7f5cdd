import Foundation
import RelayRooms
import Signalling
import Testing

@testable import segue

@Suite("Clients by command line")
struct ClientTests {
    @Test(
        "RFC 7515 §3.1 a token has three parts of base64url",
        arguments: [
            ("a.b.c", true), ("eyJh-_9.eyJz.c2ln", true), ("", false), ("a", false), ("a.b", false), ("a.b.", false), (".b.c", false),
            ("a..c", false),
            ("a.b.c.d", false), ("a.b.c=", false), ("a.b.c d", false), ("ä.b.c", false),
        ])
    func tokens(text: String, isToken: Bool) {
        #expect(ClientConnect.isCompactToken(text) == isToken)
    }

    @Test("a client without a certificate is told how to get one, in the state folder that was named")
    func missingClient() throws {
        let folder = try TemporaryFolder()
        let state = folder.file("state")
        let before = try Program.segue("listen", "--room", "demo", "--as", "nobody", "--state", state)
        #expect(before.status == 3 && before.errors.contains("segue serve --state \(state)"))
        _ = try Program.segue("ca", "init", "--state", state)
        let after = try Program.segue("listen", "--room", "demo", "--as", "nobody", "--state", state)
        #expect(after.status == 3 && after.errors.contains("`segue ca issue client nobody --state \(state)` makes it"))
        #expect(after.output.isEmpty)
    }

    @Test(
        "reasons that are a word are said in a sentence; those that are a sentence are left so",
        arguments: [
            ("admin", "an administrator has ended it"), ("token_expired", "the token has ended"), ("certificate_revoked", "is revoked"),
            ("no hello", "1008 no hello"),
        ])
    func closed(reason: String, sentence: String) {
        let failure = ClientConversation.closed(1008, reason)
        #expect(failure.code == .relay && failure.message.hasPrefix("the relay closed the session: ") && failure.message.contains(sentence))
    }

    @Test(
        "a time to wait is said in the largest unit that does it justice, rounded up",
        arguments: [
            (0, "0 s"), (1, "1 s"), (119, "119 s"), (120, "2 minutes"), (121, "3 minutes"), (7_199, "120 minutes"), (7_200, "2 hours"),
            (172_799, "48 hours"), (172_800, "2 days"), (15_768_000, "183 days"), (Int64.max, "106751991167301 days"), (-1, "-1 s"),
        ] as [(Int64, String)])
    func waiting(seconds: Int64, text: String) {
        #expect(EnrollCommand.wait(seconds: seconds) == text)
    }

    @Test(
        "somebody in a room is a number, a name, the last part of one, or a fingerprint",
        arguments: [
            ("3", [3]), ("4", [4]), ("urn:segue:client:ann", [3]), ("ann", [3]), ("ben@example.org", [4, 5]), ("AA", [4]), ("bb", [5]), ("7", []),
            ("an", []), ("", []), ("urn", []),
            // A participant that goes by a number is meant when no participant has it.
            ("12", [6]),
        ] as [(String, [UInt32])])
    func matches(text: String, numbers: [UInt32]) {
        func somebody(_ number: UInt32, _ name: String, _ fingerprint: String? = nil) -> RelayMessage.Participant {
            .init(participant: number, identity: .init(name: name, fingerprint: fingerprint, proof: .certificate), displayName: "ann")
        }
        let all = [
            somebody(3, "urn:segue:client:ann"), somebody(4, "ben@example.org", "aa"), somebody(5, "ben@example.org", "bb"),
            somebody(6, "urn:segue:client:12"),
        ]
        #expect(RoomTalk.matches(text, among: all).map(\.participant) == numbers)
    }

    @Test(
        "a pair has no choice of role, and neither has who acts as a host",
        arguments: everyCommand().filter { ["pair", "room"].contains($0.path.dropFirst().first ?? "") }.map(\.path))
    func roles(path: [String]) throws {
        let spec = try #require(everyCommand().first { $0.path == path }?.spec)
        #expect(spec.option("--role") == nil)
        #expect(spec.subcommands.isEmpty == (spec.option("--token-file") != nil))
    }

    @Test("what is to be typed next names the relay and the state that were named")
    func repeated() throws {
        let spec = CommandSpec(name: "code", summary: "", options: ClientConnect.options)
        #expect(ClientConnect.repeated(try Arguments.parse([], spec)).isEmpty)
        let arguments = try Arguments.parse(["--state", "/s", "--connect", "h:1", "--http", "2"], spec)
        #expect(ClientConnect.repeated(arguments) == ["--connect", "h:1", "--state", "/s"])
    }
}
