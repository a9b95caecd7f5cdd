import JOSE
import Testing

@Suite("RFC 8259: JSON, read strictly")
struct StrictJSONTests {
    @Test(
        "what is no JSON text is refused",
        arguments: [
            "", " ", "{", "}", "[", "[1", "[1,]", "[,1]", "{\"a\":1,}", "{\"a\"}", "{a:1}", "{\"a\":1 \"b\":2}", "{} {}", "1 2", "nul", "nulll",
            "True", "'a'",
            "\"a", "\"\\x\"", "\"\\u12\"", "\"\\uD800\"", "\"\\uD800\\u0041\"", "\"\\uDC00\"", "\"\u{1}\"", "\"\n\"", "+1", "01", ".5", "1.", "1e",
            "1e+", "-",
            "0x10", "NaN", "Infinity", "//c\n1", "\u{FEFF}1", "{\"a\":1}x",
        ])
    func refused(text: String) {
        #expect(throws: JSONFault.self) { try StrictJSON(parsing: bytes(text)) }
    }

    @Test(
        "bytes that are no UTF-8 are refused",
        arguments: [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xE2, 0x82]] as [[UInt8]])
    func utf8(sequence: [UInt8]) {
        #expect(throws: JSONFault.self) { try StrictJSON(parsing: [0x22] + sequence + [0x22]) }
    }

    @Test(
        "RFC 7515 §4, RFC 7519 §4 a member that is named twice is refused wherever it stands",
        arguments: ["{\"a\":1,\"a\":1}", "{\"a\":1,\"\\u0061\":2}", "[{\"b\":{\"c\":[],\"c\":[]}}]"])
    func duplicates(text: String) {
        #expect { try StrictJSON(parsing: bytes(text)) } throws: { fault in
            if case JSONFault.duplicateMember = fault { true } else { false }
        }
    }

    @Test("names that Unicode calls equivalent are different names")
    func equivalence() throws {
        // U+00C5 and U+212B, of which Swift says that they are the same character.
        let object = try #require(StrictJSON(parsing: bytes("{\"\u{C5}\":1,\"\u{212B}\":2}")).object)
        #expect(object.count == 2)
        // U+212A, the Kelvin sign, is no K.
        #expect(try #require(StrictJSON(parsing: bytes("{\"\u{212A}\":1}")).object)["K"] == nil)
    }

    @Test("depth is bounded, in both directions exactly")
    func depth() throws {
        func nested(_ depth: Int) -> [UInt8] {
            [UInt8](repeating: UInt8(ascii: "["), count: depth) + [UInt8](repeating: UInt8(ascii: "]"), count: depth)
        }
        _ = try StrictJSON(parsing: nested(16))
        #expect(throws: JSONFault.tooDeep(offset: 16)) { try StrictJSON(parsing: nested(17)) }
        #expect(throws: JSONFault.tooDeep(offset: 16)) { try StrictJSON(parsing: [UInt8](repeating: UInt8(ascii: "["), count: 200_000)) }
    }

    @Test("escapes, blanks and all kinds of values are read")
    func values() throws {
        let text = " {\"a\" : \"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\uDE00\" ,\t\"b\":[null,true,false,-0,1.5E-3,{}],\r\n\"\":\"é\"} "
        let object = try #require(StrictJSON(parsing: bytes(text)).object)
        #expect(object["a"]?.string == "\"\\/\u{8}\u{C}\n\r\té😀")
        #expect(object[""]?.string == "é")
        let values = try #require(object["b"]?.array)
        #expect(values.count == 6)
        if case .number(let number) = values[4] { #expect(number == "1.5E-3") } else { Issue.record("a number") }
    }
}
