/// What is wrong with a command line.
enum UsageFault: Error, Equatable, CustomStringConvertible {
    case unknownCommand(String, suggestion: String?)
    case missingCommand
    case unknownOption(String, suggestion: String?)
    case missingValue(String)
    case unexpectedValue(String)
    case repeated(String)
    case badChoice(option: String, value: String, choices: [String])
    case badNumber(option: String, value: String, range: String)
    case missingOption(String)
    case missingOperand(String)
    case unexpectedOperand(String)
    case conflict(String)

    var description: String {
        switch self {
        case .unknownCommand(let name, let suggestion): "there is no command '\(name)'" + UsageFault.hint(suggestion)
        case .missingCommand: "a command is needed"
        case .unknownOption(let name, let suggestion): "there is no option '\(name)'" + UsageFault.hint(suggestion)
        case .missingValue(let name): "\(name) needs a value"
        case .unexpectedValue(let name): "\(name) takes no value"
        case .repeated(let name): "\(name) may be given once only"
        case .badChoice(let option, let value, let choices): "\(option): '\(value)' is none of \(choices.joined(separator: ", "))"
        case .badNumber(let option, let value, let range): "\(option): '\(value)' is not a number \(range)"
        case .missingOption(let name): "\(name) must be given"
        case .missingOperand(let name): "\(name) must be given"
        case .unexpectedOperand(let text): "'\(text)' is one too many"
        case .conflict(let text): text
        }
    }

    private static func hint(_ suggestion: String?) -> String {
        suggestion.map { "; did you mean '\($0)'?" } ?? ""
    }
}

/// The parsed arguments of one command.
struct Arguments: Equatable {
    private(set) var values: [String: [String]] = [:]
    private(set) var switches: Set<String> = []
    private(set) var operands: [String] = []
    /// `--help` was there: nothing else was checked.
    private(set) var wantsHelp = false

    /// Parses what follows a command's name.
    ///
    /// Values follow their option or its `=`; `--` ends the options; `-` alone is an operand.
    static func parse(_ words: [String], _ spec: CommandSpec) throws(UsageFault) -> Arguments {
        var result = Arguments()
        var words = words[...]
        var takesOptions = true
        while let word = words.popFirst() {
            if takesOptions, word == "--" {
                takesOptions = false
            } else if takesOptions, word == "--help" || word == "-h" {
                result.wantsHelp = true
                return result
            } else if takesOptions, word.hasPrefix("-"), word != "-" {
                try result.take(option: word, &words, spec)
            } else {
                result.operands.append(word)
            }
        }
        try result.checkOperands(spec.operand)
        return result
    }

    private mutating func take(option word: String, _ rest: inout ArraySlice<String>, _ spec: CommandSpec) throws(UsageFault) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0])
        guard let option = spec.option(name) else {
            throw .unknownOption(name, suggestion: Suggestion.closest(to: name, among: spec.options.map(\.name)))
        }
        guard option.value != nil else {
            guard parts.count == 1 else { throw .unexpectedValue(name) }
            switches.insert(name)
            return
        }
        let value: String
        if parts.count == 2 {
            value = String(parts[1])
        } else {
            guard let next = rest.popFirst() else { throw .missingValue(name) }
            value = next
        }
        if !option.choices.isEmpty, !option.choices.contains(value) { throw .badChoice(option: name, value: value, choices: option.choices) }
        if !option.isRepeatable, values[name] != nil { throw .repeated(name) }
        values[name, default: []].append(value)
    }

    private func checkOperands(_ spec: OperandSpec?) throws(UsageFault) {
        guard let spec else {
            if let first = operands.first { throw .unexpectedOperand(first) }
            return
        }
        if operands.count < spec.minimum { throw .missingOperand(spec.name) }
        if operands.count > spec.maximum { throw .unexpectedOperand(operands[spec.maximum]) }
        for operand in operands where !spec.choices.isEmpty && !spec.choices.contains(operand) {
            throw .badChoice(option: spec.name, value: operand, choices: spec.choices)
        }
    }

    // MARK: Values

    func has(_ name: String) -> Bool { switches.contains(name) }

    func string(_ name: String) -> String? { values[name]?.last }

    func strings(_ name: String) -> [String] { values[name] ?? [] }

    func required(_ name: String) throws(UsageFault) -> String {
        guard let value = string(name) else { throw .missingOption(name) }
        return value
    }

    func integer(_ name: String, in range: ClosedRange<Int>) throws(UsageFault) -> Int? {
        guard let text = string(name) else { return nil }
        guard let value = Int(text), range.contains(value) else {
            throw .badNumber(option: name, value: text, range: "from \(range.lowerBound) to \(range.upperBound)")
        }
        return value
    }

    /// A positive number with or without a fraction.
    func positive(_ name: String, max: Double) throws(UsageFault) -> Double? {
        guard let text = string(name) else { return nil }
        guard let value = Double(text), value.isFinite, value > 0, value <= max else {
            throw .badNumber(option: name, value: text, range: "above 0, up to \(Int(max))")
        }
        return value
    }
}

/// "Did you mean": the nearest of several names by edit distance (Levenshtein).
enum Suggestion {
    static func closest(to word: String, among names: [String]) -> String? {
        let ranked = names.map { (name: $0, distance: distance(word, $0)) }.min { $0.distance < $1.distance }
        guard let ranked, ranked.distance <= max(2, word.utf8.count / 3) else { return nil }
        return ranked.name
    }

    static func distance(_ left: String, _ right: String) -> Int {
        let right = Array(right.utf8.prefix(64))
        var row = Array(0...right.count)
        for (line, byte) in left.utf8.prefix(64).enumerated() {
            var diagonal = row[0]
            row[0] = line + 1
            for column in right.indices {
                let substituted = diagonal + (right[column] == byte ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(substituted, row[column] + 1, diagonal + 1)
            }
        }
        return row[right.count]
    }
}
