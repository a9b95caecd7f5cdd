// libFuzzer target for the PROXY protocol and IP addresses. The first byte gives the cutting of the rest, which must make no difference.
// Sources to compile with it, as one module: Sources/RelayBase, Sources/HTTPProtocol.

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzProxy(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    guard size > 1 else { return 0 }
    let bytes = unsafe Array(UnsafeBufferPointer(start: data + 1, count: size - 1))
    let stride = unsafe Int(data[0] & 0x3F) + 1
    let parser = ProxyHeaderParser(headerBytesMax: 512)
    let whole = outcome(parser, bytes[...])
    var cut = Result<ProxyHeaderStep, ProxyFault>.success(.needMoreBytes)
    var end = 0
    while end < bytes.count, cut == .success(.needMoreBytes) {
        end = min(bytes.count, end + stride)
        cut = outcome(parser, bytes[..<end])
    }
    precondition(cut == whole, "the cutting of a header makes no difference")
    if case .success(.complete(let header, let headerBytes)) = whole {
        precondition(headerBytes > 0 && headerBytes <= min(bytes.count, 512), "a header lies within its bytes and its bound")
        if let source = header.source {
            precondition(IPAddress(source.address.description) == source.address, "an address that was written is read back")
        }
        if let name = header.tls?.verifiedCommonName { precondition(header.tls?.commonName == name, "a verified name is the name") }
    }
    fuzzAddress(String(decoding: bytes, as: UTF8.self))
    return 0
}

private func outcome(_ parser: ProxyHeaderParser, _ bytes: ArraySlice<UInt8>) -> Result<ProxyHeaderStep, ProxyFault> {
    do {
        let span = bytes.span
        return .success(unsafe try parser.parse(span.bytes))
    } catch {
        return .failure(error)
    }
}

private func fuzzAddress(_ text: String) {
    if let address = IPAddress(text) { precondition(IPAddress(address.description) == address, "an address that was written is read back") }
    if let network = try? IPNetwork(text) {
        precondition(network.contains(network.address), "a network contains its own address")
        precondition((try? IPNetwork(network.description)) == network, "a network that was written is read back")
    }
}
