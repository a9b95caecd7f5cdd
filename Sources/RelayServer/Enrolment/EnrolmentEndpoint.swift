import CertificateAuthority
import FoundationEssentials
import HTTPProtocol
import TLSTransport

/// What the authority is asked for, by a device or by an administrator.
enum EnrolmentRequest: Sendable {
    /// A new device, whose token proves that it may be one.
    case enrol(EnrolmentSecret, request: [UInt8])
    /// A device with a certificate that is to be renewed.
    case renew(PresentedCertificate, request: [UInt8])
    case createToken(TokenOrder)
    case revoke(CertificateSelector, RevocationReason)

    /// A token as it is ordered; the authority checks names, label and times.
    struct TokenOrder: Sendable {
        var names: [SubjectAlternativeName]
        var label: String?
        var validity = EnrolmentToken.validityDefault
        var certificateValidity: Duration?
    }
}

/// What the authority answered.
enum EnrolmentOutcome: Sendable {
    case issued(CertificateEntry, certificate: String, chain: String)
    /// The secret is for whoever ordered the token, and for nobody else: not for the log.
    case token(EnrolmentToken, EnrolmentSecret)
    case revoked([CertificateEntry])
    case refused(CertificateAuthorityFault)
    /// More is waiting for the authority than it takes.
    case busy
    /// The address has asked too often.
    case limited(retryAfterSeconds: Int)
}

/// What the authority does over HTTP: from the content of a request to what is asked, and from the outcome to the answer. Decides; others do.
enum EnrolmentEndpoint {
    private struct EnrolBody: Decodable {
        let token: String
        let csr: String
    }

    private struct RenewBody: Decodable {
        let csr: String
    }

    private struct TokenBody: Decodable {
        let names: [String]
        let label: String?
        let validSeconds: Int64?
        let certificateDays: Int?

        private enum Key: CodingKey { case names, label, validSeconds, certificateDays }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: Key.self)
            names = try members.decode([String].self, forKey: .names)
            label = try members.decodeIfThere(.label)
            validSeconds = try members.decodeIfThere(.validSeconds)
            certificateDays = try members.decodeIfThere(.certificateDays)
        }
    }

    private struct RevocationBody: Decodable {
        let serial: String?
        let fingerprint: String?
        let reason: String?

        private enum Key: CodingKey { case serial, fingerprint, reason }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: Key.self)
            serial = try members.decodeIfThere(.serial)
            fingerprint = try members.decodeIfThere(.fingerprint)
            reason = try members.decodeIfThere(.reason)
        }
    }

    /// `POST /v1/enroll`: the token is all the proof there is.
    static func enrol(_ body: [UInt8]) throws(EnrolmentProblem) -> EnrolmentRequest {
        let parsed = try decode(EnrolBody.self, body)
        // What cannot be a token gets the answer that any wrong one gets.
        guard let secret = EnrolmentSecret(parsed.token) else { throw .fault(.tokenNotAccepted) }
        return .enrol(secret, request: Array(parsed.csr.utf8))
    }

    /// `POST /v1/renew`.
    ///
    /// - Parameter identity: what mutual TLS with the relay itself proved on this connection.
    static func renew(_ body: [UInt8], _ identity: PeerIdentity?) throws(EnrolmentProblem) -> EnrolmentRequest {
        guard let identity, identity.proof == .certificate else { throw .certificateNeeded }
        let parsed = try decode(RenewBody.self, body)
        guard let presented = PresentedCertificate(identity) else { throw .fault(.notPresentable) }
        return .renew(presented, request: Array(parsed.csr.utf8))
    }

    /// `POST /v1/enrolment-tokens`, for administrators.
    static func createToken(_ body: [UInt8]) throws(EnrolmentProblem) -> EnrolmentRequest {
        let parsed = try decode(TokenBody.self, body)
        do throws(CertificateAuthorityFault) {
            guard parsed.names.count <= SubjectAlternativeName.countMax else { throw .tooManyNames(max: SubjectAlternativeName.countMax) }
            var order = EnrolmentRequest.TokenOrder(names: [], label: parsed.label)
            for text in parsed.names { order.names.append(try SubjectAlternativeName(parsing: text)) }
            // Values beyond what a Duration can say are beyond what is allowed as well.
            if let seconds = parsed.validSeconds { order.validity = .seconds(min(max(seconds, 0), 1 << 40)) }
            if let days = parsed.certificateDays { order.certificateValidity = .days(min(max(days, 0), 1 << 20)) }
            return .createToken(order)
        } catch {
            throw .fault(error)
        }
    }

    /// `POST /v1/revocations`, for administrators: one certificate by its serial number, or all of one key by its fingerprint; what was renewed from
    /// them goes with them, unless the reason is `superseded`.
    static func revoke(_ body: [UInt8]) throws(EnrolmentProblem) -> EnrolmentRequest {
        let parsed = try decode(RevocationBody.self, body)
        let selector: CertificateSelector
        switch (parsed.serial, parsed.fingerprint) {
        case (let text?, nil):
            guard let serial = CertificateSerial(text) else { throw .malformed("'serial' is not a serial number of 32 hexadecimal digits.") }
            selector = .serial(serial)
        case (nil, let text?):
            guard let fingerprint = KeyFingerprint(text) else { throw .malformed("'fingerprint' is not 64 hexadecimal digits.") }
            selector = .key(fingerprint)
        case (nil, nil), (.some, .some): throw .malformed("One of 'serial' and 'fingerprint' must be there, and not both.")
        }
        guard let reason = RevocationReason(rawValue: parsed.reason ?? RevocationReason.unspecified.rawValue) else {
            throw .malformed("'reason' is not a reason that can be given.")
        }
        return .revoke(selector, reason)
    }

    private static func decode<Body: Decodable>(_ type: Body.Type, _ body: [UInt8]) throws(EnrolmentProblem) -> Body {
        do {
            return try JSONDecoder().decode(type, from: Data(body))
        } catch DecodingError.keyNotFound(let member, _) {
            throw .malformed("The member '\(member.stringValue)' is missing.")
        } catch DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context) {
            // The path is made of the members that are looked for: nothing in it is the client's.
            guard let member = context.codingPath.first else { throw .malformed("The content is not a JSON object.") }
            throw .malformed("The member '\(member.stringValue)' is not of the type that it must be.")
        } catch {
            throw .malformed("The content is not a JSON object, or a number in it is out of range.")
        }
    }
}

