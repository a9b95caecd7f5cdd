/// A command: its description, and what it does or the commands below it.
struct Command: Sendable {
    enum Action: Sendable {
        case run(@Sendable (Arguments) throws -> ExitCode)
        case group([Command])
    }

    let spec: CommandSpec
    let action: Action

    /// - Parameter run: throws ``CommandFailure`` or ``UsageFault``; anything else is told as a failure.
    init(_ spec: CommandSpec, run: @escaping @Sendable (Arguments) throws -> ExitCode) {
        self.spec = spec
        action = .run(run)
    }

    /// A group, whose description lists its commands.
    init(group spec: CommandSpec, _ commands: [Command]) {
        var spec = spec
        spec.subcommands = commands.map(\.spec)
        self.spec = spec
        action = .group(commands)
    }
}

/// Finds the command that the words name, parses its arguments, runs it, and tells what went wrong.
struct CommandDispatch {
    let root: Command

    /// - Parameter words: the command line without the program's name.
    func run(_ words: [String]) -> ExitCode {
        switch words.first {
        case "--version":
            Console.out(SegueVersion.report)
            return .ok
        case "help":
            return help(Array(words.dropFirst()))
        default:
            return run(root, words[...], path: [root.spec.name])
        }
    }

    private func run(_ command: Command, _ words: ArraySlice<String>, path: [String]) -> ExitCode {
        switch command.action {
        case .group(let commands):
            return run(command, commands, words, path: path)
        case .run(let body):
            do {
                let arguments = try Arguments.parse(Array(words), command.spec)
                if arguments.wantsHelp {
                    Console.text(HelpText.page(command.spec, path: path))
                    return .ok
                }
                return try body(arguments)
            } catch {
                return CommandDispatch.tell(error, path: path)
            }
        }
    }

    private func run(_ group: Command, _ commands: [Command], _ words: ArraySlice<String>, path: [String]) -> ExitCode {
        guard let word = words.first else {
            Console.error(HelpText.page(group.spec, path: path))
            return CommandDispatch.tell(UsageFault.missingCommand, path: path)
        }
        if word == "--help" || word == "-h" {
            Console.text(HelpText.page(group.spec, path: path))
            return .ok
        }
        if let command = commands.first(where: { $0.spec.name == word }) { return run(command, words.dropFirst(), path: path + [word]) }
        let names = commands.map(\.spec.name)
        let fault =
            word.hasPrefix("-")
            ? UsageFault.unknownOption(word, suggestion: nil)
            : UsageFault.unknownCommand(word, suggestion: Suggestion.closest(to: word, among: names))
        return CommandDispatch.tell(fault, path: path)
    }

    /// `segue help ca issue` is `segue ca issue --help`.
    private func help(_ words: [String]) -> ExitCode {
        run(root, (words.filter { !$0.hasPrefix("-") } + ["--help"])[...], path: [root.spec.name])
    }

    private static func tell(_ error: any Error, path: [String]) -> ExitCode {
        let name = path.joined(separator: " ")
        switch error {
        case let fault as UsageFault:
            Console.error("\(name): \(Console.plain(fault.description))\nTry '\(name) --help'.")
            return .usage
        case let failure as CommandFailure:
            Console.error("\(name): \(failure.message)")
            return failure.code
        default:
            Console.error("\(name): \(error)")
            return .failure
        }
    }
}
