/// Collects a frame header that arrives in pieces, so that the caller never has to keep a byte for the decoder.
struct PartialFrameHeader: Sendable {
    private var bytes = InlineArray<14, UInt8>(repeating: 0)
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// Takes bytes from the start of `input` until the header is complete or the input is used up.
    ///
    /// - Returns: the header, `nil` while incomplete, and the bytes taken.
    mutating func append(
        _ input: UnsafeRawBufferPointer, rules: WebSocketFrameHeader.Rules
    ) throws(WebSocketFault) -> (header: WebSocketFrameHeader?, consumed: Int) {
        if count == 0, let header = try unsafe WebSocketFrameHeader.decode(input, rules: rules) {
            return (header, header.encodedLength)
        }
        let before = count
        var used = 0
        while count < WebSocketFrameHeader.bytesMax, used < input.count {
            bytes[count] = unsafe input[used]
            count &+= 1
            used &+= 1
        }
        guard let header = try decoded(rules) else { return (nil, used) }
        count = 0
        return (header, header.encodedLength &- before)
    }

    private func decoded(_ rules: WebSocketFrameHeader.Rules) throws(WebSocketFault) -> WebSocketFrameHeader? {
        let held = count
        return try unsafe bytes.span.extracting(first: held).withUnsafeBytes { (raw: UnsafeRawBufferPointer) throws(WebSocketFault) in
            unsafe try WebSocketFrameHeader.decode(raw, rules: rules)
        }
    }
}
