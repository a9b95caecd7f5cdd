import HTTPProtocol
import RelayBase
import Testing

/// Stand-ins for certificates: DER sequences of every length form.
private enum Vector {
    static let leaf: [UInt8] = [0x30, 0x03, 0x02, 0x01, 0xFB]
    static let middle: [UInt8] = [0x30, 0x81, 0x80] + Array(repeating: 0xFF, count: 0x80)
    static let long: [UInt8] = [0x30, 0x82, 0x01, 0x00] + Array(repeating: 0x3E, count: 0x100)

    // Worked out with coreutils' `base64`, not with code of ours.
    static let leafText = "MAMCAfs="
    static let leafPEM = "-----BEGIN CERTIFICATE-----\nMAMCAfs=\n-----END CERTIFICATE-----\n"

    static func base64(_ bytes: [UInt8]) -> String {
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
        var bits = bytes.flatMap { byte in (0..<8).map { byte >> (7 - $0) & 1 } }
        while bits.count % 6 != 0 { bits.append(0) }
        let text = stride(from: 0, to: bits.count, by: 6).map { place in digits[bits[place..<place + 6].reduce(0) { $0 << 1 | Int($1) }] }
        return String(text) + String(repeating: "=", count: (4 - text.count % 4) % 4)
    }

    static func pem(_ bytes: [UInt8]) -> String {
        let text = Array(base64(bytes))
        let lines = stride(from: 0, to: text.count, by: 64).map { String(text[$0..<min($0 + 64, text.count)]) }
        return "-----BEGIN CERTIFICATE-----\n" + lines.joined(separator: "\n") + "\n-----END CERTIFICATE-----\n"
    }

    static func percent(_ text: String) -> String {
        text.utf8.map { byte in
            let isPlain = (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == 0x2D
            let hex = String(byte, radix: 16, uppercase: true)
            return isPlain ? String(Character(Unicode.Scalar(byte))) : "%" + (hex.count == 1 ? "0" : "") + hex
        }.joined()
    }
}

/// Fields of one form, and what must come of them.
private struct Case: CustomTestStringConvertible, Sendable {
    let what: String
    let form: ForwardedCertificateForm
    let fields: [(String, String)]
    let outcome: Result<ForwardedCertificate?, ForwardedCertificateFault>

    init(
        _ what: String, _ form: ForwardedCertificateForm, _ fields: [(String, String)],
        _ outcome: Result<ForwardedCertificate?, ForwardedCertificateFault>
    ) {
        self.what = what
        self.form = form
        self.fields = fields
        self.outcome = outcome
    }

    var testDescription: String { what }

    static let leaf = ForwardedCertificate(leaf: Vector.leaf)
    static let withChain = ForwardedCertificate(leaf: Vector.leaf, chain: [Vector.middle, Vector.long])
    static let text = Vector.leafText

