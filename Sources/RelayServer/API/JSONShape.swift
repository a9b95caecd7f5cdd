import FoundationEssentials

/// The outermost shape of a JSON text.
enum JSONShape {
    /// Whether the bytes are one JSON object (RFC 8259) in UTF-8.
    static func isObject(_ bytes: [UInt8]) -> Bool {
        guard let value = try? JSONDecoder().decode(JSONValue.self, from: Data(bytes)), case .object = value else { return false }
        return true
    }
}
