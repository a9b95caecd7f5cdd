// libFuzzer target for what a client does with a relay's binary messages: parts become frames, bundles are taken apart.
//
// Input: messages, each behind its length (u16, big-endian). Besides not trapping, what comes out must be valid frames, and what is held stays within the
// assembler's bounds.

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzParts(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe UnsafeRawBufferPointer(start: start, count: count)
    var assembler = PartAssembler(streamsMax: 4, bytesMax: 1_024)
    var limits = Limits()
    limits.videoFrameBytesMax = 2_048
    limits.dataFrameBytesMax = 512
    var offset = 0
    while offset + 2 <= bytes.count {
        let length = unsafe Int(bytes[offset]) << 8 | Int(bytes[offset + 1])
        let end = min(offset + 2 + length, bytes.count)
        let message = unsafe UnsafeRawBufferPointer(rebasing: bytes[(offset + 2)..<end])
        unsafe take(message, &assembler, limits)
        precondition(assembler.count <= 4 && assembler.byteCount <= 1_024)
        offset = end
    }
    return 0
}

private func take(_ message: UnsafeRawBufferPointer, _ assembler: inout PartAssembler, _ limits: Limits) {
    guard let header = unsafe try? MediaHeader(parsing: message) else { return }
    let span = unsafe RawSpan(_unsafeBytes: message)
    switch header.kind {
    case .audio, .video, .data, .configuration: try? assembler.check(header)
    case .part:
        guard let frame = try? assembler.take(span, limits: limits) else { return }
        guard let whole = unsafe try? MediaFrame.validate(frame.span.bytes, limits: limits) else {
            preconditionFailure("a frame that was put together")
        }
        precondition(whole.header.kind != .part && whole.header.kind != .bundle && whole.header.stream == header.stream)
    case .bundle:
        guard let frame = try? MediaFrame.validate(span, limits: limits) else { return }
        let payload = span.extracting(frame.payload)
        var reader = BundleReader(payload: payload)
        var frames = 0
        while let place = try? reader.next() {
            guard let entry = try? MediaHeader(parsing: payload.extracting(place)) else { preconditionFailure("a bundle's frame") }
            try? assembler.check(entry)
            frames += 1
        }
        precondition(frames > 0)
    }
}