// MARK: - Answers

extension EnrolmentEndpoint {
    private struct IssuedBody: Encodable {
        let certificate: String
        let chain: String
        let notAfter: Int64
    }

    private struct CreatedTokenBody: Encodable {
        let token: String
        let id: String
        let names: [String]
        let label: String
        let expires: Int64
    }

    private struct RevokedBody: Encodable {
        struct Entry: Encodable {
            let serial: String
            let label: String
            let names: [String]
            let fingerprint: String?
            let renews: String?
        }

        let revoked: [Entry]
    }

    /// The answer to an outcome. Times are milliseconds since 1970.
    static func answer(to outcome: EnrolmentOutcome, now: UnixTime) -> HTTPAnswer {
        switch outcome {
        case .issued(let entry, let certificate, let chain):
            HTTPAnswer(
                .created, json: encode(IssuedBody(certificate: certificate, chain: chain, notAfter: entry.notAfter.seconds * 1_000)))
        case .token(let token, let secret):
            HTTPAnswer(
                .created,
                json: encode(
                    CreatedTokenBody(
                        token: secret.text, id: token.id.description, names: token.names.map(\.description), label: token.label,
                        expires: token.expires.seconds * 1_000)))
        case .revoked(let entries):
            HTTPAnswer(
                .ok,
                json: encode(
                    RevokedBody(
                        revoked: entries.map { entry in
                            RevokedBody.Entry(
                                serial: entry.serial.description, label: entry.label, names: entry.names.map(\.description),
                                fingerprint: entry.keyFingerprint?.description, renews: entry.origin.predecessor?.description)
                        })))
        case .refused(let fault): EnrolmentProblem.fault(fault).answer(now: now)
        case .busy: EnrolmentProblem.busy.answer(now: now)
        case .limited(let seconds): EnrolmentProblem.limited(retryAfterSeconds: seconds).answer(now: now)
        }
    }

    /// What the audit is told: the outcome, and whom it was about. Never a token.
    static func record(of outcome: EnrolmentOutcome) -> (outcome: Audit.Outcome, details: [(String, String)]) {
        switch outcome {
        case .issued(let entry, _, _):
            (.done, [("names", entry.names.map(\.description).joined(separator: " ")), ("serial", entry.serial.description)])
        case .token(let token, _): (.done, [("names", token.names.map(\.description).joined(separator: " ")), ("token", token.id.description)])
        case .revoked(let entries): (.done, [("serials", entries.map(\.serial.description).joined(separator: " "))])
        case .refused(let fault): (.refused(EnrolmentProblem.fault(fault).code), [])
        case .busy: (.refused(EnrolmentProblem.busy.code), [])
        case .limited(let seconds): (.refused(EnrolmentProblem.limited(retryAfterSeconds: seconds).code), [])
        }
    }

    private static func encode(_ value: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(value) else { preconditionFailure("strings and numbers always encode") }
        return Array(data)
    }
}

extension KeyedDecodingContainer {
    /// A member that may be left out, but not be null.
    fileprivate func decodeIfThere<Value: Decodable>(_ key: Key) throws -> Value? {
        contains(key) ? try decode(Value.self, forKey: key) : nil
    }
}

extension PresentedCertificate {
    /// `nil` for a serial number that this kind of authority never makes.
    init?(_ identity: PeerIdentity) {
        let digits = identity.serialNumber
        let isOdd = !digits.utf8.count.isMultiple(of: 2)
        guard let serial = CertificateSerial(isOdd ? "0" + digits : digits), let key = KeyFingerprint(identity.keyFingerprint.hex) else { return nil }
        self.init(serial: serial, keyFingerprint: key)
    }
}
