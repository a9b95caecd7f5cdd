import FoundationEssentials
import Glibc

/// One command: what it takes, and what it does.
struct Command: Sendable {
    let spec: CommandSpec
    let run: @Sendable (Arguments) throws -> ExitCode
}

/// The one executable. Commands are found by their first words; help, completion and parsing come from their descriptions.
@main
struct Segue {
    static let version = "0.1.0"

    /// By the words that lead to each command.
    static let commands: [String: Command] = [
        "publish": PublishCommand.command,
        "listen": ListenCommand.command,
    ]

    static let spec = CommandSpec(
        name: "segue", summary: "a real-time media relay over WebSocket and TLS.",
        text: [
            "A relay takes media frames from a publisher whom it knows by certificate and hands them to everybody in the room. Start one with "
                + "`segue serve`: it tells what to type next.",
            "Exit codes: " + ExitCode.allCases.map { "\($0.rawValue) \($0.meaning)" }.joined(separator: "; ") + ".",
        ],
        options: [.flag("--version", "Show the version.")],
        subcommands: [PublishCommand.command.spec, ListenCommand.command.spec])

    static func main() {
        // A peer that is gone is a fault of one write, not the end of the process.
        signal(SIGPIPE, SIG_IGN)
        exit(run(Array(CommandLine.arguments.dropFirst())).rawValue)
    }

    static func run(_ words: [String]) -> ExitCode {
        var spec = spec
        var path = [spec.name]
        var rest = words[...]
        do {
            while !spec.subcommands.isEmpty {
                guard let word = rest.first else { throw UsageFault.missingCommand }
                if word == "--help" || word == "-h" {
                    Console.text(HelpText.page(spec, path: path))
                    return .ok
                }
                if word == "--version", path.count == 1 {
                    Console.out("segue \(version)")
                    return .ok
                }
                guard let next = spec.subcommands.first(where: { $0.name == word }) else {
                    if word.hasPrefix("-") { throw UsageFault.unknownOption(word, suggestion: nil) }
                    throw UsageFault.unknownCommand(word, suggestion: Suggestion.closest(to: word, among: spec.subcommands.map(\.name)))
                }
                spec = next
                path.append(next.name)
                rest = rest.dropFirst()
            }
            let arguments = try Arguments.parse(Array(rest), spec)
            if arguments.wantsHelp {
                Console.text(HelpText.page(spec, path: path))
                return .ok
            }
            guard let command = commands[path.dropFirst().joined(separator: " ")] else { preconditionFailure("a command without a body: \(path)") }
            return try command.run(arguments)
        } catch let fault as UsageFault {
            Console.error("\(path.joined(separator: " ")): \(fault)")
            Console.error("Usage: \(HelpText.usage(spec, path: path))")
            Console.error("`\(path.joined(separator: " ")) --help` tells more.")
            return .usage
        } catch let failure as CommandFailure {
            Console.error("\(path.joined(separator: " ")): \(failure.message)")
            return failure.code
        } catch {
            Console.error("\(path.joined(separator: " ")): \(error)")
            return .failure
        }
    }
}
