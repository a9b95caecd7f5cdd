import MediaProtocol
import RelayBase
import WebSocketProtocol

extension ClientSession {
    /// Bytes of unfinished frames that a session holds at most.
    static let unfinishedBytesMax = 16 << 20

    /// A binary message: a frame goes on to the caller as it came, a part waits for the others of its frame, a bundle's frames go on one by one.
    func media(_ bytes: UnsafeRawBufferPointer) throws(ClientFault) {
        // Whatever is no frame at all is the caller's to judge.
        guard let header = try? unsafe MediaHeader(parsing: bytes) else {
            unsafe loop.lend(bytes, of: self)
            return
        }
        do throws(MediaFault) {
            switch header.kind {
            case .audio, .video, .data, .configuration:
                try parts.check(header)
                unsafe loop.lend(bytes, of: self)
            case .part:
                guard let frame = try unsafe parts.take(RawSpan(_unsafeBytes: bytes), limits: options.limits) else { return }
                assembled.removeAll()
                assembled.append(frame)
                unsafe loop.lend(assembled.readable, of: self)
            case .bundle: try unsafe beginBundle(bytes)
            }
        } catch {
            close(WebSocketCloseCode(rawValue: error.closeCode), reason: "media frame refused: \(error.name)")
            try? flush()
            throw .media(error)
        }
    }

    /// Checks a bundle whole before its first frame goes on.
    private func beginBundle(_ bytes: UnsafeRawBufferPointer) throws(MediaFault) {
        let frame = try unsafe MediaFrame.validate(bytes, limits: options.limits)
        let payload = unsafe UnsafeRawBufferPointer(rebasing: bytes[frame.payload])
        var reader = unsafe BundleReader(payload: RawSpan(_unsafeBytes: payload))
        while let place = try reader.next() {
            try parts.check(try unsafe MediaHeader(parsing: UnsafeRawBufferPointer(rebasing: payload[place])))
        }
        assembled.removeAll()
        unsafe assembled.append(payload)
        isInBundle = true
        _ = lendNextOfBundle()
    }

    /// Hands out the next frame of a bundle; answers false when there is none.
    func lendNextOfBundle() -> Bool {
        guard isInBundle else { return false }
        // The bytes that were lent before are not needed any more.
        if bundleFrameBytes > 0 { assembled.consume(bundleFrameBytes) }
        bundleFrameBytes = 0
        guard !assembled.isEmpty else {
            isInBundle = false
            return false
        }
        var reader = BundleReader(payload: assembled.span)
        guard let place = try? reader.next() else {
            isInBundle = false
            return false
        }
        bundleFrameBytes = place.upperBound
        unsafe loop.lend(UnsafeRawBufferPointer(rebasing: assembled.readable[place]), of: self)
        return true
    }
}
