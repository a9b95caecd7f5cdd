import CertificateAuthority
import Foundation
import HTTPProtocol
import Reactor
import RelayBase
import Testing

@testable import RelayServer

/// An address of one of several networks.
private func address(_ network: UInt32, _ host: some BinaryInteger) -> AddressKey {
    SocketAddress(ipv4: network << 24 | UInt32(host), port: 1).key
}

@Suite("Enrolment: budget")
struct EnrolmentBudgetTests {
    private let one = address(0, 1)
    private let two = address(0, 2)
    private let start = MonotonicInstant.zero.advanced(byMilliseconds: 1_000_000)

    @Test("a minute's worth at once, then evenly; each address has its own")
    func evenly() {
        var budget = EnrolmentBudget(perMinute: 10)
        for _ in 0..<10 { #expect(budget.spend(one, now: start) == nil) }
        #expect(budget.spend(one, now: start) == 6)
        #expect(budget.spend(two, now: start) == nil)
        #expect(budget.spend(one, now: start.advanced(byMilliseconds: 5_999)) == 1)
        #expect(budget.spend(one, now: start.advanced(byMilliseconds: 6_000)) == nil)
        #expect(budget.spend(one, now: start.advanced(byMilliseconds: 6_001)) == 6)
    }

    @Test("what is refused costs nothing: a flood does not put off its own end")
    func flood() {
        var budget = EnrolmentBudget(perMinute: 10)
        for _ in 0..<10_000 { _ = budget.spend(one, now: start) }
        #expect(budget.spend(one, now: start.advanced(byMilliseconds: 6_000)) == nil)
    }

    @Test("a crowd of addresses shares one budget once the table is full, and the known ones keep theirs")
    func crowd() {
        var budget = EnrolmentBudget(perMinute: 10)
        for low in 0..<UInt64(EnrolmentBudget.addressesMax) { #expect(budget.spend(address(1, low), now: start) == nil) }
        let admitted = (0..<UInt64(1_000)).filter { budget.spend(address(2, $0), now: start) == nil }
        #expect(admitted.count == 10)
        #expect(budget.spend(address(1, 7), now: start) == nil)
        #expect(budget.spend(address(3, 0), now: start.advanced(byMilliseconds: 6_001)) == nil, "whole budgets are forgotten")
    }
}

@Suite("Enrolment: from bytes to request and from outcome to response")
struct EnrolmentEndpointTests {
    private let token = "segue-enrol-" + String(repeating: "0", count: 48)

    private func problem(_ operation: APIOperation, _ text: String) -> (status: Int, code: String)? {
        let body = Array(text.utf8)
        do {
            switch operation {
            case .enroll: _ = try EnrolmentEndpoint.enrol(body)
            case .renew: _ = try EnrolmentEndpoint.renew(body, nil)
            case .createEnrolmentToken: _ = try EnrolmentEndpoint.createToken(body)
            default: _ = try EnrolmentEndpoint.revoke(body)
            }
            return nil
        } catch {
            return (error.answer(now: UnixTime(seconds: 0)).status.code, error.code)
        }
    }

    @Test("a whole request is read, whatever else it holds")
    func good() throws {
        let body = #"{"csr":"-----BEGIN","token":"\#(token)","more":[1]}"#
        guard case .enrol(let secret, let request) = try EnrolmentEndpoint.enrol(Array(body.utf8)) else {
            Issue.record("no request to enrol")
            return
        }
        #expect(secret.text == token && request == Array("-----BEGIN".utf8))
    }

    @Test(
        "what is no such object is refused",
        arguments: [
            "", "{", "[]", "null", "1", #""x""#, "{}", #"{"token":1,"csr":"x"}"#, #"{"token":"x"}"#, #"{"csr":"x"}"#, "\u{0}",
            String(repeating: "[", count: 10_000),
        ])
    func malformed(body: String) throws {
        let found = try #require(problem(.enroll, body))
        #expect(found.status == 400 && found.code == "malformed")
    }

    @Test(
        "the detail says which member",
        arguments: [
            (#"{"token":"x"}"#, "The member 'csr' is missing."),
            (#"{"token":1,"csr":"x"}"#, "The member 'token' is not of the type that it must be."),
            (#"{"token":null,"csr":"x"}"#, "The member 'token' is not of the type that it must be."), ("[]", "The content is not a JSON object."),
        ])
    func whichMember(body: String, detail: String) throws {
        let problem = try #require(throws: EnrolmentProblem.self) { _ = try EnrolmentEndpoint.enrol(Array(body.utf8)) }
        #expect(String(decoding: problem.answer(now: UnixTime(seconds: 0)).body, as: UTF8.self).contains("\"\(detail)\""))
    }

    @Test("what cannot be a token has the answer of one that is wrong", arguments: ["", "x", "segue-enrol-", "SEGUE-ENROL-0"])
    func noToken(text: String) throws {
        let found = try #require(problem(.enroll, #"{"token":"\#(text)","csr":"x"}"#))
        #expect(found.status == 403 && found.code == "token_refused")
    }

    @Test(
        "a token is ordered with names by kind; what is out of range is left to the authority to refuse",
        arguments: [
            (#"{"names":["URI:urn:segue:client:a","email:a@b.example"],"label":"a","validSeconds":60,"certificateDays":2}"#, nil),
            (#"{"names":["URI:urn:segue:client:a"],"validSeconds":-9223372036854775808,"certificateDays":9223372036854775807}"#, nil),
            (#"{"names":[]}"#, nil), (#"{"names":["urn:segue:client:a"]}"#, 422), (#"{"names":["DNS:a_b"]}"#, 422), (#"{"names":"x"}"#, 400),
            (#"{"names":["URI:spki:00"]}"#, 422), (#"{"names":["URI:urn:x:y"],"validSeconds":1.5}"#, 400), ("{}", 400),
        ] as [(String, Int?)])
    func tokenOrders(body: String, status: Int?) { #expect(problem(.createEnrolmentToken, body)?.status == status) }

    @Test(
        "a revocation names exactly one certificate or key, and a known reason",
        arguments: [
            (#"{"serial":"0a"}"#, nil), (#"{"fingerprint":"\#(String(repeating: "ab", count: 32))","reason":"keyCompromise"}"#, nil),
            (#"{}"#, 400), (#"{"serial":"0a","fingerprint":"\#(String(repeating: "ab", count: 32))"}"#, 400), (#"{"serial":""}"#, 400),
            (#"{"serial":"xyz"}"#, 400), (#"{"serial":"00"}"#, 400), (#"{"fingerprint":"ab"}"#, 400), (#"{"serial":"0a","reason":"bored"}"#, 400),
        ] as [(String, Int?)])
    func revocations(body: String, status: Int?) { #expect(problem(.revokeCertificate, body)?.status == status) }

    @Test("renewal needs a certificate")
    func renewal() throws {
        let found = try #require(problem(.renew, #"{"csr":"x"}"#))
        #expect(found.status == 403 && found.code == "certificate_needed")
    }

    @Test("what is wrong with the authority itself is not told to clients")
    func ourFault() throws {
        let outcome = EnrolmentOutcome.refused(.system(operation: "open", path: "/etc/segue/ca/ca-key.pem", code: 13))
        let response = EnrolmentEndpoint.answer(to: outcome, now: UnixTime(seconds: 0))
        #expect(response.status == .internalServerError)
        #expect(!String(decoding: response.body, as: UTF8.self).contains("ca-key"))
    }

    @Test("RFC 9110 §10.2.3 what may be tried again says when")
    func retryAfter() {
        let now = UnixTime(seconds: 1_000)
        let table: [(EnrolmentOutcome, Int, String)] = [
            (.busy, 503, "1"), (.limited(retryAfterSeconds: 7), 429, "7"),
            (.refused(.renewalTooEarly(until: UnixTime(seconds: 1_060))), 429, "60"), (.refused(.lockTimeout(path: "x")), 503, "5"),
        ]
        for (outcome, status, seconds) in table {
            let response = EnrolmentEndpoint.answer(to: outcome, now: now).response
            #expect(response.head.status.code == status && response.head.fields.single("retry-after") == seconds)
        }
    }
}

@Suite("Enrolment: configuration")
struct EnrolmentConfigurationTests {
    private func configuration(_ text: String, _ environment: [String: String] = [:]) throws -> EnrolmentConfiguration? {
        try ServerConfiguration(text: Array(text.utf8), environment: environment).enrolment
    }

    @Test("off unless it is asked for; the rest has defaults")
    func defaults() throws {
        #expect(try configuration("{}") == nil)
        let found = try #require(try configuration("{enrolment: {authority: '/etc/segue/ca'}}"))
        #expect(found == EnrolmentConfiguration(authority: "/etc/segue/ca") && found.renewalLifePercent == 50 && found.attemptsPerMinute == 10)
    }

    @Test("variables win over the file")
    func variables() throws {
        let environment = [
            "SEGUE_ENROLMENT_AUTHORITY": "/b", "SEGUE_ENROLMENT_RENEWAL_LIFE_PERCENT": "0", "SEGUE_ENROLMENT_ATTEMPTS_PER_MINUTE": "99",
        ]
        let found = try #require(try configuration("{enrolment: {authority: '/a', renewalLifePercent: 10}}", environment))
        #expect(found.authority == "/b" && found.renewalLifePercent == 0 && found.attemptsPerMinute == 99)
    }

    @Test(
        "faults are told with their path",
        arguments: [
            ("{enrolment: {}}", "enrolment.authority"), ("{enrolment: {authority: ''}}", "enrolment.authority"),
            ("{enrolment: {authority: '/a', renewalLifePercent: 100}}", "enrolment.renewalLifePercent"),
            ("{enrolment: {authority: '/a', attemptsPerMinute: 0}}", "enrolment.attemptsPerMinute"), ("{enrolment: true}", "enrolment"),
            ("{enrolment: {authority: '/a', token: 'x'}}", "enrolment.token"),
        ])
    func faults(text: String, path: String) throws {
        let invalid = #expect(throws: ServerConfiguration.Invalid.self) { try configuration(text) }
        #expect(invalid?.faults.map(\.path).contains(path) == true)
    }

    @Test("a relay whose authority is not there does not start")
    func absentAuthority() throws {
        let log = try Log(format: .json)
        defer { log.stop() }
        var configuration = ServerConfiguration()
        configuration.enrolment = EnrolmentConfiguration(authority: "/nowhere")
        #expect {
            _ = try Server(configuration, log: log)
        } throws: { error in
            if case ServerFault.enrolment(.noAuthority(path: "/nowhere")) = error { true } else { false }
        }
    }
}

@Suite("Enrolment: worker")
struct EnrolmentWorkerTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "segue-enrolment-\(UUID().uuidString)").path

    private func worker(attempts: Int = 10) throws -> (EnrolmentWorker, Log) {
        let authority = try CertificateAuthority.create(directory: folder, commonName: "Test CA", now: .current())
        var configuration = EnrolmentConfiguration(authority: folder)
        configuration.attemptsPerMinute = attempts
        let log = try Log(format: .json)
        return (try EnrolmentWorker(authority, configuration: configuration, log: log), log)
    }

    private func outcome(_ worker: EnrolmentWorker, _ request: EnrolmentRequest) async -> EnrolmentOutcome {
        await withCheckedContinuation { continuation in worker.submit(request) { continuation.resume(returning: $0) } }
    }

    @Test("each request has one answer, in order, from the worker's thread; tokens can be ordered and spent; certificates revoked by key")
    func works() async throws {
        let (worker, log) = try worker()
        defer {
            log.stop()
            try? FileManager.default.removeItem(atPath: folder)
        }
        let order = EnrolmentRequest.TokenOrder(names: [try .client(named: "carol")])
        guard case .token(_, let secret) = await outcome(worker, .createToken(order)) else {
            Issue.record("no token")
            return
        }
        let credentials = DeviceCredentials(certificatePath: folder + "/device/certificate.pem", keyPath: folder + "/device/key.pem")
        let request = Array(try credentials.requestWithNewKey().utf8)
        guard case .issued(let entry, let certificate, _) = await outcome(worker, .enrol(secret, request: request)) else {
            Issue.record("no certificate")
            return
        }
        let installed = try credentials.install(certificate: certificate, keyIsNew: true)
        #expect(installed.names == [try .client(named: "carol")])
        let key = try #require(entry.keyFingerprint)
        guard case .revoked(let revoked) = await outcome(worker, .revoke(.key(key), .keyCompromise)) else {
            Issue.record("not revoked")
            return
        }
        #expect(revoked.map(\.serial) == [entry.serial])
        guard case .refused(.tokenNotAccepted) = await outcome(worker, .enrol(secret, request: request)) else {
            Issue.record("a token was taken twice")
            return
        }
    }

    @Test("beyond the address's budget nothing reaches the authority")
    func limited() async throws {
        let (worker, log) = try worker(attempts: 2)
        defer {
            log.stop()
            try? FileManager.default.removeItem(atPath: folder)
        }
        let secret = try #require(EnrolmentSecret("segue-enrol-" + String(repeating: "0", count: 48)))
        let here = address(0, 9)
        let now = MonotonicClock.now()
        var refused = 0
        var limited = 0
        for _ in 0..<5 {
            let outcome = await withCheckedContinuation { continuation in
                worker.submit(.enrol(secret, request: []), from: here, now: now) { continuation.resume(returning: $0) }
            }
            switch outcome {
            case .refused(.tokenNotAccepted): refused += 1
            case .limited: limited += 1
            default: Issue.record("another outcome")
            }
        }
        #expect(refused == 2 && limited == 3)
    }
}
