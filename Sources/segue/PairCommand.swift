import FoundationEssentials
import Glibc
import RelayBase
import RelayClient
import Signalling
import TLSTransport

/// `segue pair`: makes two certificates a pair, and ends that.
enum PairCommand {
    static var command: Command {
        Command(
            group: CommandSpec(
                name: "pair", summary: "make two clients a pair, with a room that nobody else can enter",
                text: [
                    "A pair is two keys: whoever proves one of the two by its certificate may enter the pair's room, and nobody else. It is made by asking "
                        + "('request' here, 'accept' there) or by a code that one shows and the other types ('code' here, 'enter' there), where the relay's "
                        + "policy allows it. Then 'publish' and 'listen' with --room pair:… are between the two.",
                    "Compare the fingerprints that both ends print if you do not trust the relay to name your peer.",
                ],
                examples: [
                    .init("segue pair code", "As alice of the development mode: show a code and wait."),
                    .init("segue pair enter ABCD-EFGH", "As bob: type it."),
                ]),
            [code, enter, PairConsent.request, PairConsent.accept, list, revoke])
    }

    /// What every command of the group takes.
    static let options = [OptionSpec.flag("--json", "Print the pair as JSON, statement and grant included.")] + ClientConnect.options

    // MARK: Commands

    private static let code = Command(
        CommandSpec(
            name: "code", summary: "show a one-time code and wait until somebody has entered it",
            text: ["The code is good for two minutes and for one pair, as long as this command runs."],
            options: options, examples: [.init("segue pair code", "As alice.")])
    ) { arguments in
        let talk = try PairTalk(arguments, defaultName: "alice")
        let answer = try talk.request(.pairCode)
        guard let code = answer.code, let expires = answer.expires else { throw PairTalk.nonsense }
        // The code itself alone on standard output, for scripts.
        Console.out("\(code.prefix(4))-\(code.dropFirst(4))")
        let words = ["segue", "pair", "enter", "\(code.prefix(4))-\(code.dropFirst(4))"] + ClientConnect.repeated(arguments)
        Console.error("enter it on the other device: \(Console.plain(ShellQuote.join(words)))")
        let made = try talk.wait(untilUnixMilliseconds: expires, or: "nobody has entered the code") { message in
            if case .pairMade(let made) = message { made } else { nil }
        }
        return try talk.finish(made.pair)
    }

    private static let enter = Command(
        CommandSpec(
            name: "enter", summary: "enter the code that another client shows",
            text: ["Capitals, spaces and hyphens do not matter. After three wrong codes the relay takes none for two minutes."],
            options: options, operand: OperandSpec(name: "CODE", help: "The code.", minimum: 1, maximum: 4),
            examples: [.init("segue pair enter ABCD-EFGH", "As bob.")])
    ) { arguments in
        let talk = try PairTalk(arguments, defaultName: "bob")
        guard let pair = try talk.request(.pairEnter(.init(code: arguments.operands.joined()))).pair else { throw PairTalk.nonsense }
        return try talk.finish(pair)
    }

    private static let list = Command(
        CommandSpec(
            name: "list", summary: "list this client's pairs and the requests that are open",
            options: options, examples: [.init("segue pair list --as bob", "Whom bob is a pair with.")])
    ) { arguments in
        let talk = try PairTalk(arguments, defaultName: "alice")
        let answer = try talk.request(.pairList)
        if arguments.has("--json") {
            Console.json(answer)
        } else {
            for pair in answer.pairs ?? [] { try talk.show(pair) }
            for request in answer.requests ?? [] {
                let peer = Console.plain(request.identity.name)
                Console.out(
                    request.direction == .outgoing ? "asked \(peer): request \(request.request)" : "asked by \(peer): request \(request.request)")
            }
            if answer.pairs?.isEmpty != false, answer.requests?.isEmpty != false { Console.out("no pairs") }
        }
        try talk.conversation.close()
        return .ok
    }

