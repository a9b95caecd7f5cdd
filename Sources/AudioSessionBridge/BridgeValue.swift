/// A value of a JSON message, without Foundation: so that the mapping is tested where there is none of Apple's frameworks.
public enum BridgeValue: Hashable, Sendable {
    case flag(Bool)
    case number(Double)
    case text(String)
    case list([BridgeValue])
    case object([String: BridgeValue])

    /// The value as JSON (RFC 8259). What is no number there, as infinity, is null.
    public var json: String {
        switch self {
        case .flag(let flag): flag ? "true" : "false"
        case .number(let number): BridgeValue.json(number)
        case .text(let text): BridgeValue.json(text)
        case .list(let values): "[" + values.map(\.json).joined(separator: ",") + "]"
        case .object(let members):
            "{" + members.sorted { $0.key < $1.key }.map { "\(BridgeValue.json($0.key)):\($0.value.json)" }.joined(separator: ",") + "}"
        }
    }

    var flag: Bool? { if case .flag(let flag) = self { flag } else { nil } }
    var number: Double? { if case .number(let number) = self { number } else { nil } }
    var text: String? { if case .text(let text) = self { text } else { nil } }
    subscript(member: String) -> BridgeValue? { if case .object(let members) = self { members[member] } else { nil } }

    private static func json(_ number: Double) -> String {
        guard number.isFinite else { return "null" }
        // Whole numbers as such, as far as a Float64 holds them all.
        guard abs(number) < 9_007_199_254_740_992, number == number.rounded() else { return "\(number)" }
        return "\(Int64(number))"
    }

    private static func json(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\u{0}"..."\u{1F}":
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}

/// A message to the relay, without its `id`: keep it by the `id` that it is sent with, and hand it back with the answer.
public struct BridgeRequest: Hashable, Sendable {
    public let type: String
    public let members: [String: BridgeValue]
    /// It belongs to making the relay's session anew.
    private(set) var isPartOfCreation = false

    init(_ type: String, _ members: [String: BridgeValue] = [:]) {
        self.type = type
        self.members = members
    }

    var creating: BridgeRequest {
        var request = self
        request.isPartOfCreation = true
        return request
    }

    /// The text message. The number is the app's: it counts all its requests, and keeps this one until ``SessionBridge/answered(_:_:)``.
    public func json(id: UInt32) -> String {
        var all = members
        all["type"] = .text(type)
        all["id"] = .number(Double(id))
        return BridgeValue.object(all).json
    }
}
