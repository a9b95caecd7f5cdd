import RelayBase
import Testing
import WebSocketProtocol

@Suite struct HandshakeTests {
    private static let key = "dGhlIHNhbXBsZSBub25jZQ=="

    private func request(
        keys: [String] = [key], versions: [String] = ["13"], subprotocols: [String] = [], extensions: [String] = []
    ) -> WebSocketHandshake.Request {
        var request = WebSocketHandshake.Request()
        request.keys = keys
        request.versions = versions
        request.subprotocols = subprotocols
        request.extensions = extensions
        return request
    }

    @Test(
        "§1.3, §4.2.2 Sec-WebSocket-Accept",
        arguments: [
            (key, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), ("x3JJHMbDL1EzLkh9GBhXDw==", "HSmrc0sMlYUkAGmm5OPpG2HaGWk="),
        ])
    func accept(key: String, accept: String) throws {
        #expect(WebSocketHandshake.accept(key: key) == accept)
        let response = try WebSocketHandshake.answer(request(keys: [key]), over: .http1, supported: [], deflate: nil)
        #expect(response.accept == accept)
    }

    @Test("§4.1 a key is 16 bytes in base64")
    func keys() {
        #expect(WebSocketHandshake.key(Array("the sample nonce".utf8)) == Self.key)
        for key in [Self.key, "AAAAAAAAAAAAAAAAAAAAAA==", "//////////++++++++++9w=="] { #expect(WebSocketHandshake.isValid(key: key)) }
        for key in [
            "", "dGhlIHNhbXBsZSBub25jZQ", "dGhlIHNhbXBsZSBub25jZQ=", "dGhlIHNhbXBsZSBub25jZSE=", "dGhlIHNhbXBsZSBub25j", "dGhlIHNhbXBsZSBub25j ZQ=",
            "dGhlIHNhbXBsZSBub2-jZQ==", "dGhlIHNhbXBsZSBub25jZ===", "========================", "dGhlIHNhbXBsZSBub25jZQ==AAAA", "éééééééééééé",
        ] {
            #expect(!WebSocketHandshake.isValid(key: key), "\(key)")
        }
    }

    @Test("§4.2 what is wrong with a request, and the status that it gets")
    func faults() {
        let table: [(WebSocketHandshake.Request, WebSocketHandshakeFault, Int)] = [
            (request(keys: []), .keyMissing, 400), (request(keys: [Self.key, Self.key]), .keyRepeated, 400), (request(keys: ["x"]), .keyInvalid, 400),
            (request(versions: []), .versionMissing, 400), (request(versions: ["13", "13"]), .versionRepeated, 400),
            (request(versions: ["8"]), .versionUnsupported, 426), (request(versions: ["13, 8"]), .versionUnsupported, 426),
            (request(versions: ["013"]), .versionUnsupported, 426), (request(subprotocols: ["a b"]), .subprotocolsMalformed, 400),
            (request(subprotocols: ["a, b", "a"]), .subprotocolsMalformed, 400), (request(subprotocols: ["\"a\""]), .subprotocolsMalformed, 400),
            (request(subprotocols: [(0...64).map { "p\($0)" }.joined(separator: ",")]), .subprotocolsMalformed, 400),
            (request(extensions: ["a;"]), .extensionsMalformed, 400),
            (request(extensions: [String(repeating: "a", count: 4_097)]), .extensionsTooLong, 400),
        ]
        for (request, fault, status) in table {
            #expect(throws: fault) { try WebSocketHandshake.answer(request, over: .http1, supported: [], deflate: nil) }
            #expect(fault.status == status)
        }
    }

    @Test("RFC 8441 §5 over HTTP/2 there is no key and no accept, but a version")
    func http2() throws {
        let response = try WebSocketHandshake.answer(
            request(keys: [], subprotocols: ["segue.v1"]), over: .http2, supported: ["segue.v1"], deflate: nil)
        #expect(response.accept == nil && response.subprotocol == "segue.v1")
        #expect(throws: WebSocketHandshakeFault.versionUnsupported) {
            try WebSocketHandshake.answer(request(keys: [], versions: ["12"]), over: .http2, supported: [], deflate: nil)
        }
    }

    @Test("§4.2.2 the server's first subprotocol that the client offers, compared exactly")
    func subprotocols() throws {
        let table: [(offered: [String], supported: [String], chosen: String?)] = [
            (["segue.v1"], ["segue.v1"], "segue.v1"), (["chat, segue.v1"], ["segue.v2", "segue.v1"], "segue.v1"),
            (["segue.v1", "segue.v2"], ["segue.v2", "segue.v1"], "segue.v2"), (["Segue.v1"], ["segue.v1"], nil), ([], ["segue.v1"], nil),
            ([" ,segue.v1 ,, "], ["segue.v1"], "segue.v1"), (["segue.v11"], ["segue.v1"], nil),
        ]
        for row in table {
            #expect(try WebSocketHandshake.chooseSubprotocol(offered: row.offered, supported: row.supported) == row.chosen)
        }
    }