    static let clientCert: [Case] = [
        Case("no field, no certificate", .clientCert, [], .success(nil)),
        Case("§2.2 a byte sequence", .clientCert, [("client-cert", ":\(text):")], .success(leaf)),
        Case("RFC 8941 §4.2.7 missing padding is borne", .clientCert, [("client-cert", ":MAMCAfs:")], .success(leaf)),
        Case("RFC 8941 §4.2.7 pad bits that are not zero are borne", .clientCert, [("client-cert", ":MAMCAft=:")], .success(leaf)),
        Case(
            "§2.3 a chain in one line", .clientCert,
            [("client-cert", ":\(text):"), ("client-cert-chain", ":\(Vector.base64(Vector.middle)):, :\(Vector.base64(Vector.long)):")],
            .success(withChain)),
        Case(
            "§2.3 a chain over two lines", .clientCert,
            [
                ("client-cert-chain", ":\(Vector.base64(Vector.middle)):"), ("client-cert", ":\(text):"),
                ("client-cert-chain", ":\(Vector.base64(Vector.long)):"),
            ], .success(withChain)),
        Case("§2.2 the field stands once", .clientCert, [("client-cert", ":\(text):"), ("client-cert", ":\(text):")], .failure(.duplicate)),
        Case("§2.3 no chain without a certificate", .clientCert, [("client-cert-chain", ":\(text):")], .failure(.chainWithoutCertificate)),
        Case("an empty value is no byte sequence", .clientCert, [("client-cert", "")], .failure(.malformedField)),
        Case("bare base64 is no byte sequence", .clientCert, [("client-cert", text)], .failure(.malformedField)),
        Case("one colon is no byte sequence", .clientCert, [("client-cert", ":")], .failure(.malformedField)),
        Case("a list is no item", .clientCert, [("client-cert", ":\(text):, :\(text):")], .failure(.malformedBase64)),
        Case("RFC 9440 defines no parameters", .clientCert, [("client-cert", ":\(text):;a=1")], .failure(.malformedField)),
        Case("a string is no byte sequence", .clientCert, [("client-cert", "\"\(text)\"")], .failure(.malformedField)),
        Case("white space within base64", .clientCert, [("client-cert", ":MAMC Afs=:")], .failure(.malformedBase64)),
        Case("base64url is not base64", .clientCert, [("client-cert", ":MAMC-fs=:")], .failure(.malformedBase64)),
        Case("padding in the middle", .clientCert, [("client-cert", ":MA==MCAf:")], .failure(.malformedBase64)),
        Case("too much padding", .clientCert, [("client-cert", ":MAMCAfs==:")], .failure(.malformedBase64)),
        Case("one digit left over", .clientCert, [("client-cert", ":MAMCA:")], .failure(.malformedBase64)),
        Case("no bytes are no certificate", .clientCert, [("client-cert", "::")], .failure(.notDER)),
        Case("text is no certificate", .clientCert, [("client-cert", ":aGVsbG8=:")], .failure(.notDER)),
        Case("bytes behind the certificate", .clientCert, [("client-cert", ":\(Vector.base64(Vector.leaf + [0])):")], .failure(.notDER)),
        Case("a certificate cut short", .clientCert, [("client-cert", ":\(Vector.base64(Array(Vector.long.dropLast()))):")], .failure(.notDER)),
        Case("X.690 §8.1.3.6 no indefinite length", .clientCert, [("client-cert", ":\(Vector.base64([0x30, 0x80, 0, 0])):")], .failure(.notDER)),
        Case(
            "X.690 §10.1 no length longer than it need be", .clientCert, [("client-cert", ":\(Vector.base64([0x30, 0x81, 0x03, 2, 1, 1])):")],
            .failure(.notDER)),
        Case(
            "six authorities", .clientCert,
            [("client-cert", ":\(text):"), ("client-cert-chain", Array(repeating: ":\(text):", count: 6).joined(separator: ","))],
            .failure(.tooLarge)),
        Case(
            "six authorities in six lines", .clientCert,
            [("client-cert", ":\(text):")] + Array(repeating: ("client-cert-chain", ":\(text):"), count: 6), .failure(.tooLarge)),
    ]

    static let haproxy: [Case] = [
        Case("the client showed none: HAProxy sets the field to nothing", .haproxy, [("x-ssl-client-der", "")], .success(nil)),
        Case("base64 of the certificate", .haproxy, [("x-ssl-client-der", text)], .success(leaf)),
        Case(
            "the chain one behind the other", .haproxy,
            [("x-ssl-client-der", text), ("x-ssl-client-chain-der", Vector.base64(Vector.middle + Vector.long))], .success(withChain)),
        Case("an empty chain", .haproxy, [("x-ssl-client-der", text), ("x-ssl-client-chain-der", "")], .success(leaf)),
        Case("twice", .haproxy, [("x-ssl-client-der", text), ("x-ssl-client-der", text)], .failure(.duplicate)),
        Case(
            "the client's own field before the proxy's empty one", .haproxy, [("x-ssl-client-der", text), ("x-ssl-client-der", "")],
            .failure(.duplicate)),
        Case("a chain alone", .haproxy, [("x-ssl-client-chain-der", text)], .failure(.chainWithoutCertificate)),
        Case("a chain with a gap", .haproxy, [("x-ssl-client-der", text), ("x-ssl-client-chain-der", "AAAA")], .failure(.notDER)),
        Case("a common name makes no identity", .haproxy, [("x-ssl-client-cn", "alice"), ("x-ssl-client-verify", "0")], .success(nil)),
        Case("another proxy's form is not looked at", .haproxy, [("client-cert", ":\(text):")], .success(nil)),
    ]

