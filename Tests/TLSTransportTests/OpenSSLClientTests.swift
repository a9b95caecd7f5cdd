import Foundation
import TLSTransport
import Testing

/// A client that is none of ours, over a real socket.
@Suite struct OpenSSLClientTests {
    private let credentials = [
        "-cert", "client.pem", "-key", "client.key", "-CAfile", "root.pem", "-verify_return_error", "-servername", "relay.example",
    ]

    @Test("openssl s_client connects with a client certificate, is echoed, and ends cleanly", arguments: ["-tls1_2", "-tls1_3"])
    func echo(version: String) throws {
        let server = try LoopbackServer(Contexts.server(tickets: TicketKeys()) { $0.applicationProtocols = ["h2", "http/1.1"] })
        let (outcome, text) = try server.serve(
            credentials + [version, "-quiet", "-no_ign_eof", "-alpn", "http/1.1"], input: "hello, relay\n", in: Contexts.pki.folder)
        #expect(outcome.fault == nil)
        #expect(outcome.negotiated?.version == (version == "-tls1_2" ? .tls12 : .tls13))
        #expect(outcome.negotiated?.applicationProtocol == "http/1.1")
        #expect(outcome.identity?.name == "urn:segue:alice")
        #expect(String(decoding: outcome.received, as: UTF8.self) == "hello, relay\n")
        #expect(outcome.endIsClean == true)
        #expect(text.contains("hello, relay"))
    }

    @Test("openssl s_client resumes its session", arguments: ["-tls1_2", "-tls1_3"])
    func resumes(version: String) throws {
        let server = try LoopbackServer(Contexts.server(tickets: TicketKeys()))
        let file = "session-\(UUID().uuidString).pem"
        let first = try server.serve(credentials + [version, "-quiet", "-no_ign_eof", "-sess_out", file], input: "one\n", in: Contexts.pki.folder)
        #expect(first.outcome.negotiated?.isResumed == false)
        let second = try server.serve(credentials + [version, "-quiet", "-no_ign_eof", "-sess_in", file], input: "two\n", in: Contexts.pki.folder)
        #expect(second.outcome.negotiated?.isResumed == true)
        #expect(second.outcome.identity?.name == "urn:segue:alice")
    }

    @Test(
        "old versions and weak suites are refused",
        arguments: [
            (["-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"], TLSFault.protocolVersion), (["-tls1", "-cipher", "DEFAULT@SECLEVEL=0"], .protocolVersion),
            (["-tls1_2", "-cipher", "AES128-GCM-SHA256"], .noSharedCipher), (["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA"], .noSharedCipher),
            (["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA256"], .noSharedCipher), (["-tls1_3", "-groups", "P-521"], .noSharedCipher),
            (["-tls1_3", "-ciphersuites", "TLS_AES_128_CCM_SHA256"], .noSharedCipher),
        ])
    func weak(arguments: [String], fault: TLSFault) throws {
        let server = try LoopbackServer(Contexts.server())
        let (outcome, _) = try server.serve(credentials + arguments + ["-quiet"], input: "", in: Contexts.pki.folder)
        #expect(outcome.fault == .tls(fault))
    }

    @Test("a renegotiation is refused (RFC 5746 §4.5, CVE-2011-1473)")
    func renegotiation() throws {
        let server = try LoopbackServer(Contexts.server())
        let (outcome, text) = try server.serve(credentials + ["-tls1_2"], input: "R\n", in: Contexts.pki.folder)
        #expect(text.contains("no renegotiation"), "\(text.suffix(300))")
        #expect(outcome.received.isEmpty)
    }
}
