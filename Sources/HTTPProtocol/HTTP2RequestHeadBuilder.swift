package import RelayBase

/// What makes an HTTP/2 request malformed (RFC 9113 §8.1.1, RFC 8441 §4), or larger than this server takes. It costs the stream, never the connection.
package enum HTTP2HeadFault: Error, Sendable, Hashable, CaseIterable {
    case headTooLarge
    case tooManyFields
    case invalidFieldName
    case invalidFieldValue
    case unknownPseudoField
    case duplicatePseudoField
    case pseudoFieldAfterRegular
    case missingPseudoField
    case forbiddenPseudoField
    case connectionSpecificField
    case invalidMethod
    case invalidTarget
    case invalidAuthority
    case hostDiffersFromAuthority
    case invalidContentLength

    package enum Resolution: Sendable, Hashable {
        /// RST_STREAM with PROTOCOL_ERROR (RFC 9113 §8.1.1).
        case resetStream
        /// An ordinary response.
        case respond(HTTPStatus)
    }

    package var resolution: Resolution {
        switch self {
        case .headTooLarge, .tooManyFields: .respond(.requestHeaderFieldsTooLarge)
        case .invalidFieldName, .invalidFieldValue, .unknownPseudoField, .duplicatePseudoField, .pseudoFieldAfterRegular, .missingPseudoField,
            .forbiddenPseudoField, .connectionSpecificField, .invalidMethod, .invalidTarget, .invalidAuthority, .hostDiffersFromAuthority,
            .invalidContentLength:
            .resetStream
        }
    }
}

