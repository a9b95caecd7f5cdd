import RelayServer
import Signalling

/// `segue describe DOCUMENT`.
enum DescribeCommand {
    enum Document: String, CaseIterable {
        case asyncapi
        case openapi

        var text: String {
            switch self {
            case .asyncapi: ProtocolDescription().text
            case .openapi: APIDescription.text
            }
        }
    }

    static var command: Command { Command(spec, run: run) }

    private static let spec = CommandSpec(
        name: "describe",
        summary: "print what the relay speaks, for machines",
        text: [
            "'asyncapi' is the control messages of sessions: every request with its answers and refusals, every event, each with a schema and examples. "
                + "'openapi' is what stands below /v1 over HTTP.",
            "A running relay serves both, at /v1/asyncapi.json (with its own limits) and /v1/openapi.json.",
        ],
        operand: OperandSpec(
            name: "DOCUMENT", help: "Which document.", minimum: 1, maximum: 1, choices: Document.allCases.map(\.rawValue)),
        examples: [
            .init("segue describe asyncapi > asyncapi.json", "For generators of code and of pages, and to check messages against.")
        ])

    private static func run(_ arguments: Arguments) throws -> ExitCode {
        guard let document = arguments.operands.first.flatMap(Document.init(rawValue:)) else { throw UsageFault.missingOperand("DOCUMENT") }
        Console.text(document.text)
        return .ok
    }
}
