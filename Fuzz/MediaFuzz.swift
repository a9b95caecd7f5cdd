// libFuzzer target for everything in MediaProtocol that reads a peer's bytes. Compiled in one module with the sources of RelayBase and MediaProtocol.
//
// The first byte chooses what the rest is: a frame, or a payload for one of the key-frame sniffers. Besides not trapping, what is accepted must hold
// what its readers promise: ranges lie inside the frame, and a header written back gives the same bytes.

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzMedia(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe UnsafeRawBufferPointer(start: start, count: count)
    guard let selector = unsafe bytes.first else { return 0 }
    let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
    switch selector % 8 {
    case 0...2: unsafe fuzzFrame(rest)
    case 3: unsafe fuzzCodecString(rest)
    case let other: unsafe fuzzSniffers(rest, framing: [nil, .annexB, .lengthPrefixed(4), .lengthPrefixed(2)][Int(other) - 4])
    }
    return 0
}

private func fuzzFrame(_ bytes: UnsafeRawBufferPointer) {
    guard let frame = unsafe try? MediaFrame.validate(bytes, limits: Limits()) else { return }
    precondition(frame.payload.lowerBound >= MediaHeader.byteCount && frame.payload.upperBound == bytes.count)
    let header = UnsafeMutableRawBufferPointer.allocate(byteCount: MediaHeader.byteCount, alignment: 8)
    defer { unsafe header.deallocate() }
    unsafe frame.header.write(into: header)
    precondition(unsafe header.elementsEqual(bytes.prefix(MediaHeader.byteCount)), "the header written back is the header read")
    let span = unsafe RawSpan(_unsafeBytes: bytes)
    guard let extensions = try? MediaExtensions(frame: span, flags: frame.header.flags) else { preconditionFailure("a valid frame's extensions") }
    precondition(extensions.payloadOffset == frame.payload.lowerBound)
    if let table = extensions.packetTable {
        let table = PacketTable(span.extracting(table))
        for index in 0..<table.count { precondition(table[index].range(payloadByteCount: frame.payload.count) != nil) }
    }
    guard frame.header.kind == .bundle else { return }
    rebundle(span.extracting(frame.payload))
}

/// What a bundle's reader gives, its writer takes, and the payload comes out the same.
private func rebundle(_ payload: RawSpan) {
    var reader = BundleReader(payload: payload)
    var writer = BundleWriter()
    do {
        while let entry = try reader.next() { try writer.append(payload.extracting(entry)) }
    } catch {
        preconditionFailure("a valid bundle's frames")
    }
    let written = writer.span
    precondition(written.byteCount == MediaHeader.byteCount + payload.byteCount)
    for index in 0..<payload.byteCount { precondition(written.byte(at: MediaHeader.byteCount + index) == payload.byte(at: index)) }
}

private func fuzzCodecString(_ bytes: UnsafeRawBufferPointer) {
    _ = unsafe MediaCodec(codecString: String(decoding: bytes, as: UTF8.self))
}

private func fuzzSniffers(_ bytes: UnsafeRawBufferPointer, framing: NALFraming?) {
    let span = unsafe RawSpan(_unsafeBytes: bytes)
    for codec in VideoCodec.allCases {
        _ = codec.isKeyFrame(span, framing: framing)
        if let offset = NALSummary(codec: codec, payload: span, framing: framing)?.firstSliceOffset { precondition(offset < bytes.count) }
    }
}
