import HTTPProtocol

/// Answers for the files of the folder `web` (RFC 9110): GET and HEAD, with validators, in gzip for who takes it.
extension WebFiles {
    /// What a page of the relay's may do, in every answer: scripts, styles and workers of its own origin alone, none inline; WebAssembly; nobody frames it;
    /// text never becomes markup or script. The three cross-origin fields isolate it from other sites, for clocks and memory shared with worklets.
    static let securityFields: [HTTPField] = [
        HTTPField(
            "content-security-policy",
            [
                "default-src 'none'", "script-src 'self' 'wasm-unsafe-eval'", "style-src 'self'", "img-src 'self' data: blob:",
                "media-src 'self' blob:", "connect-src 'self'", "worker-src 'self'", "manifest-src 'self'", "base-uri 'none'", "form-action 'none'",
                "frame-ancestors 'none'", "require-trusted-types-for 'script'",
            ].joined(separator: "; ")),
        HTTPField("x-content-type-options", "nosniff"),
        HTTPField("referrer-policy", "no-referrer"),
        HTTPField("cross-origin-opener-policy", "same-origin"),
        HTTPField("cross-origin-embedder-policy", "require-corp"),
        HTTPField("cross-origin-resource-policy", "same-origin"),
        HTTPField("permissions-policy", "camera=(self), microphone=(self), display-capture=(self), speaker-selection=(self)"),
    ]

    /// - Returns: `nil` when there is no such file.
    func response(to head: HTTPRequestHead) -> Endpoints.Response? {
        switch match(head.path) {
        case .nothing: return nil
        case .folder(let location):
            guard head.method == .get || head.method == .head else { return WebFiles.readOnly }
            return WebFiles.respond(.permanentRedirect, [HTTPField("location", location), HTTPField("content-length", "0")])
        case .file(let file):
            guard head.method == .get || head.method == .head else { return WebFiles.readOnly }
            return WebFiles.respond(file, to: head)
        }
    }

    private static let readOnly = ProblemDocument(status: .methodNotAllowed, detail: "This resource can be read only.").response(
        extra: [HTTPField("allow", "GET, HEAD")])

    private static func respond(_ file: File, to head: HTTPRequestHead) -> Endpoints.Response {
        let isCoded = file.gzip != nil && AcceptedCodings(head.fields).accepts("gzip")
        let variant = isCoded ? file.gzip ?? file.plain : file.plain
        var fields = [HTTPField("etag", variant.tag.description)]
        // A cache must not give one form to who asked for the other (RFC 9110 §12.5.5).
        if file.gzip != nil { fields.append(HTTPField("vary", "accept-encoding")) }
        switch ConditionalDecision(fields: head.fields, current: variant.tag) {
        case .notModified: return respond(.notModified, fields)
        case .preconditionFailed:
            return ProblemDocument(status: .preconditionFailed, detail: "The file is another than the one that is asked for.").response()
        case .perform: break
        }
        fields.append(HTTPField("content-type", file.type.value))
        if isCoded { fields.append(HTTPField("content-encoding", "gzip")) }
        fields.append(HTTPField("content-length", "\(variant.bytes.count)"))
        return respond(.ok, fields, variant.bytes)
    }

    /// Nothing is used from a cache before the relay was asked: an update is there with the next reload of the page.
    private static func respond(_ status: HTTPStatus, _ fields: [HTTPField], _ body: [UInt8] = []) -> Endpoints.Response {
        (HTTPResponseHead(status: status, fields: HTTPFields([HTTPField("cache-control", "no-cache")] + fields + securityFields)), body)
    }
}
