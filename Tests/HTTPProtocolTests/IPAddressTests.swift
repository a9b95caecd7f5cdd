import HTTPProtocol
import RelayBase
import Testing

@Suite("IP addresses and networks")
struct IPAddressTests {
    @Test(
        "§4 (RFC 5952) addresses are read and written in canonical form",
        arguments: [
            ("0.0.0.0", "0.0.0.0"), ("255.255.255.255", "255.255.255.255"), ("::", "::"), ("::1", "::1"), ("1::", "1::"),
            ("2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"), ("2001:0db8::0001", "2001:db8::1"), ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
            ("1:0:0:2:0:0:0:3", "1:0:0:2::3"), ("::ffff:192.0.2.1", "::ffff:192.0.2.1"), ("::ffff:c000:201", "::ffff:192.0.2.1"),
            ("64:ff9b::192.0.2.33", "64:ff9b::c000:221"), ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"), ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
            ("0:0:1::", "0:0:1::"), ("fe80::1:0:0:0", "fe80::1:0:0:0"), ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"),
        ])
    func text(text: String, canonical: String) throws {
        #expect(try #require(IPAddress(text)).description == canonical)
    }

    @Test(
        "§2.2 (RFC 4291) what is no address is refused",
        arguments: [
            "", ".", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", "1.2.3.", "1.2.3.-4", " 1.2.3.4", "1.2.3.4 ", "0x1.2.3.4", "1234", "1.2.3.0004",
            ":", ":::", "1:",
            ":1", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3", "12345::", "g::", "::1%eth0", "[::1]", "1:2:3:4:5:6:7:8::", "::1.2.3", "1.2.3.4::",
            "1:2:3:4:5:6:7:1.2.3.4", "1:2:3:4::5:6:7:8", "::1:", "::1 ", "é::",
        ])
    func notAddresses(text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test("reading what was written gives the same address")
    func roundTrip() {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<2_000 {
            // Sparse words, so that runs of zero groups are common.
            let high =
                UInt64.random(in: 0...UInt64.max, using: &generator) & UInt64.random(in: 0...UInt64.max, using: &generator) & 0xFFFF_0000_FFFF_FFFF
            let low = Bool.random(using: &generator) ? 0 : UInt64.random(in: 0...UInt64.max, using: &generator) & 0x0000_FFFF_0000_FFFF
            for address in [IPAddress.v6(high: high, low: low), .v6(high: 0, low: low), .v4(UInt32(truncatingIfNeeded: high))] {
                #expect(IPAddress(address.description) == address)
            }
        }
    }

    @Test("§2.5.5.2 (RFC 4291) a mapped address stands for its IPv4 address; network order; loopback")
    func unmapped() throws {
        #expect(IPAddress("::ffff:10.1.2.3")?.unmapped == IPAddress("10.1.2.3"))
        #expect(IPAddress("::10.1.2.3")?.unmapped == IPAddress("::10.1.2.3"))
        #expect(withSpan([192, 0, 2, 1]) { IPAddress(networkOrder: $0) } == IPAddress("192.0.2.1"))
        #expect(withSpan([0x20, 1, 0x0D, 0xB8] + Array(repeating: 0, count: 11) + [1]) { IPAddress(networkOrder: $0) } == IPAddress("2001:db8::1"))
        #expect(withSpan([1, 2, 3]) { IPAddress(networkOrder: $0) } == nil)
        for text in ["127.0.0.1", "127.255.0.1", "::1", "::ffff:127.0.0.1"] { #expect(IPAddress(text)?.isLoopback == true) }
        for text in ["128.0.0.1", "::2", "::ffff:10.0.0.1", "1::1"] { #expect(IPAddress(text)?.isLoopback == false) }
    }

    @Test(
        "§3.1 (RFC 4632) a network contains the addresses that share its prefix",
        arguments: [
            ("10.0.0.0/8", "10.255.255.255", true), ("10.0.0.0/8", "11.0.0.0", false), ("10.0.0.0/8", "9.255.255.255", false),
            ("10.0.0.0/8", "::ffff:10.1.1.1", true),
            ("10.0.0.0/8", "::a00:1", false), ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false),
            ("192.0.2.1/32", "192.0.2.1", true),
            ("0.0.0.0/0", "255.1.2.3", true), ("0.0.0.0/0", "::1", false), ("192.0.2.128/25", "192.0.2.127", false),
            ("192.0.2.128/25", "192.0.2.255", true),
            ("2001:db8::/32", "2001:db8:ffff::1", true), ("2001:db8::/32", "2001:db9::1", false), ("2001:db8::/65", "2001:db8::7fff:0:0:1", true),
            ("2001:db8::/65", "2001:db8::8000:0:0:1", false), ("2001:db8::/64", "2001:db8::ffff:0:0:1", true),
            ("2001:db8::/64", "2001:db8:0:1::", false),
            ("::1", "::1", true), ("::1", "::2", false), ("::/0", "2001::", true), ("::/0", "10.0.0.1", false), ("::/0", "::ffff:10.0.0.1", true),
            ("::ffff:10.0.0.0/104", "10.9.9.9", true), ("::ffff:10.0.0.0/104", "::ffff:10.9.9.9", true), ("::ffff:10.0.0.0/104", "11.9.9.9", false),
        ])
    func contains(network: String, address: String, isInside: Bool) throws {
        #expect(try IPNetwork(network).contains(try #require(IPAddress(address))) == isInside)
    }

    @Test(
        "a network that cannot be read is refused by its own fault",
        arguments: [
            ("", IPNetwork.Fault.invalidAddress), ("10.0.0/8", .invalidAddress), ("10.0.0.0/8/8", .invalidAddress),
            ("10.0.0.0/33", .invalidPrefixLength),
            ("10.0.0.0/", .invalidPrefixLength), ("10.0.0.0/-1", .invalidPrefixLength), ("10.0.0.0/8x", .invalidPrefixLength),
            ("::/129", .invalidPrefixLength),
            ("10.0.0.0/0008", .invalidPrefixLength), ("10.1.0.0/8", .hostBitsSet), ("2001:db8::1/64", .hostBitsSet), ("1.0.0.0/0", .hostBitsSet),
        ])
    func badNetworks(text: String, fault: IPNetwork.Fault) {
        #expect(throws: fault) { try IPNetwork(text) }
    }

    @Test("a network is written as it is read", arguments: ["10.0.0.0/8", "2001:db8::/32", "::1/128"])
    func networkText(text: String) throws {
        #expect(try IPNetwork(text).description == text)
    }
}
