/// Shell completion scripts from command descriptions.
enum Completions {
    enum Shell: String, CaseIterable, Sendable {
        case bash
        case zsh
        case fish
    }

    static func script(_ shell: Shell, _ root: CommandSpec) -> String {
        switch shell {
        case .bash: bash(root)
        case .zsh: "#compdef \(root.name)\nautoload -U +X bashcompinit && bashcompinit\n" + bash(root)
        case .fish: fish(root)
        }
    }

    /// Every command by the words that lead to it, without the program's name.
    private static func commands(_ spec: CommandSpec, _ path: [String] = []) -> [(path: [String], spec: CommandSpec)] {
        [(path, spec)] + spec.subcommands.flatMap { commands($0, path + [$0.name]) }
    }

    private static func bash(_ root: CommandSpec) -> String {
        var cases = ""
        var values = ""
        for (path, spec) in commands(root) {
            let key = path.joined(separator: " ")
            let words = spec.subcommands.map(\.name) + spec.options.map(\.name) + ["--help"] + (spec.operand?.choices ?? [])
            cases += "    '\(key)') words='\(words.joined(separator: " "))'; files=\(completionName(spec.operand?.completion ?? .none)) ;;\n"
            for option in spec.options where option.value != nil {
                values +=
                    "    '\(key) \(option.name)') words='\(option.choices.joined(separator: " "))'; files=\(completionName(option.completion)) ;;\n"
            }
        }
        // What the words so far lead to: a command of the first level follows none, so it is looked for behind a space.
        let steps = commands(root).dropFirst().map { entry in
            let words = entry.path.joined(separator: " ")
            return "      '\(entry.path.count == 1 ? " " : "")\(words)') command='\(words)' ;;"
        }.joined(separator: "\n")
        return """
            _\(root.name)() {
              local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" command='' words='' files=none word
              for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
                case "$command $word" in
            \(steps)
                esac
              done
              case "$command" in
            \(cases)  esac
              case "$command $previous" in
            \(values)  esac
              COMPREPLY=($(compgen -W "$words" -- "$current"))
              case "$files" in
                file) COMPREPLY+=($(compgen -f -- "$current")) ;;
                folder) COMPREPLY+=($(compgen -d -- "$current")) ;;
              esac
            }
            complete -o filenames -F _\(root.name) \(root.name)

            """
    }

    private static func completionName(_ completion: ValueCompletion) -> String {
        switch completion {
        case .none: "none"
        case .file: "file"
        case .folder: "folder"
        }
    }

    private static func fish(_ root: CommandSpec) -> String {
        var lines = ["complete -c \(root.name) -f"]
        for (path, spec) in commands(root) {
            let condition =
                path.isEmpty
                ? "__fish_use_subcommand"
                : path.map { "__fish_seen_subcommand_from \($0)" }.joined(separator: "; and ")
            for command in spec.subcommands {
                lines.append("complete -c \(root.name) -n '\(condition)' -a \(command.name) -d \(quoted(command.summary))")
            }
            for option in spec.options {
                var line = "complete -c \(root.name) -n '\(condition)' -l \(option.name.dropFirst(2)) -d \(quoted(option.help))"
                if option.value != nil { line += option.completion == .none ? " -x" : " -r -F" }
                if !option.choices.isEmpty { line += " -a \(quoted(option.choices.joined(separator: " ")))" }
                lines.append(line)
            }
            guard let operand = spec.operand else { continue }
            if operand.completion != .none { lines.append("complete -c \(root.name) -n '\(condition)' -F") }
            if !operand.choices.isEmpty {
                lines.append("complete -c \(root.name) -n '\(condition)' -a \(quoted(operand.choices.joined(separator: " ")))")
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func quoted(_ text: String) -> String {
        "'" + text.map { $0 == "'" || $0 == "\\" ? "\\\($0)" : String($0) }.joined() + "'"
    }
}
