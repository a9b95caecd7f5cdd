import FoundationEssentials

/// The one way in which this target writes JSON: sorted members, so that the same value always gives the same bytes, and plain slashes.
enum JSONText {
    /// `nil` for a number that is not finite, which JSON cannot say; such numbers are refused on the way in.
    static func encode(_ value: some Encodable) -> [UInt8]? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(value)).map { Array($0) }
    }
}
