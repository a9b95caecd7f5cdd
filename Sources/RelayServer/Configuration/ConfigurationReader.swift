import FoundationEssentials

/// A fault in the configuration: where, and what is wrong. All of them are reported at once.
package struct ConfigurationFault: Error, Equatable, Sendable, CustomStringConvertible {
    package let path: String
    package let message: String
    /// The file that is at fault where that is another than the configuration's own.
    package var file: String?

    /// Without the file.
    package var text: String { "\(path): \(message)" }
    package var description: String { (file.map { "\($0): " } ?? "") + text }

    package init(path: String, message: String, file: String? = nil) {
        self.path = path
        self.message = message
        self.file = file
    }
}

/// A JSON value of any shape.
package enum JSONValue: Decodable, Equatable, Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        // Every miss costs an error: what there is most of in a long file goes first.
        if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else if let value = try? container.decode([String: JSONValue].self) {
            self = .object(value)
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if container.decodeNil() {
            self = .null
        } else {
            self = .number(try container.decode(Double.self))
        }
    }
}

/// Takes values out of a JSON object by key, collects faults with the key's path, and in the end names the keys that nobody asked for.
package struct ConfigurationReader {
    package let path: String
    private var members: [String: JSONValue]
    package private(set) var faults: [ConfigurationFault] = []

    package init(_ members: [String: JSONValue], path: String = "") {
        self.members = members
        self.path = path
    }

    private func path(of key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    package mutating func fault(_ key: String, _ message: String) {
        faults.append(ConfigurationFault(path: path(of: key), message: message))
    }

    /// Whether something is wrong with a key's value already.
    package func hasFault(below key: String) -> Bool {
        faults.contains { $0.path.hasPrefix(path(of: key)) }
    }

    package mutating func string(_ key: String) -> String? {
        switch members.removeValue(forKey: key) {
        case nil: return nil
        case .string(let value): return value
        default:
            fault(key, "must be a string")
            return nil
        }
    }

    package mutating func bool(_ key: String) -> Bool? {
        switch members.removeValue(forKey: key) {
        case nil: return nil
        case .bool(let value): return value
        default:
            fault(key, "must be true or false")
            return nil
        }
    }

    package mutating func integer(_ key: String, in range: ClosedRange<Int>) -> Int? {
        switch members.removeValue(forKey: key) {
        case nil: return nil
        case .number(let value):
            if let integer = Int(exactly: value), range.contains(integer) { return integer }
            fault(key, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
            return nil
        default:
            fault(key, "must be a whole number")
            return nil
        }
    }

    package mutating func number(_ key: String, in range: ClosedRange<Double>) -> Double? {
        switch members.removeValue(forKey: key) {
        case nil: return nil
        case .number(let value) where range.contains(value): return value
        default:
            fault(key, "must be a number from \(range.lowerBound) to \(range.upperBound)")
            return nil
        }
    }

    /// A value of any shape, for whoever takes several.
    package mutating func value(_ key: String) -> JSONValue? { members.removeValue(forKey: key) }

    package mutating func strings(_ key: String) -> [String]? {
        switch members.removeValue(forKey: key) {
        case nil: return nil
        case .array(let values):
            var strings: [String] = []
            for (index, value) in values.enumerated() {
                if case .string(let string) = value { strings.append(string) } else { fault("\(key)[\(index)]", "must be a string") }
            }
            return strings
        default:
            fault(key, "must be a list of strings")
            return nil
        }
    }

    /// Reads a nested object with a reader of its own, whose faults are kept here.
    package mutating func object(_ key: String, _ read: (inout ConfigurationReader) -> Void) {
        switch members.removeValue(forKey: key) {
        case nil: return
        case .object(let values):
            var nested = ConfigurationReader(values, path: path(of: key))
            read(&nested)
            faults += nested.finish()
        default: fault(key, "must be an object")
        }
    }

    package mutating func objects(_ key: String, _ read: (inout ConfigurationReader) -> Void) {
        switch members.removeValue(forKey: key) {
        case nil: return
        case .array(let values):
            for (index, value) in values.enumerated() {
                guard case .object(let members) = value else {
                    fault("\(key)[\(index)]", "must be an object")
                    continue
                }
                var nested = ConfigurationReader(members, path: "\(path(of: key))[\(index)]")
                read(&nested)
                faults += nested.finish()
            }
        default: fault(key, "must be a list of objects")
        }
    }

    package func has(_ key: String) -> Bool { members[key] != nil }

    /// Takes what is left without a look, where it cannot be judged.
    package mutating func ignoreRest() { members.removeAll() }

    /// The keys that are left.
    package var keys: [String] { members.keys.sorted() }

    /// All faults, unknown keys included.
    package mutating func finish() -> [ConfigurationFault] {
        for key in keys { fault(key, "is not a known key") }
        members.removeAll()
        return faults
    }
}
