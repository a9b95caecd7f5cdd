import HTTPProtocol

/// What a request's Authorization field has for a reader of bearer tokens (RFC 6750 §2.1).
enum BearerCredentials: Equatable {
    /// There is no field, or it has another scheme.
    case absent
    /// More than one field, or a Bearer scheme without exactly one b64token.
    case malformed
    case token(String)

    init(_ fields: HTTPFields) {
        let values = fields.all("authorization")
        guard let value = values.first else {
            self = .absent
            return
        }
        guard values.count == 1 else {
            self = .malformed
            return
        }
        let parts = value.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        // Schemes are compared without regard to case (RFC 9110 §11.1).
        guard parts[0].lowercased() == "bearer" else {
            self = .absent
            return
        }
        let token = parts.count == 2 ? parts[1].drop { $0 == " " } : ""
        self = !token.isEmpty && token.utf8.allSatisfy(BearerCredentials.isTokenByte) ? .token(String(token)) : .malformed
    }

    /// RFC 6750 §2.1: `b64token`, whose padding no JWT has.
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="):
            true
        default: false
        }
    }
}
