import CLinux
import Reactor
import RelayBase
import Testing

@Suite struct SocketAddressTests {
    @Test(
        "RFC 5952: an address with its port is read, and printed in its canonical form",
        arguments: [
            ("127.0.0.1:8443", "127.0.0.1:8443"),
            ("0.0.0.0:0", "0.0.0.0:0"),
            ("255.255.255.255:65535", "255.255.255.255:65535"),
            ("[::1]:443", "[::1]:443"),
            ("[::]:80", "[::]:80"),
            ("[2001:DB8:0:0:0:0:0:1]:1", "[2001:db8::1]:1"),
            ("[fe80::1%3]:9", "[fe80::1%3]:9"),
            ("[::ffff:192.0.2.1]:5", "192.0.2.1:5"),
        ])
    func text(given: String, canonical: String) throws {
        let address = try #require(SocketAddress(given))
        #expect(address.description == canonical)
        #expect(SocketAddress(canonical) == address)
    }

    @Test(
        "what is no address is refused",
        arguments: [
            "", ":", ":80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:+1", "127.0.0.1:-1", "127.0.0.1:1a", "256.0.0.1:1", "127.1:1",
            "::1:80", "[::1]", "[::1:80", "::1]:80", "[127.0.0.1]:80", "[::g]:1", "localhost:80", "[fe80::1%eth0]:1", "1.2.3.4%1:5", "[]:1",
            "127.0.0.1\0:1", "١٢٧.0.0.1:1", "1.2.3.4:٨",
        ])
    func refused(text: String) {
        #expect(SocketAddress(text) == nil)
    }

    @Test("the kernel's structure and back is the identity")
    func kernelForm() throws {
        var generator = SeededGenerator(seed: 4)
        for round in 0..<500 {
            let port = UInt16.random(in: 0 ... .max, using: &generator)
            let address =
                round.isMultiple(of: 2)
                ? SocketAddress(ipv4: .random(in: 0 ... .max, using: &generator), port: port)
                : SocketAddress(
                    high: .random(in: 1 ... .max, using: &generator), low: .random(in: 0 ... .max, using: &generator), port: port, scope: 7)
            #expect(SocketAddress(address.storage.storage) == address)
            #expect(SocketAddress(address.description) == address)
            #expect(address.isIPv4 == round.isMultiple(of: 2))
        }
        #expect(SocketAddress(sockaddr_storage()) == nil)
    }

    @Test("addresses are given in network order")
    func bytes() {
        #expect(SocketAddress(ipv4: 0x0102_0304, port: 0).addressBytes == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 1, 2, 3, 4])
        #expect(SocketAddress(host: "2001:db8::5", port: 0)?.addressBytes == [0x20, 1, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5])
        #expect(SocketAddress.loopback(port: 1).ipv4 == 0x7F00_0001)
    }

    @Test(
        "limits count an IPv4 address by itself and an IPv6 one by its /64",
        arguments: [
            ("1.2.3.4", "1.2.3.4", true), ("1.2.3.4", "1.2.3.5", false), ("1.2.3.4", "::ffff:1.2.3.4", true),
            ("2001:db8::1", "2001:db8::ffff:2", true), ("2001:db8::1", "2001:db8:0:1::1", false),
        ])
    func keys(left: String, right: String, same: Bool) throws {
        let (left, right) = try (#require(SocketAddress(host: left, port: 1)), #require(SocketAddress(host: right, port: 2)))
        #expect((left.key == right.key) == same)
    }

    @Test("loopback is recognised", arguments: [("127.0.0.1", true), ("127.9.9.9", true), ("::1", true), ("128.0.0.1", false), ("::2", false)])
    func loopback(host: String, expected: Bool) throws {
        #expect(try #require(SocketAddress(host: host, port: 1)).isLoopback == expected)
    }
}