    private static let revoke = Command(
        CommandSpec(
            name: "revoke", summary: "end a pair: its room is cut at once, and its grant is dead",
            options: ClientConnect.options,
            operand: OperandSpec(name: "PAIR", help: "The pair's number, its room, or the peer's name.", minimum: 1, maximum: 1),
            examples: [.init("segue pair revoke urn:segue:client:bob", "End the pair with bob, as alice.")])
    ) { arguments in
        let talk = try PairTalk(arguments, defaultName: "alice")
        guard let wanted = arguments.operands.first else { throw UsageFault.missingOperand("PAIR") }
        let pairs = try talk.request(.pairList).pairs ?? []
        let found = pairs.filter { [$0.pair, $0.room, $0.peer.name, $0.peer.fingerprint].contains(wanted) }
        guard let pair = found.first else { throw CommandFailure(code: .failure, message: "there is no pair '\(Console.plain(wanted))'") }
        guard found.count == 1 else {
            throw CommandFailure(code: .failure, message: "there are \(found.count) pairs with '\(Console.plain(wanted))': name one by its number")
        }
        _ = try talk.request(.pairRevoke(.init(pair: pair.pair)))
        Console.out("no pair with \(Console.plain(pair.peer.name)) any more")
        try talk.conversation.close()
        return .ok
    }
}

/// A session that a command about pairs talks to the relay over.
final class PairTalk {
    let conversation: ClientConversation
    private let asJSON: Bool
    /// Of this client's own key, as the relay has verified it.
    private let fingerprint: String

    static let nonsense = CommandFailure(code: .relay, message: "the relay's answer lacks what it must have")

    init(_ arguments: Arguments, defaultName: String) throws {
        asJSON = arguments.has("--json")
        conversation = try ClientConversation(ClientDriver(), ClientConnect(arguments, defaultName: defaultName))
        try conversation.open()
        guard let fingerprint = conversation.welcome?.identity?.fingerprint else {
            throw CommandFailure(
                code: .relay, message: "a pair is of two keys: a token alone does not do, a certificate is needed (--cert and --key)")
        }
        self.fingerprint = fingerprint
    }

    func request(_ request: ClientRequest) throws -> RelayMessage.Answer { try conversation.request(request) }

    /// Waits for news that `pick` is satisfied with.
    ///
    /// - Parameters:
    ///   - deadline: milliseconds since 1970 by the relay's clock; `nil` for no end.
    ///   - failure: what it means that the deadline has come.
    func wait<News>(untilUnixMilliseconds deadline: Double?, or failure: String, _ pick: (RelayMessage) throws -> News?) throws -> News {
        let end = deadline.map { conversation.driver.loop.now.advanced(byMilliseconds: remaining($0)) } ?? .distantFuture
        while true {
            while !conversation.news.isEmpty {
                if let found = try pick(conversation.news.removeFirst()) { return found }
            }
            guard !conversation.driver.isInterrupted else {
                try? conversation.close()
                throw CommandFailure(code: .failure, message: "interrupted")
            }
            guard conversation.driver.loop.now < end else {
                try? conversation.close()
                throw CommandFailure(code: .failure, message: failure)
            }
            try conversation.turn(until: end)
        }
    }

    /// By how the two clocks were apart when the session was opened, and a second for what lies between.
    private func remaining(_ deadline: Double) -> UInt64 {
        guard let welcome = conversation.welcome else { return 0 }
        return UInt64(exactly: max(0, min(deadline - welcome.serverTime + 1_000, 86_400_000)).rounded()) ?? 0
    }

    /// Shows the pair and ends the session.
    func finish(_ pair: RelayMessage.PairInfo) throws -> ExitCode {
        try show(pair)
        try conversation.close()
        return .ok
    }

    func show(_ pair: RelayMessage.PairInfo) throws {
        // The room's name is worked out again: a relay that names another peer than the room's is found out here.
        guard let theirs = pair.peer.fingerprint, pair.room == PairTalk.room(fingerprint, theirs) else {
            throw CommandFailure(code: .relay, message: "the relay's room is not that of this client's key and the peer's fingerprint")
        }
        if asJSON {
            Console.json(pair)
            return
        }
        Console.out("paired with \(Console.plain(pair.peer.name)), by \(pair.basis.rawValue)")
        Console.out("  their fingerprint  \(theirs)")
        Console.out("  yours              \(fingerprint)")
        Console.out("  room               \(pair.room)")
        Console.out("  pair               \(Console.plain(pair.pair))\(pair.expires.map { ", until \(PairTalk.date($0))" } ?? "")")
    }

    /// The room of two keys (protocol §3.14).
    static func room(_ first: String, _ second: String) -> String {
        let input = "segue-pair-v1\n\(min(first, second))\n\(max(first, second))"
        return "pair:" + SHA256Digest(hashing: Array(input.utf8)).hex
    }

    private static func date(_ milliseconds: Double) -> String {
        Date(timeIntervalSince1970: max(0, min(milliseconds / 1_000, 253_402_300_799))).formatted(Date.ISO8601FormatStyle())
    }
}
