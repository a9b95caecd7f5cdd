import HTTPProtocol
import Testing

@Suite("Percent-decoding")
struct PercentDecodingTests {
    @Test(
        "RFC 3986 §2.1 a component is decoded once, and only what is text passes",
        arguments: [
            ("", ""), ("plain", "plain"), ("a%2Fb", "a/b"), ("a%2fb", "a/b"), ("%C3%A9", "é"), ("100%25", "100%"), ("%2541", "%41"), ("a+b", "a+b"),
            ("%", nil), ("%4", nil), ("%4g", nil), ("a%", nil), ("%zz", nil), ("%+1", nil), ("%00", nil), ("%0A", nil), ("%1f", nil), ("%7F", nil),
            ("%ff", nil), ("%C3", nil), ("%C0%AF", nil), ("%ED%A0%80", nil), ("%F4%90%80%80", nil),
        ] as [(String, String?)])
    func component(encoded: String, decoded: String?) {
        #expect(PercentDecoding.decode(encoded) == decoded)
    }

    @Test(
        "a query is its members in order",
        arguments: [
            (nil, [:]), ("", [:]), ("a=1", ["a": "1"]), ("a=1&b=2", ["a": "1", "b": "2"]), ("a", ["a": ""]), ("a==b", ["a": "=b"]),
            ("%61=%62&&c=", ["a": "b", "c": ""]), ("=1", nil), ("a=%", nil), ("%ff=1", nil), ("a=1&=", nil),
        ] as [(String?, KeyValuePairs<String, String>?)])
    func query(text: String?, members: KeyValuePairs<String, String>?) {
        let read = PercentDecoding.query(text)
        #expect(read?.map(\.name) == members?.map(\.key))
        #expect(read?.map(\.value) == members?.map(\.value))
    }
}
