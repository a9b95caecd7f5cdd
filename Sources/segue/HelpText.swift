/// Help pages from command descriptions.
enum HelpText {
    private static let width = 96

    /// - Parameter path: the words that lead to the command, `["segue", "ca", "issue"]`.
    static func page(_ spec: CommandSpec, path: [String]) -> String {
        var lines = ["\(path.joined(separator: " ")): \(spec.summary)", "", "Usage: \(usage(spec, path: path))"]
        for paragraph in spec.text { lines += [""] + wrapped(paragraph, indent: 0) }
        if !spec.subcommands.isEmpty {
            lines += ["", "Commands:"] + table(spec.subcommands.map { ($0.name, $0.summary) })
        }
        if let operand = spec.operand {
            lines += ["", "Operands:"] + table([(operand.name, help(operand.help, operand.choices))])
        }
        let options = spec.options.map { option in
            (
                option.value.map { "\(option.name) \($0)" } ?? option.name,
                help(option.help, option.choices) + (option.isRepeatable ? " (repeatable)" : "")
            )
        }
        lines += ["", "Options:"] + table(options + [("--help", "Show this page.")])
        if !spec.examples.isEmpty {
            lines += ["", "Examples:"]
            for example in spec.examples { lines += wrapped(example.explanation, indent: 2) + ["    \(example.command)"] }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    static func usage(_ spec: CommandSpec, path: [String]) -> String {
        var words = path
        if !spec.subcommands.isEmpty { words.append("COMMAND") }
        words.append("[OPTION]…")
        if let operand = spec.operand {
            let name = operand.maximum > 1 ? "\(operand.name)…" : operand.name
            words.append(operand.minimum > 0 ? name : "[\(name)]")
        }
        return words.joined(separator: " ")
    }

    private static func help(_ text: String, _ choices: [String]) -> String {
        choices.isEmpty ? text : "\(text) One of: \(choices.joined(separator: ", "))."
    }

    private static func table(_ rows: [(String, String)]) -> [String] {
        let left = min(28, rows.map { $0.0.count }.max() ?? 0)
        var lines: [String] = []
        for (name, text) in rows {
            let body = wrapped(text, indent: left + 4)
            if name.count > left {
                lines.append("  " + name)
                lines += body
            } else {
                lines.append("  " + name + String(repeating: " ", count: left - name.count + 2) + (body.first ?? "").drop { $0 == " " })
                lines += body.dropFirst()
            }
        }
        return lines
    }

    static func wrapped(_ text: String, indent: Int) -> [String] {
        let margin = String(repeating: " ", count: indent)
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, indent + line.count + 1 + word.count > width {
                lines.append(margin + line)
                line = ""
            }
            line += line.isEmpty ? String(word) : " " + word
        }
        if !line.isEmpty { lines.append(margin + line) }
        return lines
    }
}
