/// Every command of the program. Parsing, help pages and completions are made from this one table, so that they cannot differ.
enum CommandTable {
    static var root: Command {
        Command(
            group: spec,
            [
                ServeCommand.command, PublishCommand.command, ListenCommand.command, RoomCommand.command, PairCommand.command, CACommand.command,
                EnrollCommand.command, CheckCommand.command, LoadCommand.command, DescribeCommand.command, CompletionsCommand.command,
            ])
    }

    private static let spec = CommandSpec(
        name: "segue",
        summary: "a real-time media relay over WebSocket and TLS",
        text: [
            "One program: the relay, its certificate authority, and clients that publish media files and save what they hear.",
            "Start with 'segue serve' in one terminal: without a configuration it makes its own certificates, listens on this machine only, and prints "
                + "the commands to type next.",
            "Exit codes: " + ExitCode.allCases.map { "\($0.rawValue) \($0.meaning)" }.joined(separator: "; ") + ".",
        ],
        options: [.flag("--version", "Show the version and those of the libraries.")],
        examples: [
            .init("segue serve", "A relay for development on 127.0.0.1:8443."),
            .init("segue help ca issue", "What a command does and takes."),
        ])
}

/// `segue completions SHELL`.
enum CompletionsCommand {
    static var command: Command { Command(spec, run: run) }

    private static let spec = CommandSpec(
        name: "completions",
        summary: "print a completion script for a shell",
        operand: OperandSpec(
            name: "SHELL", help: "Which shell.", minimum: 1, maximum: 1, choices: Completions.Shell.allCases.map(\.rawValue)),
        examples: [
            .init("source <(segue completions bash)", "For this bash; put the line into ~/.bashrc to keep it."),
            .init("segue completions fish > ~/.config/fish/completions/segue.fish", "For fish, for good."),
        ])

    private static func run(_ arguments: Arguments) throws -> ExitCode {
        guard let shell = arguments.operands.first.flatMap(Completions.Shell.init(rawValue:)) else { throw UsageFault.missingOperand("SHELL") }
        Console.text(Completions.script(shell, CommandTable.root.spec))
        return .ok
    }
}
