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

/// `POST /v1/enroll` and `POST /v1/renew`: from the bytes of a request to what is asked, and from the outcome to the response. Decides; others do.
enum EnrolmentEndpoint {
    typealias Response = (head: HTTPResponseHead, body: [UInt8])

    static let enrolPath = "/v1/enroll"
    static let renewPath = "/v1/renew"
    /// A request with the largest key that is taken has 3 KiB.
    static let bodyBytesMax = 16_384

    private struct EnrolBody: Decodable {
        let token: String
        let csr: String
    }

    private struct RenewBody: Decodable {
        let csr: String
    }

    private struct IssuedBody: Encodable {
        let certificate: String
        let chain: String
        let notAfter: Int64
    }

    /// Whether the path is one of the two.
    static func serves(_ path: String) -> Bool { path == enrolPath || path == renewPath }

    /// Reads a request.
    ///
    /// - Parameters:
    ///   - identity: what mutual TLS proved on this connection.
    ///   - contentType: the field's value. Only JSON is taken: a web page cannot send that to another origin without being asked (Fetch §2.2.2), and a
    ///     browser would show its user's certificate to anybody's form.
    static func read(path: String, contentType: String?, body: [UInt8], identity: PeerIdentity?) throws(EnrolmentProblem) -> EnrolmentRequest {
        guard isJSON(contentType) else { throw .notJSON }
        guard body.count <= bodyBytesMax else { throw .tooLarge }
        if path == enrolPath {
            guard let parsed = try? JSONDecoder().decode(EnrolBody.self, from: Data(body)) else { throw .malformed }
            // What cannot be a token gets the answer that any wrong one gets.
            guard let secret = EnrolmentSecret(parsed.token) else { throw .fault(.tokenNotAccepted) }
            return .enrol(secret, request: Array(parsed.csr.utf8))
        }
        guard let identity, identity.proof == .certificate else { throw .certificateNeeded }
        guard let parsed = try? JSONDecoder().decode(RenewBody.self, from: Data(body)) else { throw .malformed }
        guard let presented = PresentedCertificate(identity) else { throw .fault(.notPresentable) }
        return .renew(presented, request: Array(parsed.csr.utf8))
    }

    /// The response to an outcome.
    static func response(to outcome: EnrolmentOutcome, now: UnixTime) -> Response {
        switch outcome {
        case .issued(let entry, let certificate, let chain):
            return created(IssuedBody(certificate: certificate, chain: chain, notAfter: entry.notAfter.seconds * 1_000))
        case .refused(let fault): return EnrolmentProblem.fault(fault).response(now: now)
        case .busy: return EnrolmentProblem.busy.response(now: now)
        case .limited(let seconds): return EnrolmentProblem.limited(retryAfterSeconds: seconds).response(now: now)
        case .token, .revoked: preconditionFailure("nobody orders a token or revokes by these paths")
        }
    }

    private static func created(_ value: IssuedBody) -> Response {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(value) else { preconditionFailure("strings and a number always encode") }
        let body = Array(data)
        let fields: HTTPFields = [
            HTTPField("content-type", "application/json"), HTTPField("content-length", "\(body.count)"), HTTPField("cache-control", "no-store"),
            HTTPField("x-content-type-options", "nosniff"),
        ]
        return (HTTPResponseHead(status: .created, fields: fields), body)
    }

    private static func isJSON(_ contentType: String?) -> Bool {
        guard let contentType else { return false }
        let type = contentType.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }
        return type.lowercased() == "application/json"
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
