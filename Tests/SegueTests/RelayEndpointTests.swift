import Testing

@testable import segue

@Suite("HOST:PORT")
struct RelayEndpointTests {
    @Test(
        "a name, an IPv4 address or a bracketed IPv6 address with a port",
        arguments: [
            ("localhost:8443", "localhost", UInt16(8_443)), ("127.0.0.1:1", "127.0.0.1", 1), ("[::1]:443", "::1", 443),
            ("relay.example.org:65535", "relay.example.org", 65_535),
        ])
    func good(text: String, host: String, port: UInt16) throws {
        let endpoint = try #require(RelayEndpoint(text))
        #expect(endpoint.host == host)
        #expect(endpoint.port == port)
    }

    @Test(
        "anything else is refused",
        arguments: [
            "", ":", "localhost", "localhost:", "localhost:0", "localhost:65536", "localhost:-1", "::1:443", ":443", "[]:443", "a b:1", "x:+5x",
        ])
    func bad(text: String) {
        #expect(RelayEndpoint(text) == nil)
    }
}
