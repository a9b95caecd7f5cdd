/// A JSON text (RFC 8259) read more strictly than a general decoder does: an object that names a member twice is refused wherever it stands
/// (RFC 7515 §4, RFC 7519 §4: duplicates are refused or the last one wins, and two readers that differ in that can be played against each other),
/// and depth is bounded.
package indirect enum StrictJSON: Sendable {
    case null
    case boolean(Bool)
    /// The number as it is written.
    case number(String)
    case string(String)
    case array([StrictJSON])
    case object(JSONObject)

    /// - Throws: ``JSONFault`` for anything but exactly one JSON value in UTF-8.
    package init(parsing bytes: [UInt8]) throws(JSONFault) {
        var reader = StrictJSONReader(bytes)
        self = try reader.document()
    }

    package var string: String? { if case .string(let text) = self { text } else { nil } }
    package var array: [StrictJSON]? { if case .array(let values) = self { values } else { nil } }
    package var object: JSONObject? { if case .object(let object) = self { object } else { nil } }
}

/// The members of an object. Names are compared byte for byte: no Unicode equivalence makes one name pass for another.
package struct JSONObject: Sendable {
    private var members: [[UInt8]: StrictJSON] = [:]

    init() {}

    package subscript(_ name: String) -> StrictJSON? { members[Array(name.utf8)] }

    package var count: Int { members.count }

    /// - Returns: false when the name is there already.
    mutating func insert(_ name: String, _ value: StrictJSON) -> Bool {
        members.updateValue(value, forKey: Array(name.utf8)) == nil
    }
}

/// Why bytes are no JSON text that is read here. Offsets count bytes from 0.
package enum JSONFault: Error, Hashable, Sendable, CustomStringConvertible {
    case syntax(offset: Int)
    case duplicateMember(offset: Int)
    case tooDeep(offset: Int)

    package var description: String {
        switch self {
        case .syntax(let offset): "no valid JSON at byte \(offset)"
        case .duplicateMember(let offset): "a member is named twice in one object, the second time before byte \(offset)"
        case .tooDeep(let offset): "nested more than \(StrictJSONReader.depthMax) deep at byte \(offset)"
        }
    }
}

/// Reads by recursive descent, one level of the stack for each of depth.
struct StrictJSONReader {
    static let depthMax = 16
    private static let numberBytesMax = 64

    private let bytes: [UInt8]
    private var offset = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    mutating func document() throws(JSONFault) -> StrictJSON {
        let value = try value(depth: 0)
        skipSpace()
        guard offset == bytes.count else { throw .syntax(offset: offset) }
        return value
    }

    private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { offset += 1 }
    }

    private mutating func take(_ wanted: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: wanted) else { return false }
        offset += 1
        return true
    }

    private mutating func expect(_ wanted: Unicode.Scalar) throws(JSONFault) {
        guard take(wanted) else { throw .syntax(offset: offset) }
    }

    private mutating func value(depth: Int) throws(JSONFault) -> StrictJSON {
        skipSpace()
        guard let byte = next else { throw .syntax(offset: offset) }
        switch byte {
        case UInt8(ascii: "{"): return .object(try object(depth: depth + 1))
        case UInt8(ascii: "["): return .array(try array(depth: depth + 1))
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try literal("true", .boolean(true))
        case UInt8(ascii: "f"): return try literal("false", .boolean(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        default: return .number(try number())
        }
    }

    private mutating func literal(_ text: StaticString, _ value: StrictJSON) throws(JSONFault) -> StrictJSON {
        let wanted = Array(text.description.utf8)
        guard bytes[offset...].starts(with: wanted) else { throw .syntax(offset: offset) }
        offset += wanted.count
        return value
    }

    private mutating func object(depth: Int) throws(JSONFault) -> JSONObject {
        guard depth <= StrictJSONReader.depthMax else { throw .tooDeep(offset: offset) }
        try expect("{")
        var object = JSONObject()
        skipSpace()
        if take("}") { return object }
        repeat {
            skipSpace()
            let name = try string()
            skipSpace()
            try expect(":")
            guard object.insert(name, try value(depth: depth)) else { throw .duplicateMember(offset: offset) }
            skipSpace()
        } while take(",")
        try expect("}")
        return object
    }

    private mutating func array(depth: Int) throws(JSONFault) -> [StrictJSON] {
        guard depth <= StrictJSONReader.depthMax else { throw .tooDeep(offset: offset) }
        try expect("[")
        var values: [StrictJSON] = []
        skipSpace()
        if take("]") { return values }
        repeat {
            values.append(try value(depth: depth))
            skipSpace()
        } while take(",")
        try expect("]")
        return values
    }

    /// `-? (0 | [1-9][0-9]*) (.[0-9]+)? ([eE][+-]?[0-9]+)?` (RFC 8259 §6).
    private mutating func number() throws(JSONFault) -> String {
        let start = offset
        _ = take("-")
        if !take("0") { try digits() }
        if take(".") { try digits() }
        if take("e") || take("E") {
            if !take("+") { _ = take("-") }
            try digits()
        }
        guard offset - start <= StrictJSONReader.numberBytesMax else { throw .syntax(offset: start) }
        return String(decoding: bytes[start..<offset], as: UTF8.self)
    }

    private mutating func digits() throws(JSONFault) {
        let start = offset
        while let byte = next, (0x30...0x39).contains(byte) { offset += 1 }
        guard offset > start else { throw .syntax(offset: offset) }
    }

    private mutating func string() throws(JSONFault) -> String {
        try expect("\"")
        let start = offset
        var text: [UInt8] = []
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""):
                offset += 1
                guard let string = String(validating: text, as: UTF8.self) else { throw .syntax(offset: start) }
                return string
            case UInt8(ascii: "\\"):
                offset += 1
                try escape(into: &text)
            case 0..<0x20:
                throw .syntax(offset: offset)
            default:
                text.append(byte)
                offset += 1
            }
        }
        throw .syntax(offset: offset)
    }

    private mutating func escape(into text: inout [UInt8]) throws(JSONFault) {
        guard let byte = next else { throw .syntax(offset: offset) }
        offset += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text += try escapedScalar()
        default: throw .syntax(offset: offset - 1)
        }
    }

    /// The four digits after `\u`, and the second half of a surrogate pair; half a pair is no Unicode.
    private mutating func escapedScalar() throws(JSONFault) -> [UInt8] {
        let start = offset
        let first = try hexadecimal()
        var value = first
        if (0xD800...0xDBFF).contains(first) {
            try expect("\\")
            try expect("u")
            let second = try hexadecimal()
            guard (0xDC00...0xDFFF).contains(second) else { throw .syntax(offset: start) }
            value = 0x10000 + (first - 0xD800) << 10 + (second - 0xDC00)
        }
        guard let scalar = Unicode.Scalar(value) else { throw .syntax(offset: start) }
        return Array(String(scalar).utf8)
    }

    private mutating func hexadecimal() throws(JSONFault) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { throw .syntax(offset: offset) }
            value = value << 4 | UInt32(digit)
            offset += 1
        }
        return value
    }
}
