import Glibc
import TLSTransport

/// The one executable. Parsing, help pages and completions are made from one table of commands, so that they cannot differ.
@main
struct Segue {
    static let version = SegueVersion.text

    /// Every command of the program.
    static var root: Command {
        Command(
            group: spec,
            [
                ServeCommand.command,
                CompletionsCommand.command,
            ])
    }

    private static let spec = CommandSpec(
        name: "segue",
        summary: "a real-time media relay over WebSocket and TLS",
        text: [
            "A relay takes media frames from a publisher whom it knows by certificate and hands them to everybody in the room. Start one with "
                + "'segue serve': without a configuration it makes its own certificates, listens on this machine only, and tells what to type next.",
            "Exit codes: " + ExitCode.allCases.map { "\($0.rawValue) \($0.meaning)" }.joined(separator: "; ") + ".",
        ],
        options: [.flag("--version", "Show the version and those of the libraries.")],
        examples: [
            .init("segue serve", "A relay for development on 127.0.0.1:8443."),
            .init("segue help ca issue", "What a command does and takes."),
        ])

    static func main() {
        // A peer that is gone is a fault of one write, not the end of the process.
        signal(SIGPIPE, SIG_IGN)
        // Before anything else uses the TLS library: its allocator can be chosen only while it has allocated nothing.
        LibraryMemory.prepare()
        exit(CommandDispatch(root: root).run(Array(CommandLine.arguments.dropFirst())).rawValue)
    }
}
