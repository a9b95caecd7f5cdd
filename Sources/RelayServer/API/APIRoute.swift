import HTTPProtocol

/// What can be asked of the relay over HTTP below `/v1`, but for the WebSocket. The raw value is the operation's name in the OpenAPI document.
enum APIOperation: String, CaseIterable, Sendable {
    case readDescription
    case readMessages
    case readKeys
    case listRooms
    case readRoom
    case endRoom
    case listParticipants
    case removeParticipant
    case listStreams
    case listSessions
    case readSession
    case endSession
    case listGrants
    case revokeGrant
    case revokeCertificate
    case createEnrolmentToken
    case watchLive
    case createListening
    case listenToRoom
    case listen
    case drain
    case cancelDrain
    case reload
    case enroll
    case renew
}

/// Where an operation is found and what it takes to get there.
struct APIRoute: Sendable {
    enum Access: Sendable {
        case anybody
        case certificate
        /// A certificate or a bearer token.
        case identity
        /// Who the policy says is an administrator, proven by certificate.
        case admin
    }

    enum Content: Sendable {
        /// None is wanted; what comes is read and dropped.
        case none
        /// One JSON object, and not without.
        case json
    }

    let operation: APIOperation
    let method: HTTPMethod
    /// Segments; those in braces stand for one segment of any kind, or one that ends with what stands behind them.
    let template: String
    let access: Access
    let content: Content

    /// For the audit: method and template, without what a client put in their place.
    var name: String { "\(method) \(template)" }

    static let all: [APIRoute] = [
        APIRoute(operation: .readDescription, method: .get, template: "/v1/openapi.json", access: .anybody, content: .none),
        APIRoute(operation: .readMessages, method: .get, template: "/v1/asyncapi.json", access: .anybody, content: .none),
        APIRoute(operation: .readKeys, method: .get, template: "/v1/keys", access: .anybody, content: .none),
        APIRoute(operation: .listRooms, method: .get, template: "/v1/rooms", access: .admin, content: .none),
        APIRoute(operation: .readRoom, method: .get, template: "/v1/rooms/{room}", access: .admin, content: .none),
        APIRoute(operation: .endRoom, method: .delete, template: "/v1/rooms/{room}", access: .admin, content: .none),
        APIRoute(operation: .listParticipants, method: .get, template: "/v1/rooms/{room}/participants", access: .admin, content: .none),
        APIRoute(
            operation: .removeParticipant, method: .delete, template: "/v1/rooms/{room}/participants/{participant}", access: .admin, content: .none),
        APIRoute(operation: .listStreams, method: .get, template: "/v1/rooms/{room}/streams", access: .admin, content: .none),
        APIRoute(operation: .listSessions, method: .get, template: "/v1/sessions", access: .admin, content: .none),
        APIRoute(operation: .readSession, method: .get, template: "/v1/sessions/{session}", access: .admin, content: .none),
        APIRoute(operation: .endSession, method: .delete, template: "/v1/sessions/{session}", access: .admin, content: .none),
        APIRoute(operation: .listGrants, method: .get, template: "/v1/grants", access: .admin, content: .none),
        APIRoute(operation: .revokeGrant, method: .delete, template: "/v1/grants/{pair}", access: .admin, content: .none),
        APIRoute(operation: .revokeCertificate, method: .post, template: "/v1/revocations", access: .admin, content: .json),
        APIRoute(operation: .createEnrolmentToken, method: .post, template: "/v1/enrolment-tokens", access: .admin, content: .json),
        APIRoute(operation: .watchLive, method: .get, template: "/v1/live", access: .admin, content: .none),
        APIRoute(operation: .createListening, method: .post, template: "/v1/listen", access: .identity, content: .json),
        APIRoute(operation: .listenToRoom, method: .get, template: "/v1/listen/{room}.ogg", access: .identity, content: .none),
        APIRoute(operation: .listen, method: .get, template: "/listen/{ticket}.ogg", access: .anybody, content: .none),
        APIRoute(operation: .drain, method: .post, template: "/v1/drain", access: .admin, content: .none),
        APIRoute(operation: .cancelDrain, method: .delete, template: "/v1/drain", access: .admin, content: .none),
        APIRoute(operation: .reload, method: .post, template: "/v1/reload", access: .admin, content: .none),
        APIRoute(operation: .enroll, method: .post, template: "/v1/enroll", access: .anybody, content: .json),
        APIRoute(operation: .renew, method: .post, template: "/v1/renew", access: .certificate, content: .json),
    ]

    /// The names in a template, in order.
    var parameterNames: [String] {
        template.split(separator: "/").filter { $0.hasPrefix("{") }.map { String($0.dropFirst().prefix { $0 != "}" }) }
    }

    /// What a method and a path lead to.
    enum Match: Sendable {
        case route(APIRoute, parameters: [String])
        /// Something is there, for these methods only.
        case otherMethods([HTTPMethod])
        /// A segment is not what percent-encoding allows.
        case malformed
        case nothing
    }

    /// GET answers HEAD too (RFC 9110 §9.3.2).
    static func match(_ method: HTTPMethod, _ path: String) -> Match {
        let wanted = method == .head ? HTTPMethod.get : method
        let segments = path.split(separator: "/", omittingEmptySubsequences: false)
        var others: [HTTPMethod] = []
        for route in all {
            guard let encoded = parameters(segments, route.template) else { continue }
            guard route.method == wanted else {
                others.append(route.method)
                continue
            }
            let decoded = encoded.compactMap { PercentDecoding.decode($0) }
            return decoded.count == encoded.count ? .route(route, parameters: decoded) : .malformed
        }
        return others.isEmpty ? .nothing : .otherMethods(others)
    }

    private static func parameters(_ segments: [Substring], _ template: String) -> [Substring]? {
        let pattern = template.split(separator: "/", omittingEmptySubsequences: false)
        guard pattern.count == segments.count else { return nil }
        var parameters: [Substring] = []
        for (wanted, segment) in zip(pattern, segments) {
            if wanted.hasPrefix("{") {
                let ending = wanted.drop { $0 != "}" }.dropFirst()
                guard segment.utf8.count > ending.utf8.count, segment.hasSuffix(ending) else { return nil }
                parameters.append(segment.dropLast(ending.count))
            } else if wanted != segment {
                return nil
            }
        }
        return parameters
    }
}