    @Test("§4.1 a client checks the answer to its offer")
    func client() throws {
        let offer = WebSocketHandshake.Offer(key: Self.key, subprotocols: ["segue.v2", "segue.v1"], deflate: .init())
        #expect(offer.subprotocolField == "segue.v2, segue.v1")
        let accept = ["s3pPLMBiTxaQ9kYGzzhZRbK+xOo="]
        let response = try WebSocketHandshake.confirm(
            offer, over: .http1, accept: accept, subprotocols: ["segue.v1"], extensions: ["permessage-deflate; client_max_window_bits=12"])
        #expect(response.subprotocol == "segue.v1" && response.deflate?.clientMaxWindowBits == 12)
        #expect(throws: WebSocketHandshakeFault.acceptMismatch) {
            try WebSocketHandshake.confirm(offer, over: .http1, accept: [], subprotocols: [], extensions: [])
        }
        #expect(throws: WebSocketHandshakeFault.acceptMismatch) {
            try WebSocketHandshake.confirm(offer, over: .http1, accept: ["s3pPLMBiTxaQ9kYGzzhZRbK+xOO="], subprotocols: [], extensions: [])
        }
        #expect(throws: WebSocketHandshakeFault.subprotocolNotOffered) {
            try WebSocketHandshake.confirm(offer, over: .http2, accept: [], subprotocols: ["chat"], extensions: [])
        }
        #expect(throws: WebSocketHandshakeFault.extensionNotOffered) {
            try WebSocketHandshake.confirm(offer, over: .http2, accept: [], subprotocols: [], extensions: ["x-webkit-deflate-frame"])
        }
        #expect(throws: WebSocketHandshakeFault.extensionNotOffered) {
            let plain = WebSocketHandshake.Offer(key: Self.key, subprotocols: [])
            return try WebSocketHandshake.confirm(plain, over: .http2, accept: [], subprotocols: [], extensions: ["permessage-deflate"])
        }
    }
}

@Suite struct ExtensionTests {
    @Test("§9.1 the grammar of Sec-WebSocket-Extensions")
    func grammar() throws {
        let table: [(fields: [String], elements: [WebSocketExtension])] = [
            ([], []), ([""], []), ([" , "], []), (["foo"], [.init("foo")]), (["foo, bar"], [.init("foo"), .init("bar")]),
            (["foo", "bar; baz=2"], [.init("foo"), .init("bar", [.init("baz", "2")])]),
            (["foo ; a ; b = c\t,bar"], [.init("foo", [.init("a"), .init("b", "c")]), .init("bar")]),
            (["foo; a=\"b\""], [.init("foo", [.init("a", "b")])]), (["foo; a=\"b\\c\\d\"; e"], [.init("foo", [.init("a", "bcd"), .init("e")])]),
        ]
        for row in table {
            #expect(try WebSocketExtension.parse(row.fields) == row.elements)
            #expect(try WebSocketExtension.parse(row.elements.map(\.fieldValue)) == row.elements)
        }
    }

    @Test(
        "§9.1 off the grammar fails the handshake",
        arguments: [
            ";", "foo;", "foo bar", "foo; =1", "foo; a=", "foo; a=\"", "foo; a=\"\"", "foo; a=\"b c\"", "foo; a=\"b\"c", "foo; a=\"b\\", "foo=1",
            "(foo)",
            "foo; a b", "föö", "foo;;a", "foo\u{0}",
        ])
    func malformed(field: String) {
        #expect(throws: WebSocketHandshakeFault.extensionsMalformed) { try WebSocketExtension.parse([field]) }
    }

    @Test("Elements, parameters and bytes are bounded")
    func bounds() throws {
        let most = WebSocketExtension("a", Array(repeating: .init("b"), count: WebSocketExtension.parametersMax)).fieldValue
        let elements = Array(repeating: most, count: WebSocketExtension.elementsMax)
        #expect(try WebSocketExtension.parse(elements).count == WebSocketExtension.elementsMax)
        #expect(throws: WebSocketHandshakeFault.extensionsTooLong) { try WebSocketExtension.parse(elements + ["c"]) }
        #expect(throws: WebSocketHandshakeFault.extensionsTooLong) { try WebSocketExtension.parse([most + ";b"]) }
        let half = String(repeating: "a", count: WebSocketExtension.fieldBytesMax / 2)
        #expect(try WebSocketExtension.parse([half, half]).count == 2)
        #expect(throws: WebSocketHandshakeFault.extensionsTooLong) { try WebSocketExtension.parse([half, half, "a"]) }
    }
}

@Suite struct PerMessageDeflateTests {
    private func negotiate(_ field: String, _ change: (inout PerMessageDeflate.Policy) -> Void = { _ in }) throws -> String? {
        var policy = PerMessageDeflate.Policy()
        change(&policy)
        return PerMessageDeflate.negotiate(try WebSocketExtension.parse([field]), policy: policy)?.response.fieldValue
    }

