import HTTPProtocol
import HTTPTransport
import RelayBase
import RelayRooms

/// Requests below `/v1`: who may ask, and who answers.
extension EventLoop {
    /// Judges a head. Everything that can be said against the request is said here, before any content is waited for.
    ///
    /// - Parameter hasBody: content will follow the head.
    func beginAPI(
        _ head: HTTPRequestHead, _ connection: Connection, _ requester: Requester, stream: HTTP2StreamID?, hasBody: Bool
    ) -> HeadOutcome {
        let route: APIRoute
        let parameters: [String]
        switch APIRoute.match(head.method, head.path) {
        case .nothing: return .elsewhere
        case .malformed: return .answer(.problem(.badRequest, "A segment of the path is not valid percent-encoding of text."))
        case .otherMethods(let methods): return .answer(EventLoop.methodNotAllowed(methods))
        case .route(let found, let decoded): (route, parameters) = (found, decoded)
        }
        var principal = requester.principal
        var token: VerifiedToken?
        if route.access == .identity {
            do {
                token = try bearer(head, requester, connection)
            } catch {
                return .answer(.problem(error.status, error.detail, fields: error.fields))
            }
            if let token { if principal == nil { principal = Principal(token) } else { principal?.add(token) } }
        }
        if let refusal = refusal(of: head, route, principal) {
            shared.audit.record(
                route.name, by: principal?.name ?? "", from: "\(requester.address)", .refused(refusal.code), EventLoop.details(route, parameters))
            return .answer(.problem(.forbidden, refusal.detail))
        }
        guard let query = PercentDecoding.query(head.query) else {
            return .answer(.problem(.badRequest, "The query is not valid percent-encoding of text."))
        }
        if route.content == .json, let fault = contentFault(head, hasBody: hasBody) { return .answer(fault) }
        let exchange = HTTPExchange(
            connection: connection, stream: stream, head: head, route: route, parameters: parameters, query: query,
            principal: principal, address: "\(requester.address)")
        exchange.forwarded = requester.forwarded
        exchange.token = token
        let awaitsBody = route.content == .json
        if let refusal = begin(exchange, connection, awaitsBody: awaitsBody) { return .answer(refusal) }
        return .exchange(exchange)
    }

    private static func methodNotAllowed(_ methods: [HTTPMethod]) -> HTTPAnswer {
        var names = methods.map(\.name)
        if names.contains("GET") { names.append("HEAD") }
        return .problem(
            .methodNotAllowed, "The resource has other methods.", fields: [HTTPField("allow", names.sorted().joined(separator: ", "))])
    }

    /// Why somebody may not even ask, with a stable word for the audit.
    private func refusal(of head: HTTPRequestHead, _ route: APIRoute, _ principal: Principal?) -> (code: String, detail: String)? {
        if !isOwnOrAllowed(head, route) { return ("origin", "This origin may not ask that.") }
        switch route.access {
        case .anybody: return nil
        case .identity: return principal == nil ? ("identity_needed", "That needs a client certificate or a bearer token.") : nil
        case .certificate: return principal == nil ? ("certificate_needed", "That needs a client certificate.") : nil
        case .admin:
            guard let principal else { return ("certificate_needed", "That needs an administrator's certificate.") }
            return policy.isAdmin(principal) ? nil : ("not_admin", "That is for administrators.")
        }
    }

    /// A browser shows a page's certificate along with whatever another site makes it ask (cross-site request forgery). What only reads may come from
    /// the origins that may open sessions, since they cannot see the answer either; what changes something may come from no page but the relay's own.
    private func isOwnOrAllowed(_ head: HTTPRequestHead, _ route: APIRoute) -> Bool {
        // What everybody may read has nothing to lose.
        if route.access == .anybody, route.method == .get { return true }
        let origins = head.fields.all("origin")
        guard origins.count <= 1 else { return false }
        if let origin = origins.first {
            let isOwn = isOwnOrigin(origin, head)
            let isAllowed = route.method == .get && shared.configuration.origins.decide(origin: origin) == .allowed
            guard isOwn || isAllowed else { return false }
        }
        // Fetch Metadata: told by newer browsers even where no Origin is.
        switch head.fields.first("sec-fetch-site") {
        case nil, "same-origin", "none": return true
        default: return route.method == .get && !origins.isEmpty
        }
    }

