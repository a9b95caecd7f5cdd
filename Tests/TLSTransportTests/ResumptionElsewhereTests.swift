import TLSTransport
import Testing

/// Sessions of one server offered to another of the same process, which has the same ticket keys. Other servers skipped the client's certificate then.
@Suite struct ResumptionElsewhereTests {
    /// Two servers, and what must become of a session of the first at the second.
    struct Case: CustomTestStringConvertible, Sendable {
        var what: String
        var client: String?
        var first: @Sendable (inout TLSConfiguration) -> Void
        var second: @Sendable (inout TLSConfiguration) -> Void
        /// `nil`: let in, by a full handshake.
        var fault: TLSFault?

        var testDescription: String { what }
    }

    private static func lists(_ names: String...) -> @Sendable (inout TLSConfiguration) -> Void {
        { $0.revocationListFiles = names.map(Contexts.pki.path) }
    }

    private static func authorities(_ names: String...) -> @Sendable (inout TLSConfiguration) -> Void {
        { $0.authorityFiles = names.map(Contexts.pki.path) }
    }

    private static func demand(_ policy: ClientCertificatePolicy) -> @Sendable (inout TLSConfiguration) -> Void {
        { $0.clientCertificate = policy }
    }

    /// nginx: with TLS 1.3 tickets of a virtual server that asks for no certificate were taken by one that does.
    static let otherDemands = [
        Case(what: "none, then required", client: nil, first: demand(.none), second: demand(.required), fault: .noCertificate),
        Case(what: "optional and not shown, then required", client: nil, first: demand(.optional), second: demand(.required), fault: .noCertificate),
        Case(what: "optional and shown, then required", client: "client", first: demand(.optional), second: demand(.required), fault: nil),
        Case(what: "required, then optional", client: "client", first: demand(.required), second: demand(.optional), fault: nil),
        Case(
            what: "a list of the leaf, then of the chain", client: "client", first: { $0.revocationListFiles = [Contexts.pki.path("root.crl")] },
            second: {
                $0.revocationListFiles = [Contexts.pki.path("root.crl")]
                $0.revocation = .chain
            }, fault: nil),
    ]

    /// Apache's mod_ssl: a client that one virtual host trusts came in at another with other client authorities by resuming its session.
    static let otherTrust = [
        Case(
            what: "other authorities", client: "client", first: authorities("root.pem"), second: authorities("foreign.pem"), fault: .unknownAuthority),
        Case(
            what: "an authority taken away", client: "client", first: authorities("root.pem", "foreign.pem"), second: authorities("foreign.pem"),
            fault: .unknownAuthority),
        Case(
            what: "another authority taken away", client: "client", first: authorities("root.pem", "foreign.pem"), second: authorities("root.pem"),
            fault: nil),
        Case(what: "a new list", client: "revoked", first: lists("root-empty.crl"), second: lists("root.crl"), fault: .revoked),
        Case(what: "a delta", client: "revoked", first: lists("root-base.crl"), second: lists("root-base.crl", "root-delta.crl"), fault: .revoked),
        Case(what: "a list out of date", client: "client", first: lists("root.crl"), second: lists("root-stale.crl"), fault: .crlExpired),
        Case(
            what: "another certificate of its own", client: "client", first: { _ in }, second: { $0.keyPairs = [Contexts.pki.pair("server-rsa")] },
            fault: nil),
    ]

    private func check(_ testCase: Case, _ version: TLSVersion) throws {
        let tickets = TicketKeys()
        let client = try Contexts.client(testCase.client) { $0.maximumVersion = version }
        let first = try Wire(client, Contexts.server(tickets: tickets, testCase.first))
        first.run()
        #expect(first.isComplete)
        let session = try #require(first.client.machine.session)
        let home = try Wire(client, Contexts.server(tickets: tickets, testCase.first), session: session)
        home.run()
        #expect(home.server.machine.negotiated?.isResumed == true, "at home the session is good, else this proves nothing")
        let second = try Wire(client, Contexts.server(tickets: tickets, testCase.second), session: session)
        second.run()
        #expect(second.server.fault == testCase.fault)
        #expect(second.server.machine.negotiated?.isResumed != true)
        #expect(second.isComplete == (testCase.fault == nil))
        if testCase.fault == nil { #expect((second.server.machine.peerIdentity != nil) == (testCase.client != nil)) }
    }

    @Test(
        "CVE-2025-23419: a session is not resumed at a server with other demands on the client's certificate", arguments: otherDemands,
        TLSVersion.allCases)
    func demands(testCase: Case, version: TLSVersion) throws {
        try check(testCase, version)
    }

    @Test("CVE-2025-23048: a session is not resumed at a server that trusts other authorities", arguments: otherTrust, TLSVersion.allCases)
    func trust(testCase: Case, version: TLSVersion) throws {
        try check(testCase, version)
    }
}