    static let envoy: [Case] = [
        Case("the certificate", .envoy, [("x-forwarded-client-cert", "Hash=00;Cert=\"\(Vector.percent(Vector.leafPEM))\"")], .success(leaf)),
        Case("without quotes", .envoy, [("x-forwarded-client-cert", "cert=\(Vector.percent(Vector.leafPEM))")], .success(leaf)),
        Case(
            "a chain begins with the certificate", .envoy,
            [
                (
                    "x-forwarded-client-cert",
                    "By=spiffe://a;Subject=\"CN=\\\"a\\\",O=b;c\";Chain=\"\(Vector.percent(Vector.leafPEM + Vector.pem(Vector.middle) + Vector.pem(Vector.long)))\""
                )
            ], .success(withChain)),
        Case(
            "a chain that begins with another certificate", .envoy,
            [("x-forwarded-client-cert", "Cert=\"\(Vector.percent(Vector.leafPEM))\";Chain=\"\(Vector.percent(Vector.pem(Vector.middle)))\"")],
            .failure(.malformedPEM)),
        Case(
            "a hash and a subject make no identity", .envoy, [("x-forwarded-client-cert", "Hash=0a;Subject=\"CN=alice\";URI=urn:a;DNS=a")],
            .success(nil)),
        Case("an empty field", .envoy, [("x-forwarded-client-cert", "")], .success(nil)),
        Case(
            "an element that came with the request before the proxy's", .envoy, [("x-forwarded-client-cert", "Cert=\"a\",Hash=00")],
            .failure(.duplicate)),
        Case("two lines", .envoy, [("x-forwarded-client-cert", "Hash=0"), ("x-forwarded-client-cert", "Hash=1")], .failure(.duplicate)),
        Case("two certificates in an element", .envoy, [("x-forwarded-client-cert", "Cert=a;cert=b")], .failure(.duplicate)),
        Case("a pair without a value", .envoy, [("x-forwarded-client-cert", "Cert")], .failure(.malformedField)),
        Case("a quote that does not end", .envoy, [("x-forwarded-client-cert", "Cert=\"a")], .failure(.malformedField)),
        Case("a quote escaped at the end", .envoy, [("x-forwarded-client-cert", "Cert=\"a\\")], .failure(.malformedField)),
        Case("text behind a quote", .envoy, [("x-forwarded-client-cert", "Cert=\"a\"b")], .failure(.malformedField)),
        Case("a quote within a bare value", .envoy, [("x-forwarded-client-cert", "Cert=a\"b")], .failure(.malformedField)),
        Case("half a percent sign", .envoy, [("x-forwarded-client-cert", "Cert=%4")], .failure(.malformedField)),
        Case("text that is no PEM", .envoy, [("x-forwarded-client-cert", "Cert=alice")], .failure(.malformedPEM)),
        Case("an empty value", .envoy, [("x-forwarded-client-cert", "Cert=\"\"")], .failure(.malformedPEM)),
        Case(
            "PEM of a key", .envoy, [("x-forwarded-client-cert", "Cert=\(Vector.percent("-----BEGIN EC PRIVATE KEY-----\nMAMCAfs=\n"))")],
            .failure(.malformedPEM)),
        Case(
            "PEM that does not end", .envoy, [("x-forwarded-client-cert", "Cert=\(Vector.percent("-----BEGIN CERTIFICATE-----\nMAMCAfs=\n"))")],
            .failure(.malformedPEM)),
        Case(
            "PEM with two certificates where one is due", .envoy,
            [("x-forwarded-client-cert", "Cert=\(Vector.percent(Vector.leafPEM + Vector.leafPEM))")], .failure(.malformedPEM)),
        Case(
            "PEM of a bad body", .envoy,
            [("x-forwarded-client-cert", "Cert=\(Vector.percent("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----"))")],
            .failure(.malformedBase64)),
    ]
}

@Suite struct ForwardedCertificateTests {
    @Test("RFC 9440 Client-Cert and Client-Cert-Chain, HAProxy's and Envoy's fields", arguments: Case.clientCert + Case.haproxy + Case.envoy)
    private func fields(testCase: Case) {
        let fields = HTTPFields(testCase.fields.map { HTTPField($0.0, $0.1) })
        let outcome = Result { () throws(ForwardedCertificateFault) in try ForwardedCertificate.read(fields, testCase.form) }
        #expect(outcome == testCase.outcome)
    }

