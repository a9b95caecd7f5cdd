/// An RFC 9457 problem document: what an error response says to a program and to a person.
package struct ProblemDocument: Sendable, Hashable {
    package static let contentType = "application/problem+json"

    /// A URI reference that names the kind of problem; `about:blank` when the status says it all (RFC 9457 §4.2.1).
    package var type: String
    /// A short summary that does not change from one occurrence to the next.
    package var title: String
    package var status: HTTPStatus
    /// What happened this time; a sentence for a person.
    package var detail: String?
    /// A URI reference that names this occurrence.
    package var instance: String?

    package init(type: String = "about:blank", title: String? = nil, status: HTTPStatus, detail: String? = nil, instance: String? = nil) {
        self.type = type
        self.title = title ?? status.reason
        self.status = status
        self.detail = detail
        self.instance = instance
    }

    package init(_ fault: HTTPFault) {
        self.init(status: fault.status, detail: fault.detail)
    }

    package init(_ refusal: UpgradeRefusal) {
        self.init(status: refusal.status, detail: refusal.detail)
    }

    /// The document as JSON in UTF-8, members in the order of RFC 9457 §3.1.
    package func json() -> [UInt8] {
        var text: [UInt8] = []
        text.append(UInt8(ascii: "{"))
        Self.append(member: "type", type, to: &text)
        text.append(contentsOf: ",\"status\":\(status.code),".utf8)
        Self.append(member: "title", title, to: &text)
        if let detail {
            text.append(UInt8(ascii: ","))
            Self.append(member: "detail", detail, to: &text)
        }
        if let instance {
            text.append(UInt8(ascii: ","))
            Self.append(member: "instance", instance, to: &text)
        }
        text.append(UInt8(ascii: "}"))
        return text
    }

    /// Head and body of the response that carries the document.
    ///
    /// - Parameter extra: fields such as Allow or Retry-After.
    package func response(extra: [HTTPField] = []) -> (head: HTTPResponseHead, body: [UInt8]) {
        let body = json()
        var fields = HTTPFields([
            HTTPField("content-type", Self.contentType), HTTPField("content-length", String(body.count)), HTTPField("cache-control", "no-store"),
        ])
        for field in extra { fields.append(field) }
        return (HTTPResponseHead(status: status, fields: fields), body)
    }

    private static func append(member: String, _ value: String, to text: inout [UInt8]) {
        text.append(contentsOf: "\"\(member)\":".utf8)
        appendString(value, to: &text)
    }

    /// A JSON string (RFC 8259 §7): the quotation mark, the backslash and the control characters are escaped.
    static func appendString(_ value: String, to text: inout [UInt8]) {
        text.append(UInt8(ascii: "\""))
        for byte in value.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                text.append(UInt8(ascii: "\\"))
                text.append(byte)
            case 0x0A: text.append(contentsOf: "\\n".utf8)
            case 0x0D: text.append(contentsOf: "\\r".utf8)
            case 0x09: text.append(contentsOf: "\\t".utf8)
            case 0..<0x20, 0x7F:
                text.append(contentsOf: "\\u00".utf8)
                text.append(hexDigit(byte >> 4))
                text.append(hexDigit(byte & 0xF))
            default: text.append(byte)
            }
        }
        text.append(UInt8(ascii: "\""))
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
