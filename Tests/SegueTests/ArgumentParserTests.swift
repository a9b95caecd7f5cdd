import Testing

@testable import segue

@Suite("Arguments")
struct ArgumentParserTests {
    private static let spec = CommandSpec(
        name: "try", summary: "",
        options: [
            .flag("--json", ""), .option("--room", "R", ""), .option("--listen", "A", "", repeatable: true),
            .option("--tls", "V", "", choices: ["1.2", "1.3"]),
        ],
        operand: OperandSpec(name: "FILE", help: "", minimum: 1, maximum: 2))

    @Test(
        "values follow their option or its =, and -- ends the options",
        arguments: [
            (["a", "--room", "r"], ["a"], "r"), (["--room=r", "a"], ["a"], "r"), (["--room=", "a"], ["a"], ""), (["--room=x=y", "a"], ["a"], "x=y"),
            (["--room", "--json", "a"], ["a"], "--json"), (["--room", "r", "--", "--room", "-h"], ["--room", "-h"], "r"),
            (["-", "--room", "-"], ["-"], "-"),
        ])
    func values(words: [String], operands: [String], room: String) throws {
        let arguments = try Arguments.parse(words, Self.spec)
        #expect(arguments.operands == operands)
        #expect(arguments.string("--room") == room)
        #expect(!arguments.has("--json"))
    }

    @Test("an option that may repeat keeps every value in order")
    func repeatable() throws {
        let arguments = try Arguments.parse(["--listen", "a", "x", "--listen=b"], Self.spec)
        #expect(arguments.strings("--listen") == ["a", "b"])
        #expect(arguments.strings("--room") == [])
    }

    @Test(
        "a wrong command line is told by what is wrong with it",
        arguments: [
            (["a", "--rom", "r"], UsageFault.unknownOption("--rom", suggestion: "--room")),
            (["a", "--zzzzzzzzzz"], .unknownOption("--zzzzzzzzzz", suggestion: nil)), (["a", "-j"], .unknownOption("-j", suggestion: nil)),
            (["a", "--room"], .missingValue("--room")), (["a", "--json=yes"], .unexpectedValue("--json")),
            (["a", "--room", "r", "--room", "s"], .repeated("--room")),
            (["a", "--tls", "1.1"], .badChoice(option: "--tls", value: "1.1", choices: ["1.2", "1.3"])), ([], .missingOperand("FILE")),
            (["a", "b", "c"], .unexpectedOperand("c")),
        ])
    func faults(words: [String], fault: UsageFault) {
        #expect(throws: fault) { try Arguments.parse(words, Self.spec) }
    }

    @Test(
        "--help wins over everything after it, and asks for nothing else", arguments: [["--help"], ["-h", "--nonsense"], ["a", "b", "c", "--help"]])
    func help(words: [String]) throws {
        #expect(try Arguments.parse(words, Self.spec).wantsHelp)
    }

    @Test(
        "numbers are whole, in range and nothing else",
        arguments: [("1", 1), ("64", 64), ("0", nil), ("65", nil), ("-1", nil), ("2.5", nil), ("", nil), (" 3", nil), ("99999999999999999999", nil)])
    func integers(text: String, value: Int?) throws {
        let arguments = try Arguments.parse(["a", "--room=\(text)"], Self.spec)
        if let value {
            #expect(try arguments.integer("--room", in: 1...64) == value)
        } else {
            #expect(throws: UsageFault.badNumber(option: "--room", value: text, range: "from 1 to 64")) {
                try arguments.integer("--room", in: 1...64)
            }
        }
    }

    @Test(
        "fractions are above 0 and finite",
        arguments: [("0.5", 0.5), ("10", 10), ("0", nil), ("-1", nil), ("inf", nil), ("nan", nil), ("10.1", nil), ("x", nil)])
    func fractions(text: String, value: Double?) throws {
        let arguments = try Arguments.parse(["a", "--room=\(text)"], Self.spec)
        #expect((try? arguments.positive("--room", max: 10)) == value)
    }

    @Test(
        "the distance of two words counts insertions, removals and substitutions",
        arguments: [
            ("", "", 0), ("serve", "serve", 0), ("serv", "serve", 1), ("sevre", "serve", 2), ("listen", "", 6), ("kitten", "sitting", 3),
        ])
    func distance(left: String, right: String, expected: Int) {
        #expect(Suggestion.distance(left, right) == expected)
        #expect(Suggestion.distance(right, left) == expected)
    }
}
