import JOSE
import RelayBase
import Testing

@Suite("RFC 4648 §5: base64url")
struct Base64URLTests {
    @Test(
        "vectors",
        arguments: [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"), ("foobar", "Zm9vYmFy")])
    func vectors(plain: String, text: String) {
        #expect(Base64URL.encode(Array(plain.utf8)) == text)
        #expect(Base64URL.decode(text) == Array(plain.utf8))
    }

    @Test("what is no encoding is refused", arguments: ["A", "Zg==", "Zh", "Zm9", "Zm+v", "Zm/v", "Zm 9", "AAAAA"])
    func refused(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test("decode∘encode is the identity")
    func roundTrip() {
        var generator = SeededGenerator(seed: 3)
        for length in 0..<200 {
            let bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) }
            #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
        }
    }
}