    @Test("certificates of more than 32 KiB are refused in every form", arguments: ForwardedCertificateForm.allCases)
    func bound(form: ForwardedCertificateForm) {
        func sequence(_ count: Int) -> [UInt8] {
            let content = count - 5
            return [0x30, 0x83, UInt8(content >> 16), UInt8(content >> 8 & 255), UInt8(content & 255)] + Array(repeating: 1, count: content)
        }
        for count in [1 << 17, 1 << 20] {
            let der = sequence(count)
            let value =
                switch form {
                case .clientCert: ":\(Vector.base64(der)):"
                case .haproxy: Vector.base64(der)
                case .envoy: "Cert=\(Vector.percent(Vector.pem(der)))"
                }
            #expect(throws: ForwardedCertificateFault.tooLarge) {
                try ForwardedCertificate.read([HTTPField(form.fieldNames[0], value)], form)
            }
        }
        let der = [0x30, 0x82, 0x7F, 0xF0] + [UInt8](repeating: 1, count: 0x7FF0)
        #expect(ForwardedCertificate(leaf: der).isWithinBounds)
        #expect(!ForwardedCertificate(leaf: der, chain: [der]).isWithinBounds)
    }

    @Test("any cut or changed byte gives a fault or a value, never a trap")
    func mangled() {
        var generator = SeededGenerator(seed: 7)
        let whole = Vector.percent(Vector.leafPEM + Vector.pem(Vector.middle))
        for (form, value) in [
            (ForwardedCertificateForm.envoy, "By=x;Chain=\"\(whole)\""), (.clientCert, ":\(Vector.leafText):"),
            (.haproxy, Vector.base64(Vector.long)),
        ] {
            for _ in 0..<2_000 {
                var bytes = Array(value.utf8)
                bytes.removeSubrange(Int.random(in: 0..<bytes.count, using: &generator)...)
                if let place = bytes.indices.randomElement(using: &generator) { bytes[place] = UInt8.random(in: 0x20...0x7E, using: &generator) }
                let text = String(decoding: bytes, as: UTF8.self)
                guard let certificate = try? ForwardedCertificate.read([HTTPField(form.fieldNames[0], text)], form) else { continue }
                #expect(certificate.leaf.first == 0x30)
            }
        }
    }

    @Test("every name that any form uses is known, so that it can be taken out")
    func names() throws {
        #expect(
            ForwardedCertificate.fieldNames == [
                "client-cert", "client-cert-chain", "x-ssl-client-der", "x-ssl-client-chain-der", "x-forwarded-client-cert",
            ])
        let head = try requestHead("GET / HTTP/1.1\r\nClient-Cert: x\r\nHost: a\r\nclient-cert: y\r\n\r\n")
        #expect(head.removingFields(ForwardedCertificate.fieldNames).fields == [HTTPField("host", "a")])
    }

    @Test("the specification of PROXY §2.2.5: the TLV 0x28 is the certificate, if the proxy says that one was shown")
    func headerTLV() throws {
        func header(client: UInt8, verify: UInt8 = 0, _ inner: [UInt8]) -> [UInt8] {
            ProxyVector.header(ProxyVector.ipv4 + ProxyVector.ssl(client: client, verify: verify, inner))
        }
        let tlv = ProxyVector.tlv(0x28, Vector.leaf)
        #expect(try proxyHeader(header(client: 7, tlv)).tls?.forwardedCertificate == Case.leaf)
        #expect(try proxyHeader(header(client: 5, tlv)).tls?.forwardedCertificate == Case.leaf)
        #expect(try proxyHeader(header(client: 1, tlv)).tls?.forwardedCertificate == nil, "no certificate was shown")
        #expect(try proxyHeader(header(client: 6, tlv)).tls?.forwardedCertificate == nil, "no TLS at all")
        #expect(
            try proxyHeader(header(client: 7, ProxyVector.tlv(0x22, Array("alice".utf8)))).tls?.forwardedCertificate == nil,
            "a name is no certificate")
        #expect(try proxyHeader(header(client: 7, ProxyVector.tlv(0x28, []))).tls?.forwardedCertificate == nil)
        #expect(throws: ProxyFault.duplicateTLV) { try parseProxy(header(client: 7, tlv + tlv)) }
    }

}

extension ForwardedCertificate {
    fileprivate var isWithinBounds: Bool { (try? check()) != nil }
}
