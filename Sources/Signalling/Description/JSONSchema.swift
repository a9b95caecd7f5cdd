/// A JSON Schema in the words that draft-07 (AsyncAPI's own dialect) and draft 2020-12 have in common and read alike.
///
/// Objects are left open: unknown members are ignored (protocol §3).
package struct JSONSchema: Sendable, Equatable {
    package let keywords: [DocumentNode.Member]

    init(_ members: (String, DocumentNode)...) {
        keywords = members.map { .init($0.0, $0.1) }
    }

    private init(keywords: [DocumentNode.Member]) {
        self.keywords = keywords
    }

    /// The same with a sentence. A reference takes none beside it (draft-07 §8.3), so it is wrapped.
    func described(_ sentence: String) -> JSONSchema {
        let isReference = keywords.first?.name == "$ref"
        let rest = isReference ? [.init("allOf", .list([.object(keywords)]))] : keywords
        return JSONSchema(keywords: [.init("description", .text(sentence))] + rest)
    }

    func with(_ name: String, _ value: DocumentNode) -> JSONSchema {
        JSONSchema(keywords: keywords + [.init(name, value)])
    }

    static func reference(_ shared: SharedSchema) -> JSONSchema {
        JSONSchema(("$ref", .text("#/components/schemas/\(shared.rawValue)")))
    }
}

// MARK: Values

extension JSONSchema {
    static let text = JSONSchema(("type", "string"))
    static let boolean = JSONSchema(("type", "boolean"))
    static let number = JSONSchema(("type", "number"))

    /// At most so many bytes of UTF-8. A schema counts characters, and so lets longer text of other alphabets through.
    static func text(bytesMax: Int) -> JSONSchema { text.with("maxLength", .number(Double(bytesMax))) }

    static func text(pattern: String) -> JSONSchema { text.with("pattern", .text(pattern)) }

    static func constant(_ word: String) -> JSONSchema { JSONSchema(("const", .text(word))) }

    static func words<Word: RawRepresentable<String> & CaseIterable>(_ type: Word.Type) -> JSONSchema {
        words(type.allCases.map(\.rawValue))
    }

    static func words(_ words: [String]) -> JSONSchema {
        JSONSchema(("type", "string"), ("enum", .list(words.map { .text($0) })))
    }

    static func integer(_ range: ClosedRange<Int>) -> JSONSchema {
        JSONSchema(("type", "integer"), ("minimum", .number(Double(range.lowerBound))), ("maximum", .number(Double(range.upperBound))))
    }

    static func integer(from minimum: Int) -> JSONSchema {
        JSONSchema(("type", "integer"), ("minimum", .number(Double(minimum))))
    }

    static func number(_ range: ClosedRange<Double>) -> JSONSchema {
        number.with("minimum", .number(range.lowerBound)).with("maximum", .number(range.upperBound))
    }

    static func number(from minimum: Double) -> JSONSchema { number.with("minimum", .number(minimum)) }

    static func number(above minimum: Double, through maximum: Double) -> JSONSchema {
        number.with("exclusiveMinimum", .number(minimum)).with("maximum", .number(maximum))
    }

    /// Participants, streams and sequence numbers.
    static let unsigned32 = integer(0...Int(UInt32.max))

    static func hexadecimal(digits: Int) -> JSONSchema { text(pattern: "^[0-9a-f]{\(digits)}$") }

    static func list(of element: JSONSchema, _ count: ClosedRange<Int>? = nil) -> JSONSchema {
        let list = JSONSchema(("type", "array"), ("items", .object(element.keywords)))
        guard let count else { return list }
        let bounded = count.lowerBound > 0 ? list.with("minItems", .number(Double(count.lowerBound))) : list
        return bounded.with("maxItems", .number(Double(count.upperBound)))
    }
}

// MARK: Objects

/// A member of an object: its name, what it is, and whether it is always there.
package struct SchemaMember: Sendable, Equatable {
    let name: String
    let schema: JSONSchema
    let isRequired: Bool

    static func required(_ name: String, _ schema: JSONSchema, _ sentence: String? = nil) -> SchemaMember {
        SchemaMember(name: name, schema: sentence.map { schema.described($0) } ?? schema, isRequired: true)
    }

    static func optional(_ name: String, _ schema: JSONSchema, _ sentence: String? = nil) -> SchemaMember {
        SchemaMember(name: name, schema: sentence.map { schema.described($0) } ?? schema, isRequired: false)
    }
}

extension JSONSchema {
    static func object(_ members: [SchemaMember]) -> JSONSchema {
        var schema = JSONSchema(("type", "object"))
        let required = members.filter(\.isRequired)
        if !required.isEmpty { schema = schema.with("required", .list(required.map { .text($0.name) })) }
        if !members.isEmpty { schema = schema.with("properties", .object(members.map { .init($0.name, .object($0.schema.keywords)) })) }
        return schema
    }
}
