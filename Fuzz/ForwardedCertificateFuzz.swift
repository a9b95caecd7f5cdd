// libFuzzer target for certificates in request fields. The first byte chooses the form; a line feed parts the values of the form's fields.
// Sources to compile with it, as one module: Sources/RelayBase, Sources/HTTPProtocol.

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzForwardedCertificate(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    guard size > 1 else { return 0 }
    let bytes = unsafe Array(UnsafeBufferPointer(start: data + 1, count: size - 1))
    let forms = ForwardedCertificateForm.allCases
    let form = unsafe forms[Int(data[0]) % forms.count]
    var fields = HTTPFields()
    for (place, line) in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
        fields.append(form.fieldNames[place % form.fieldNames.count], String(decoding: line, as: UTF8.self))
    }
    guard let certificate = try? ForwardedCertificate.read(fields, form) else { return 0 }
    precondition(certificate.leaf.first == 0x30 && certificate.leaf.count >= 2, "what is passed on is a sequence")
    precondition(certificate.chain.count <= ForwardedCertificate.chainMax, "a chain keeps its bound")
    precondition(certificate.chain.reduce(certificate.leaf.count) { $0 + $1.count } <= ForwardedCertificate.bytesMax, "so do the bytes")
    // The same certificates written in RFC 9440's form are read back as they were.
    var written = HTTPFields()
    written.append("client-cert", ":\(base64(certificate.leaf)):")
    for part in certificate.chain { written.append("client-cert-chain", ":\(base64(part)):") }
    precondition((try? ForwardedCertificate.read(written, .clientCert)) == certificate, "what was written is read back")
    return 0
}

private func base64(_ bytes: [UInt8]) -> String {
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var text: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 3) {
        let part = bytes[start..<min(start + 3, bytes.count)]
        let value = part.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - part.count))
        for place in 0...part.count { text.append(digits[value >> (18 - 6 * place) & 63]) }
    }
    return String(decoding: text, as: UTF8.self)
}
