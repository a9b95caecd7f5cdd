import Testing

@testable import segue

@Suite("Help and completions")
struct HelpAndCompletionTests {
    @Test("every command of the table is there")
    func commands() {
        let paths = Set(everyCommand().map { $0.path.dropFirst().joined(separator: " ") })
        let expected: Set<String> = [
            "serve", "publish", "listen", "check", "describe", "completions", "ca", "ca init", "ca issue", "ca issue client", "ca issue server",
            "ca sign",
            "ca list",
            "ca revoke", "ca renew", "ca crl", "ca export", "room show", "room admit", "room deny", "room mute", "room unmute", "room remove",
            "room promote", "room lock", "room unlock", "room end",
        ]
        #expect(expected.isSubset(of: paths), "missing: \(expected.subtracting(paths).sorted())")
    }

    @Test("every command's help names its options, choices, operand and commands", arguments: everyCommand().map(\.path))
    func help(path: [String]) throws {
        let spec = try #require(everyCommand().first { $0.path == path }?.spec)
        let page = HelpText.page(spec, path: path)
        for option in spec.options {
            #expect(page.contains("  \(option.name)"), "\(option.name)")
            if let value = option.value { #expect(page.contains("\(option.name) \(value)")) }
            #expect(!option.help.isEmpty && option.help.hasSuffix("."), "\(option.name) is not explained by a sentence")
        }
        if let operand = spec.operand { #expect(page.contains(operand.name)) }
        for command in spec.subcommands { #expect(page.contains("  \(command.name) ")) }
        #expect(page.contains("--help"))
        #expect(!spec.summary.isEmpty)
        for line in page.split(separator: "\n") where !line.hasPrefix("    ") { #expect(line.count <= 100, "\(line)") }
    }

    @Test("every example begins with a command that exists and takes the options that it shows", arguments: everyCommand().map(\.path))
    func examples(path: [String]) throws {
        let spec = try #require(everyCommand().first { $0.path == path }?.spec)
        for example in spec.examples where example.command.hasPrefix("segue ") {
            let words = example.command.split(separator: " ").map(String.init)
            let known = everyCommand().filter { words.starts(with: $0.path) }
            let command = try #require(known.max { $0.path.count < $1.path.count }?.spec, "\(example.command)")
            for word in words where word.hasPrefix("--") {
                #expect(command.option(word) != nil || word == "--help", "\(example.command): \(word)")
            }
        }
    }

    @Test("no command has two options of one name, and every option begins with two dashes", arguments: everyCommand().map(\.path))
    func distinct(path: [String]) throws {
        let names = try #require(everyCommand().first { $0.path == path }?.spec).options.map(\.name)
        #expect(Set(names).count == names.count)
        #expect(names.allSatisfy { $0.hasPrefix("--") })
    }

    @Test("completion scripts name every command, option and choice", arguments: Completions.Shell.allCases)
    func completions(shell: Completions.Shell) {
        let script = Completions.script(shell, CommandTable.root.spec)
        for (path, spec) in everyCommand() {
            for command in spec.subcommands { #expect(script.contains(command.name)) }
            for option in spec.options {
                let name = shell == .fish ? "-l \(option.name.dropFirst(2)) " : option.name
                #expect(script.contains(name), "\(path.joined(separator: " ")) \(option.name)")
                for choice in option.choices { #expect(script.contains(choice)) }
            }
        }
    }

    @Test(
        "bash completes commands, options, and the values that an option takes",
        arguments: [
            (["segue", "ser"], "serve"), (["segue", "ca", "iss"], "issue"), (["segue", "ca", "issue", "cl"], "client"),
            (["segue", "serve", "--li"], "--listen"), (["segue", "ca", "issue", "server", "--la"], "--label"),
            (["segue", "serve", "--log", "j"], "json"),
            (["segue", "serve", "--client-certificates", "re"], "required"),
            (["segue", "ca", "revoke", "carol", "--reason", "key"], "keyCompromise"),
            (["segue", "completions", "f"], "fish"),
        ])
    func bash(words: [String], completion: String) throws {
        let script = """
            \(Completions.script(.bash, CommandTable.root.spec))
            COMP_WORDS=(\(ShellQuote.join(words))); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _segue; printf '%s\\n' "${COMPREPLY[@]}"
            """
        let result = try Program.run("bash", ["--norc", "-c", script])
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.output == completion + "\n")
    }
}