    @Test(
        "RFC 7692 §7.1 offers and answers",
        arguments: [
            ("permessage-deflate", "permessage-deflate"),
            ("permessage-deflate; client_max_window_bits", "permessage-deflate"),
            ("permessage-deflate; client_max_window_bits=10", "permessage-deflate; client_max_window_bits=10"),
            ("permessage-deflate; client_max_window_bits=8", "permessage-deflate; client_max_window_bits=8"),
            ("permessage-deflate; server_max_window_bits=10", "permessage-deflate; server_max_window_bits=10"),
            ("permessage-deflate; server_max_window_bits=\"15\"", "permessage-deflate; server_max_window_bits=15"),
            ("permessage-deflate; server_no_context_takeover", "permessage-deflate; server_no_context_takeover"),
            (
                "permessage-deflate; client_no_context_takeover; server_no_context_takeover",
                "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
            ),
            ("x-webkit-deflate-frame, permessage-deflate", "permessage-deflate"),
            (
                "permessage-deflate; server_max_window_bits=8, permessage-deflate; server_max_window_bits=9",
                "permessage-deflate; server_max_window_bits=9"
            ),
            ("permessage-deflate; unknown, permessage-deflate", "permessage-deflate"),
        ])
    func accepted(offer: String, response: String) throws {
        #expect(try negotiate(offer) == response)
    }

    @Test(
        "RFC 7692 §7.1 an unknown, repeated or invalid parameter declines the offer",
        arguments: [
            "permessage-bzip2", "permessage-deflate; unknown", "permessage-deflate; server_no_context_takeover=1",
            "permessage-deflate; server_max_window_bits",
            "permessage-deflate; server_max_window_bits=7", "permessage-deflate; server_max_window_bits=16",
            "permessage-deflate; server_max_window_bits=010",
            "permessage-deflate; server_max_window_bits=8", "permessage-deflate; client_max_window_bits=7",
            "permessage-deflate; client_max_window_bits=08",
            "permessage-deflate; client_max_window_bits=abc", "permessage-deflate; client_no_context_takeover; client_no_context_takeover",
            "permessage-deflate; client_max_window_bits; client_max_window_bits=10", "permessage-deflate; client_no_context_takeover=false",
        ])
    func declined(offer: String) throws {
        #expect(try negotiate(offer) == nil)
    }

    @Test("RFC 7692 §7.1.1, §7.1.2 the server's policy shows in the answer")
    func policy() throws {
        #expect(
            try negotiate("permessage-deflate; client_max_window_bits") {
                $0.serverNoContextTakeover = true
                $0.clientNoContextTakeover = true
                $0.serverMaxWindowBits = 11
                $0.clientMaxWindowBits = 12
            } == "permessage-deflate; server_no_context_takeover; client_no_context_takeover; server_max_window_bits=11; client_max_window_bits=12")
        // A client that does not name client_max_window_bits must not be answered with it.
        #expect(try negotiate("permessage-deflate") { $0.clientMaxWindowBits = 12 } == "permessage-deflate")
    }

    @Test("RFC 7692 §7.1 what a client agrees to")
    func confirmed() throws {
        var policy = PerMessageDeflate.Policy()
        policy.serverNoContextTakeover = true
        policy.serverMaxWindowBits = 12
        #expect(
            PerMessageDeflate.offer(policy).fieldValue
                == "permessage-deflate; server_no_context_takeover; server_max_window_bits=12; client_max_window_bits")
        func confirm(_ response: String) throws -> PerMessageDeflate? {
            try PerMessageDeflate.confirm(try WebSocketExtension.parse([response]), offered: policy)
        }
        var agreed = PerMessageDeflate()
        agreed.serverNoContextTakeover = true
        agreed.serverMaxWindowBits = 10
        agreed.clientMaxWindowBits = 9
        #expect(try confirm("permessage-deflate; server_no_context_takeover; server_max_window_bits=10; client_max_window_bits=9") == agreed)
        #expect(try confirm("") == nil)
        for response in [
            "permessage-deflate; server_max_window_bits=10", "permessage-deflate; server_no_context_takeover",
            "permessage-deflate; server_no_context_takeover; server_max_window_bits=13",
            "permessage-deflate; server_no_context_takeover; server_max_window_bits=12; client_max_window_bits",
            "permessage-deflate; server_no_context_takeover; server_max_window_bits=12; client_max_window_bits=8",
            "permessage-deflate; server_no_context_takeover; server_max_window_bits=12, permessage-deflate", "x-other",
        ] {
            #expect(throws: WebSocketHandshakeFault.extensionNotOffered) { try confirm(response) }
        }
    }

    @Test("A client's offer is always acceptable to a server, and both agree on the same", arguments: 9...15)
    func bothEndsAgree(bits: Int) throws {
        var client = PerMessageDeflate.Policy()
        client.serverMaxWindowBits = bits
        client.clientMaxWindowBits = 24 - bits
        client.serverNoContextTakeover = bits % 2 == 0
        var server = PerMessageDeflate.Policy()
        server.serverMaxWindowBits = 13
        server.clientMaxWindowBits = 12
        server.clientNoContextTakeover = bits % 3 == 0
        let answer = try #require(PerMessageDeflate.negotiate([PerMessageDeflate.offer(client)], policy: server))
        #expect(try PerMessageDeflate.confirm([answer.response], offered: client) == answer.agreed)
    }
}