    /// Whether a request comes from a page of the origin that it goes to (RFC 6454 §5).
    func isOwnOrigin(_ origin: String?, _ head: HTTPRequestHead) -> Bool {
        guard let origin = origin.flatMap({ WebOrigin($0) }), let authority = head.authority else { return false }
        return WebOrigin("https://" + authority) == origin
    }

    private func contentFault(_ head: HTTPRequestHead, hasBody: Bool) -> HTTPAnswer? {
        guard hasBody else {
            if head.version != .http2, !head.fields.contains("content-length") {
                return .problem(.lengthRequired, "Content with a Content-Length, or in chunks, is needed.")
            }
            return .problem(.badRequest, "The content must be one JSON object.")
        }
        let type = head.fields.single("content-type")?.split(separator: ";", maxSplits: 1).first.map { $0.trimmingBlanks.lowercased() }
        guard type == HTTPAnswer.json else {
            return .problem(.unsupportedMediaType, "The content must be application/json.", fields: [HTTPField("accept-post", HTTPAnswer.json)])
        }
        guard head.fields.listElements("content-encoding").allSatisfy({ $0.lowercased() == "identity" }) else {
            return .problem(.unsupportedMediaType, "The content must not be encoded.", fields: [HTTPField("accept-encoding", "identity")])
        }
        if case .contentLength(let length) = head.framing, length > limits.controlMessageBytesMax {
            return .problem(.contentTooLarge, HTTPFault.contentTooLarge.detail)
        }
        return nil
    }

    // MARK: Audit

    /// Every act of an administrator, and of anybody else what was refused.
    func audit(_ exchange: HTTPExchange, _ answer: HTTPAnswer) {
        guard exchange.route.access == .admin else { return }
        let outcome: Audit.Outcome = answer.status.code < 400 ? .done : .refused(answer.status.auditCode)
        shared.audit.record(
            exchange.route.name, by: exchange.principal?.name ?? "", isAdministrator: true, from: exchange.address, outcome,
            EventLoop.details(exchange.route, exchange.parameters))
    }

    private static func details(_ route: APIRoute, _ parameters: [String]) -> [(String, String)] {
        // A ticket is a secret.
        Array(zip(route.parameterNames, parameters)).filter { $0.0 != "ticket" }
    }

    // MARK: Handlers

    func perform(_ request: APIRequest) -> APIOutcome {
        switch request.operation {
        case .readDescription: .answer(HTTPAnswer(.ok, json: APIDescription.bytes))
        case .readMessages: .answer(HTTPAnswer(.ok, json: shared.messageDescription))
        case .listRooms: listRooms(request)
        case .readRoom, .endRoom, .listParticipants, .removeParticipant, .listStreams: aboutRoom(request)
        case .listSessions: listSessions(request)
        case .readSession: readSession(request)
        case .endSession: endSession(request)
        case .watchLive: watchLive(request)
        case .createListening: createListening(request)
        case .listenToRoom: listenToRoom(request)
        case .listen: listen(request)
        case .drain: command(.drain)
        case .cancelDrain: command(.cancelDrain)
        case .reload: command(.reload)
        case .readKeys: readKeys()
        case .listGrants: listGrants(request)
        case .revokeGrant: revokeGrant(request)
        case .revokeCertificate, .createEnrolmentToken, .enroll, .renew: enrolment(request)
        }
    }

    /// What the relay could do and is not configured for.
    static let notHere = HTTPAnswer.problem(.notFound, "This relay does not have that.")
}

extension Substring {
    /// Without spaces and tabs at its ends.
    fileprivate var trimmingBlanks: Substring {
        let isBlank = { (character: Character) in character == " " || character == "\t" }
        var text = drop(while: isBlank)
        while let last = text.last, isBlank(last) { text.removeLast() }
        return text
    }
}

extension HTTPStatus {
    /// The status in the words of audit records: `not_found` for 404.
    fileprivate var auditCode: String { String(reason.lowercased().map { $0.isLetter ? $0 : "_" }) }
}
