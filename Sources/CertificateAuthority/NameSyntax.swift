internal import Glibc

/// The rules for names. Everything is ASCII and bounded before anything else looks at it.
enum NameSyntax {
    static let labelBytesMax = 64
    static let hostNameBytesMax = 253
    static let uriBytesMax = 255
    static let emailBytesMax = 254
    /// ub-common-name, RFC 5280 appendix A.1.
    static let commonNameBytesMax = 64

    /// A certificate's label, which is also a file name: no separators, no leading dot or dash.
    static func checkLabel(_ text: String, as kind: NameKind = .label) throws(CertificateAuthorityFault) {
        try checkBytes(text, bytesMax: labelBytesMax, as: kind, allowed: isLabelByte)
        guard let first = text.utf8.first, isAlphanumeric(first) else {
            throw .invalidName(.syntax("it must begin with a letter or a digit"), kind: kind)
        }
    }

    static func isLabelByte(_ byte: UInt8) -> Bool { isAlphanumeric(byte) || ".-_".utf8.contains(byte) }

    static func checkCommonName(_ text: String) throws(CertificateAuthorityFault) {
        try checkBytes(text, bytesMax: commonNameBytesMax, as: .commonName) { (0x20...0x7E).contains($0) }
    }

    static func checkHostName(_ text: String, wildcardAllowed: Bool, as kind: NameKind) throws(CertificateAuthorityFault) {
        try checkBytes(text, bytesMax: hostNameBytesMax, as: kind) { isAlphanumeric($0) || "-.*".utf8.contains($0) }
        var labels = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        if wildcardAllowed, let first = labels.first, first.elementsEqual("*".utf8) {
            labels.removeFirst()
            guard labels.count >= 2 else { throw .invalidName(.syntax("a wildcard must stand above at least two labels"), kind: kind) }
        }
        for label in labels {
            guard !label.isEmpty else { throw .invalidName(.syntax("a label between dots is empty"), kind: kind) }
            guard label.count <= 63 else { throw .invalidName(.syntax("a label is longer than 63 bytes"), kind: kind) }
            guard !label.contains(UInt8(ascii: "*")) else { throw .invalidName(.syntax("a wildcard must be the whole first label"), kind: kind) }
            guard label.first != UInt8(ascii: "-"), label.last != UInt8(ascii: "-") else {
                throw .invalidName(.syntax("a label begins or ends with a dash"), kind: kind)
            }
        }
        // Such a name is read as an IPv4 address by some (WHATWG URL's host parser), so that it would vouch for an address.
        guard let last = labels.last, !last.allSatisfy(isDigit) else {
            throw .invalidName(.syntax("the last label is a number"), kind: kind)
        }
    }

    static func checkURI(_ text: String) throws(CertificateAuthorityFault) {
        try checkBytes(text, bytesMax: uriBytesMax, as: .uri) { isAlphanumeric($0) || "-._~:/?@!$&'()*+;=%[]".utf8.contains($0) }
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let first = parts[0].utf8.first, isLetter(first),
            parts[0].utf8.allSatisfy({ isAlphanumeric($0) || "+-.".utf8.contains($0) })
        else { throw .invalidName(.syntax("it does not begin with a scheme"), kind: .uri) }
        // The relay refuses certificates with names that pass for a key's fingerprint or a token's subject.
        guard !["spki", "token"].contains(parts[0].lowercased()) else {
            throw .invalidName(.syntax("the relay keeps the schemes spki: and token: for itself"), kind: .uri)
        }
        guard !parts[1].isEmpty else { throw .invalidName(.syntax("nothing follows the scheme"), kind: .uri) }
        try checkPercentEncoding(parts[1])
        if parts[1].hasPrefix("//") {
            let host = String(parts[1].dropFirst(2).prefix { $0 != "/" && $0 != "?" })
            if host.hasPrefix("["), host.hasSuffix("]"), let octets = addressOctets(String(host.dropFirst().dropLast())), octets.count == 16 {
                return
            }
            if addressOctets(host)?.count == 4 { return }
            try checkHostName(host, wildcardAllowed: false, as: .uri)
        }
    }

    private static func checkPercentEncoding(_ text: Substring) throws(CertificateAuthorityFault) {
        let bytes = Array(text.utf8)
        for index in bytes.indices where bytes[index] == UInt8(ascii: "%") {
            guard index + 2 < bytes.count, isHexadecimal(bytes[index + 1]), isHexadecimal(bytes[index + 2]) else {
                throw .invalidName(.syntax("a percent sign is not followed by two hexadecimal digits"), kind: .uri)
            }
            // An encoded control could come out as a real one wherever the URI is decoded for show.
            guard bytes[index + 1] > UInt8(ascii: "1") else { throw .invalidName(.syntax("it encodes a control character"), kind: .uri) }
        }
    }

    static func checkEmail(_ text: String) throws(CertificateAuthorityFault) {
        try checkBytes(text, bytesMax: emailBytesMax, as: .email) { isAlphanumeric($0) || "!#$%&'*+-/=?^_`{|}~.@".utf8.contains($0) }
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, (1...64).contains(parts[0].utf8.count),
            !parts[0].hasPrefix("."), !parts[0].hasSuffix("."), !parts[0].contains("..")
        else { throw .invalidName(.syntax("it is not of the form local@host"), kind: .email) }
        try checkHostName(String(parts[1]), wildcardAllowed: false, as: .email)
    }

    /// Length first, then every byte: a huge name costs no more than a short one.
    static func checkBytes(
        _ text: String, bytesMax: Int, as kind: NameKind, allowed: (UInt8) -> Bool
    ) throws(CertificateAuthorityFault) {
        guard !text.isEmpty else { throw .invalidName(.empty, kind: kind) }
        guard text.utf8.count <= bytesMax else { throw .invalidName(.tooLong(bytesMax: bytesMax), kind: kind) }
        for (offset, byte) in text.utf8.enumerated() where !allowed(byte) {
            throw .invalidName(.forbiddenByte(byte, offset: offset), kind: kind)
        }
    }

    /// 4 or 16 octets in network order, or `nil` when `text` is no address. A NUL would end the C string early, so it never gets there.
    static func addressOctets(_ text: String) -> [UInt8]? {
        guard !text.utf8.contains(0) else { return nil }
        var octets = [UInt8](repeating: 0, count: 16)
        if unsafe inet_pton(AF_INET, text, &octets) == 1 { return Array(octets.prefix(4)) }
        if unsafe inet_pton(AF_INET6, text, &octets) == 1 { return octets }
        return nil
    }

    static func addressText(_ octets: [UInt8]) -> String? {
        guard octets.count == 4 || octets.count == 16 else { return nil }
        var text = [UInt8](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let written = unsafe text.withUnsafeMutableBytes { buffer in
            unsafe inet_ntop(
                octets.count == 4 ? AF_INET : AF_INET6, octets, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), UInt32(buffer.count)) != nil
        }
        return written ? String(decoding: text.prefix { $0 != 0 }, as: UTF8.self) : nil
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    private static func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) }
    private static func isAlphanumeric(_ byte: UInt8) -> Bool { isDigit(byte) || isLetter(byte) }
    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
    }
}
