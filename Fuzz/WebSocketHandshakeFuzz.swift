import RelayBase
import WebSocketProtocol

/// The header fields of the handshake: whatever parses is written back to the same, and whatever is agreed on is within bounds on both ends.
///
/// Input: field values, separated by line feeds. They are tried as key, subprotocols and extensions alike.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzWebSocketHandshake(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    let fields = input.split(separator: 0x0A, omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }

    if let elements = try? WebSocketExtension.parse(fields) {
        // Bounded by what was parsed, but written with more white space than it may have come with.
        let written = elements.map(\.fieldValue)
        if written.reduce(0, { $0 + $1.utf8.count }) <= WebSocketExtension.fieldBytesMax {
            precondition((try? WebSocketExtension.parse(written)) == elements, "parse∘write is the identity")
        }
        negotiate(elements)
    }
    for field in fields {
        if WebSocketHandshake.isValid(key: field) { precondition(field.utf8.count == 24) }
        if let chosen = try? WebSocketHandshake.chooseSubprotocol(offered: [field], supported: ["segue.v1", "a"]) {
            precondition(field.contains(chosen))
        }
    }
    var request = WebSocketHandshake.Request()
    request.versions = ["13"]
    request.keys = Array(fields.prefix(1))
    request.subprotocols = fields
    request.extensions = fields
    _ = try? WebSocketHandshake.answer(request, over: .http1, supported: ["segue.v1"], deflate: .init())
    return 0
}

private func negotiate(_ elements: [WebSocketExtension]) {
    var policy = PerMessageDeflate.Policy()
    policy.clientMaxWindowBits = 12
    if let (agreed, response) = PerMessageDeflate.negotiate(elements, policy: policy) {
        precondition((9...15).contains(agreed.serverMaxWindowBits) && (8...15).contains(agreed.clientMaxWindowBits))
        precondition((try? WebSocketExtension.parse([response.fieldValue])) == [response])
        precondition(elements.contains { $0.name == PerMessageDeflate.extensionName })
    }
    if let agreed = try? PerMessageDeflate.confirm(elements, offered: policy) {
        precondition((8...15).contains(agreed.serverMaxWindowBits) && (9...12).contains(agreed.clientMaxWindowBits))
    }
}
