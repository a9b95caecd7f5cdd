import Foundation
import TLSTransport
import Testing

@Suite struct StaplingTests {
    private static let pki = Contexts.pki

    private func context(
        _ response: String, certificate: String = "server", clock: WallClock = .system, replacing previous: TLSContext? = nil
    ) throws(TLSSetupError) -> TLSContext {
        var configuration = Contexts.serverConfiguration()
        configuration.keyPairs = [Self.pki.pair(certificate)]
        configuration.keyPairs[0].ocspResponseFile = Self.pki.path(response)
        return try TLSContext(server: configuration, tickets: nil, clock: clock, replacing: previous)
    }

    @Test("RFC 6960 §4.2.2.2 a response signed by the issuer, or by a responder that it has appointed, is taken", arguments: ["server", "delegated"])
    func good(name: String) throws {
        let context = try context("\(name).ocsp")
        #expect(context.staleStaples.isEmpty)
        #expect(context.stapleFaults.isEmpty)
    }

    @Test(
        "a response that a client would not take is refused, and it is said why",
        arguments: [
            ("not-appointed", "server", "signature"), ("foreign-signer", "server", "signature"), ("other-certificate", "server", "not about"),
            ("unknown", "server", "unknown"), ("server-revoked", "server-revoked", "revoked"), ("endless", "server", "next"),
            ("try-later", "server", "trylater"), ("text", "server", "DER"), ("server", "foreign-client", "issuer"),
        ])
    func bad(name: String, certificate: String, word: String) throws {
        let path = Self.pki.path("\(name).ocsp")
        do throws(TLSSetupError) {
            _ = try context("\(name).ocsp", certificate: certificate)
            Issue.record("taken")
        } catch .unusableOCSPResponse(path, let detail) {
            #expect(detail.contains(word))
        } catch {
            Issue.record(error)
        }
    }

    @Test(
        "RFC 6960 §4.2.2.1 a response is refused before its thisUpdate and after its nextUpdate",
        arguments: [
            (-3_600, false), (0, true), (6 * 86_400, true), (8 * 86_400, false),
        ])
    func validity(seconds: Int64, isTaken: Bool) throws {
        let now = Int64(Date().timeIntervalSince1970) + seconds
        let context = try? context("server.ocsp", clock: WallClock { now })
        #expect((context != nil) == isTaken)
    }

    @Test("a response that has gone out of date is told, and a bad new one keeps the old")
    func staleAndKept() throws {
        let clock = SettableClock(Int64(Date().timeIntervalSince1970))
        let first = try context("server.ocsp", clock: clock.clock)
        let second = try context("text.ocsp", clock: clock.clock, replacing: first)
        #expect(second.stapleFaults.count == 1)
        #expect(second.staleStaples.isEmpty, "the old one is stapled on")
        clock.set(Int64(Date().timeIntervalSince1970) + 8 * 86_400)
        #expect(first.staleStaples == [Self.pki.path("server.ocsp")])
        #expect(second.staleStaples == [Self.pki.path("text.ocsp")])
        #expect(second.trustVersion == first.trustVersion, "tickets outlive a new response")
    }

    @Test("the response of another certificate is not kept for a new one")
    func notKeptForAnother() throws {
        let first = try context("server.ocsp")
        let second = try context("text.ocsp", certificate: "server-rsa", replacing: first)
        #expect(second.stapleFaults.count == 1)
    }

    @Test("a client that asks gets the response, in both versions, from an independent implementation's view", arguments: TLSVersion.allCases)
    func stapled(version: TLSVersion) throws {
        let server = try LoopbackServer(context("server.ocsp"))
        let flag = version == .tls12 ? "-tls1_2" : "-tls1_3"
        let (_, output) = try server.serve(
            ["-status", flag, "-cert", "client.pem", "-key", "client.key", "-CAfile", "root.pem"], input: "", in: Self.pki.folder)
        #expect(output.contains("OCSP Response Status: successful"))
        #expect(output.contains("Cert Status: good"))
    }
}
