/// What the shell can complete a value with.
enum ValueCompletion: Sendable, Equatable {
    case none
    case file
    case folder
}

/// One option of a command: the same description serves parsing, help and completion.
struct OptionSpec: Sendable, Equatable {
    /// With its dashes: `--room`.
    let name: String
    /// What stands for the value in help; `nil` for a switch.
    let value: String?
    let help: String
    var isRepeatable = false
    /// The only values that are taken; empty for any.
    var choices: [String] = []
    var completion = ValueCompletion.none

    static func flag(_ name: String, _ help: String) -> OptionSpec {
        OptionSpec(name: name, value: nil, help: help)
    }

    static func option(
        _ name: String, _ value: String, _ help: String, choices: [String] = [], completion: ValueCompletion = .none, repeatable: Bool = false
    ) -> OptionSpec {
        OptionSpec(name: name, value: value, help: help, isRepeatable: repeatable, choices: choices, completion: completion)
    }
}

/// What may stand on the command line without a name.
struct OperandSpec: Sendable, Equatable {
    let name: String
    let help: String
    let minimum: Int
    let maximum: Int
    var choices: [String] = []
    var completion = ValueCompletion.none
}

/// A command, or a group of commands.
struct CommandSpec: Sendable, Equatable {
    struct Example: Sendable, Equatable {
        let command: String
        let explanation: String

        init(_ command: String, _ explanation: String) {
            self.command = command
            self.explanation = explanation
        }
    }

    let name: String
    let summary: String
    /// Paragraphs that teach.
    var text: [String] = []
    var options: [OptionSpec] = []
    var operand: OperandSpec?
    var subcommands: [CommandSpec] = []
    var examples: [Example] = []

    func option(_ name: String) -> OptionSpec? {
        options.first { $0.name == name }
    }
}
