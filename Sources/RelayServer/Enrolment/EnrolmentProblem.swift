import CertificateAuthority
import HTTPProtocol

/// Why there is no certificate, as an HTTP client learns it. Says nothing about tokens, files or other devices.
enum EnrolmentProblem: Error, Sendable {
    /// With the sentence that says what of the content.
    case malformed(String)
    case certificateNeeded
    case busy
    case limited(retryAfterSeconds: Int)
    case fault(CertificateAuthorityFault)

    /// The last part of the problem's type, and the code of audit records.
    var code: String { parts.code }

    /// Whether the relay is at fault, so that the operator must learn of it.
    var isOurs: Bool { parts.status.code >= 500 }

    func answer(now: UnixTime) -> HTTPAnswer {
        let (status, code, detail) = parts
        let fields = retryAfterSeconds(now: now).map { [HTTPField("retry-after", "\($0)")] } ?? []
        let problem = ProblemDocument(type: "urn:segue:problem:" + code, status: status, detail: detail)
        var answer = HTTPAnswer(status, json: problem.json(), fields: fields)
        answer.contentType = ProblemDocument.contentType
        return answer
    }

    private func retryAfterSeconds(now: UnixTime) -> Int64? {
        switch self {
        case .busy: 1
        case .limited(let seconds): Int64(max(1, seconds))
        case .fault(.renewalTooEarly(let moment)): max(1, moment.seconds - now.seconds)
        case .fault(.lockTimeout): 5
        case .malformed, .certificateNeeded, .fault: nil
        }
    }

    private var parts: (status: HTTPStatus, code: String, detail: String) {
        switch self {
        case .malformed(let detail): (.badRequest, "malformed", detail)
        case .certificateNeeded: (.forbidden, "certificate_needed", "This is for clients that show their certificate in the TLS handshake.")
        case .busy: (.serviceUnavailable, "busy", "The authority has too much to do.")
        case .limited: (.tooManyRequests, "limited", "This address has asked too often.")
        case .fault(let fault): EnrolmentProblem.parts(of: fault)
        }
    }

    private static func parts(of fault: CertificateAuthorityFault) -> (status: HTTPStatus, code: String, detail: String) {
        let detail = sentence(fault.description)
        return switch fault {
        case .tokenNotAccepted: (.forbidden, "token_refused", detail)
        case .requestMalformed: (.unprocessableContent, "request_malformed", detail)
        case .requestSignatureInvalid, .requestDigestNotAllowed: (.unprocessableContent, "request_signature", detail)
        case .requestKeyNotAllowed: (.unprocessableContent, "request_key", detail)
        case .keyBelongsToAnother: (.conflict, "key_of_another", detail)
        case .keyCompromised: (.conflict, "key_compromised", detail)
        case .notPresentable: (.forbidden, "certificate_not_ours", detail)
        case .revoked: (.forbidden, "certificate_revoked", detail)
        case .superseded: (.conflict, "certificate_superseded", detail)
        case .renewalTooEarly: (.tooManyRequests, "too_early", detail)
        case .notFound, .tokenNotFound: (.notFound, "not_found", detail)
        case .alreadyRevoked: (.conflict, "already_revoked", detail)
        case .tokenEnded: (.conflict, "token_ended", detail)
        case .tokensFull: (.tooManyRequests, "tokens_full", detail)
        case .labelInUse, .labelOfServer: (.conflict, "name_in_use", detail)
        case .invalidName, .noNames, .tooManyNames, .nameKindNotAllowed, .requestNameNotAllowed: (.unprocessableContent, "name", detail)
        case .validityOutOfRange, .tokenValidityOutOfRange: (.unprocessableContent, "validity", detail)
        case .lockTimeout: (.serviceUnavailable, "busy", "The authority has too much to do.")
        // These tell of paths and of what is wrong with them, which is for the log.
        case .alreadyExists, .noAuthority, .authorityNotValid, .keyMismatch, .keyFileExposed, .folderExposed, .settingsCorrupt, .indexCorrupt,
            .indexFull, .fileTooLarge, .keyNotHeld, .passwordLength, .passwordHasNUL, .tokenCorrupt, .malformedPEM, .system, .cryptography:
            (.internalServerError, "authority", "The authority cannot work; its operator finds the reason in the relay's log.")
        }
    }

    /// A fault's words as a sentence.
    private static func sentence(_ text: String) -> String {
        guard let first = text.first else { return text }
        return first.uppercased() + text.dropFirst() + "."
    }
}