/// Collects the field lines of one HTTP/2 request and makes a head of them (RFC 9113 §8.3, RFC 8441 §4). One builder per header block.
package struct HTTP2RequestHeadBuilder: Sendable {
    private let headBytesMax: Int
    private let fieldsMax: Int
    private var headBytes = 0
    private var method: String?
    private var scheme: String?
    private var authority: String?
    private var path: String?
    private var extendedProtocol: String?
    private var fields = HTTPFields()

    /// - Parameters:
    ///   - headBytesMax: bound on the list's size as RFC 9113 §6.5.2 counts it: names, values and 32 bytes a line.
    ///   - fieldsMax: bound on lines that are not pseudo-header fields.
    package init(headBytesMax: Int, fieldsMax: Int) {
        self.headBytesMax = headBytesMax
        self.fieldsMax = fieldsMax
    }

    package init(limits: Limits = Limits()) {
        self.init(headBytesMax: limits.requestHeadBytesMax, fieldsMax: limits.requestFieldsMax)
    }

    /// Takes the next line, in the order of the header block.
    package mutating func append(name: RawSpan, value: RawSpan) throws(HTTP2HeadFault) {
        guard name.byteCount <= headBytesMax, value.byteCount <= headBytesMax else { throw .headTooLarge }
        headBytes += name.byteCount + value.byteCount + 32
        guard headBytes <= headBytesMax else { throw .headTooLarge }
        for offset in 0..<value.byteCount where !Grammar.isFieldValueCharacter(value.byte(offset)) { throw .invalidFieldValue }
        // RFC 9113 §8.2.1: no white space at the ends of a value.
        let text = value.text(0..<value.byteCount)
        guard Grammar.trimmed(text[...]).utf8.count == text.utf8.count else { throw .invalidFieldValue }
        guard name.byteCount > 0 else { throw .invalidFieldName }
        if name.byte(0) == Grammar.colon {
            try setPseudoField(name.text(1..<name.byteCount), text)
            return
        }
        for offset in 0..<name.byteCount {
            let byte = name.byte(offset)
            guard Grammar.isTokenCharacter(byte), Grammar.lowercased(byte) == byte else { throw .invalidFieldName }
        }
        let field = HTTPField(lowercasedName: name.text(0..<name.byteCount), value: text)
        try Self.refuseConnectionSpecific(field)
        guard fields.count < fieldsMax else { throw .tooManyFields }
        fields.append(field)
    }

    /// The head, once the header block has ended.
    package func finish() throws(HTTP2HeadFault) -> HTTPRequestHead {
        guard let method else { throw .missingPseudoField }
        guard Grammar.isToken(method) else { throw .invalidMethod }
        let isConnect = method == HTTPMethod.connect.name
        // RFC 8441 §4: `:protocol` goes with CONNECT alone.
        guard extendedProtocol == nil || isConnect else { throw .forbiddenPseudoField }
        let target = isConnect && extendedProtocol == nil ? try connectTarget() : try originTarget(method: method)
        if let extendedProtocol, !Grammar.isToken(extendedProtocol) { throw .invalidFieldValue }
        try checkHost(against: target)
        var framing = HTTPFraming.untilClose
        if fields.contains("content-length") {
            do {
                framing = try fields.declaredFraming(version: .http2) ?? .none
            } catch { throw .invalidContentLength }
        }
        return HTTPRequestHead(
            method: HTTPMethod(method), target: target, version: .http2, fields: fields, framing: framing, extendedProtocol: extendedProtocol)
    }

    private mutating func setPseudoField(_ name: String, _ value: String) throws(HTTP2HeadFault) {
        guard fields.count == 0 else { throw .pseudoFieldAfterRegular }
        switch name {
        case "method": try Self.set(&method, value)
        case "scheme": try Self.set(&scheme, value)
        case "authority": try Self.set(&authority, value)
        case "path": try Self.set(&path, value)
        case "protocol": try Self.set(&extendedProtocol, value)
        default: throw .unknownPseudoField
        }
    }

    private static func set(_ place: inout String?, _ value: String) throws(HTTP2HeadFault) {
        guard place == nil else { throw .duplicatePseudoField }
        place = value
    }

    /// RFC 9113 §8.2.2.
    private static func refuseConnectionSpecific(_ field: HTTPField) throws(HTTP2HeadFault) {
        switch field.name {
        case "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade": throw .connectionSpecificField
        case "te": guard Grammar.lowercased(field.value) == "trailers" else { throw .connectionSpecificField }
        default: break
        }
    }

    /// Plain CONNECT (RFC 9113 §8.5): `:authority` with its port, no `:scheme`, no `:path`.
    private func connectTarget() throws(HTTP2HeadFault) -> HTTPTarget {
        guard scheme == nil, path == nil else { throw .forbiddenPseudoField }
        guard let authority else { throw .missingPseudoField }
        guard HTTPAuthority.isValid(authority), authority.utf8.contains(Grammar.colon) else { throw .invalidAuthority }
        return HTTPTarget(form: .authority, authority: Grammar.lowercased(authority), path: "")
    }

    private func originTarget(method: String) throws(HTTP2HeadFault) -> HTTPTarget {
        guard let scheme, let path else { throw .missingPseudoField }
        guard authority != nil || extendedProtocol == nil else { throw .missingPseudoField }
        if let authority, !HTTPAuthority.isValid(authority) { throw .invalidAuthority }
        let lowerScheme = Grammar.lowercased(scheme)
        guard lowerScheme == "https" || lowerScheme == "http" else { throw .invalidTarget }
        let lowerAuthority = authority.map { Grammar.lowercased($0) }
        if path == "*" {
            guard method == HTTPMethod.options.name else { throw .invalidTarget }
            return HTTPTarget(form: .asterisk, scheme: lowerScheme, authority: lowerAuthority, path: path)
        }
        guard path.utf8.first == Grammar.slash, let (path, query) = HTTPTarget.split(path[...]) else { throw .invalidTarget }
        return HTTPTarget(form: .origin, scheme: lowerScheme, authority: lowerAuthority, path: path, query: query)
    }

    /// RFC 9113 §8.3.1: `:authority` or Host, and when both, the same.
    private func checkHost(against target: HTTPTarget) throws(HTTP2HeadFault) {
        let hosts = fields.all("host")
        guard hosts.count <= 1 else { throw .hostDiffersFromAuthority }
        guard let host = hosts.first else {
            guard target.authority != nil else { throw .missingPseudoField }
            return
        }
        guard HTTPAuthority.isValid(host) else { throw .invalidAuthority }
        if let authority = target.authority, authority != Grammar.lowercased(host) { throw .hostDiffersFromAuthority }
    }
}
