/// Base64 (RFC 4648 §4) as fields carry it: no white space. Padding may be missing, as RFC 8941 §4.2.7 asks to bear with; where it stands it is right.
enum Base64Text {
    static func decode(_ text: some StringProtocol) throws(ForwardedCertificateFault) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count / 4 * 3 + 3)
        var quantum: UInt32 = 0
        var digits = 0
        var padding = 0
        for character in text.utf8 {
            if character == UInt8(ascii: "=") {
                padding += 1
                continue
            }
            guard padding == 0, let digit = value(character) else { throw .malformedBase64 }
            quantum = quantum << 6 | digit
            digits += 1
            if digits % 4 == 0 {
                for shift in [16, 8, 0] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: quantum >> shift)) }
                quantum = 0
            }
        }
        let rest = digits % 4
        guard rest != 1, padding == 0 || padding == (4 - rest) % 4 else { throw .malformedBase64 }
        if rest >= 2 { bytes.append(UInt8(truncatingIfNeeded: quantum >> (rest == 2 ? 4 : 10))) }
        if rest == 3 { bytes.append(UInt8(truncatingIfNeeded: quantum >> 2)) }
        return bytes
    }

    private static func value(_ character: UInt8) -> UInt32? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}

/// Byte sequences of structured fields (RFC 8941 §3.3.5). Parameters are refused: RFC 9440 defines none.
enum StructuredBytes {
    /// `:base64:`
    static func item(_ text: some StringProtocol) throws(ForwardedCertificateFault) -> [UInt8] {
        let inner = Grammar.trimmed(Substring(text)).utf8
        guard inner.count >= 2, inner.first == Grammar.colon, inner.last == Grammar.colon else { throw .malformedField }
        return try Base64Text.decode(Substring(inner.dropFirst().dropLast()))
    }

    /// Items parted by commas (RFC 8941 §3.1); an empty line is an empty list.
    static func list(_ text: String) throws(ForwardedCertificateFault) -> [[UInt8]] {
        guard text.utf8.count <= ForwardedCertificate.bytesMax * 2 else { throw .tooLarge }
        guard !Grammar.trimmed(text[...]).isEmpty else { return [] }
        var items: [[UInt8]] = []
        for part in Grammar.split(text, at: UInt8(ascii: ",")) {
            guard items.count < ForwardedCertificate.chainMax else { throw .tooLarge }
            items.append(try item(part))
        }
        return items
    }
}

/// The outermost layer of DER: a sequence with its length (X.690 §8.1.3, §10.1). What is inside is the verifier's.
enum DERSequence {
    /// How many bytes the sequence at the start of `bytes` takes, header included; `nil` when there is none, or it is not whole.
    static func length(_ bytes: ArraySlice<UInt8>) -> Int? {
        let start = bytes.startIndex
        guard bytes.count >= 2, bytes[start] == 0x30 else { return nil }
        let first = Int(bytes[start + 1])
        guard first >= 0x80 else { return first + 2 <= bytes.count ? first + 2 : nil }
        // The shortest form of a length is the only one; certificates here stay below 2^24 bytes.
        let octets = first & 0x7F
        guard (1...3).contains(octets), bytes.count >= 2 + octets else { return nil }
        let length = bytes[(start + 2)..<(start + 2 + octets)].reduce(0) { $0 << 8 | Int($1) }
        guard length >= 0x80, length >> (8 * (octets - 1)) != 0 else { return nil }
        let total = 2 + octets + length
        return total <= bytes.count ? total : nil
    }

    /// Sequences one behind the other without anything between.
    static func split(_ bytes: [UInt8]) throws(ForwardedCertificateFault) -> [[UInt8]] {
        var rest = bytes[...]
        var parts: [[UInt8]] = []
        while !rest.isEmpty {
            guard parts.count < ForwardedCertificate.chainMax else { throw .tooLarge }
            guard let count = length(rest) else { throw .notDER }
            parts.append(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        return parts
    }
}

/// Percent-encoding (RFC 3986 §2.1). A plus stands for itself: base64 has it, and Envoy encodes spaces as `%20`.
enum PercentText {
    static func decode(_ text: String) throws(ForwardedCertificateFault) -> String {
        guard let bytes = PercentDecoding.bytes(text.utf8), bytes.allSatisfy({ $0 < 0x80 }) else { throw .malformedField }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// `CERTIFICATE` blocks (RFC 7468 §5), with nothing but line ends between them.
enum PEMCertificates {
    private static let begin = "-----BEGIN CERTIFICATE-----"
    private static let end = "-----END CERTIFICATE-----"

    /// At least one.
    static func decode(_ text: String) throws(ForwardedCertificateFault) -> [[UInt8]] {
        var certificates: [[UInt8]] = []
        var body: String?
        for line in Grammar.split(text, at: Grammar.lineFeed) {
            let line = line.utf8.last == Grammar.carriageReturn ? Substring(line.utf8.dropLast()) : line
            switch (line, body) {
            case ("", nil): continue
            case (Substring(begin), nil):
                guard certificates.count <= ForwardedCertificate.chainMax else { throw .tooLarge }
                body = ""
            case (Substring(end), let whole?):
                certificates.append(try Base64Text.decode(whole))
                body = nil
            case (_, let begun?): body = begun + line
            case (_, nil): throw .malformedPEM
            }
        }
        guard body == nil, !certificates.isEmpty else { throw .malformedPEM }
        return certificates
    }
}

/// One element of Envoy's `X-Forwarded-Client-Cert`: pairs parted by semicolons, values in quotes where they have a comma, a semicolon or an equals sign,
/// and a quote within them as `\"`.
enum EnvoyElement {
    /// The values of `Cert` and `Chain`, still in percent-encoding.
    static func pairs(_ text: String) throws(ForwardedCertificateFault) -> (certificate: String?, chain: String?) {
        var certificate: String?
        var chain: String?
        var rest = text.utf8[...]
        while true {
            guard let equals = rest.firstIndex(of: UInt8(ascii: "=")) else { throw .malformedField }
            let key = Grammar.lowercased(Grammar.trimmed(Substring(rest[..<equals])))
            guard Grammar.isToken(key) else { throw .malformedField }
            rest = rest[rest.index(after: equals)...]
            let value = try takeValue(&rest)
            switch key {
            case "cert":
                guard certificate == nil else { throw .duplicate }
                certificate = value
            case "chain":
                guard chain == nil else { throw .duplicate }
                chain = value
            default: break
            }
            guard let separator = rest.popFirst() else { return (certificate, chain) }
            switch separator {
            case UInt8(ascii: ";"): continue
            case UInt8(ascii: ","): throw .duplicate
            default: throw .malformedField
            }
        }
    }

    /// A value up to the separator, which stays.
    private static func takeValue(_ rest: inout Substring.UTF8View) throws(ForwardedCertificateFault) -> String {
        guard rest.first == UInt8(ascii: "\"") else {
            let end = rest.firstIndex { $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: ",") } ?? rest.endIndex
            let value = rest[..<end]
            guard !value.contains(UInt8(ascii: "\"")) else { throw .malformedField }
            rest = rest[end...]
            return String(Substring(value))
        }
        rest.removeFirst()
        var value: [UInt8] = []
        while let character = rest.popFirst() {
            switch character {
            case UInt8(ascii: "\""): return String(decoding: value, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let escaped = rest.popFirst() else { throw .malformedField }
                value.append(escaped)
            default: value.append(character)
            }
        }
        throw .malformedField
    }
}
