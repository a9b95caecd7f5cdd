import MediaProtocol
import RelayBase

/// Looks at the bytes of one connection as the relay gives them to the kernel, and finds where frames begin and end.
struct EgressWatch {
    struct Frame {
        var header: MediaHeader
        var begunAt: MonotonicInstant
    }

    enum Step {
        case begun(Frame)
        /// Its last byte has been given.
        case ended(MediaHeader)
    }

    /// Bytes of the message under way that are still to come, once its header is complete.
    private var remaining = 0
    private var head: [UInt8] = []
    private var headAt = MonotonicInstant.zero
    /// The frame that ends with the message under way.
    private var ending: MediaHeader?
    /// Frames that are cut, by stream: their headers as they were before they were cut.
    private var cut: [UInt32: MediaHeader] = [:]

    /// A part repeats its frame's header behind its own 24 bytes: there its kind and flags are seen.
    private static let partHeadBytes = MediaPart.overheadByteCount + MediaHeader.byteCount

    /// Takes bytes and answers what begins and ends in them, in order. `nil`: what is sent makes no sense.
    mutating func take(_ bytes: UnsafeRawBufferPointer, now: MonotonicInstant) -> [Step]? {
        var steps: [Step] = []
        var offset = 0
        while offset < bytes.count {
            if remaining > 0 {
                let count = min(remaining, bytes.count - offset)
                remaining -= count
                offset += count
                if remaining == 0 { end(&steps) }
                continue
            }
            if head.isEmpty { headAt = now }
            unsafe head.append(bytes[offset])
            offset += 1
            guard head[0] == 0x82 || head[0] == 0x81 else { return nil }
            guard head.count >= 2 else { continue }
            let width = head[1] < 126 ? 2 : head[1] == 126 ? 4 : 10
            guard head.count >= width else { continue }
            let length = width == 2 ? Int(head[1]) : head[2..<width].reduce(0) { $0 << 8 | Int($1) }
            if head[0] == 0x81 {
                remaining = length
                head.removeAll(keepingCapacity: true)
                continue
            }
            let wanted = width + headBytes(from: width)
            guard head.count == wanted else { continue }
            remaining = length - (wanted - width)
            guard remaining >= 0 else { return nil }
            let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[offset..<min(offset + remaining, bytes.count)])
            guard unsafe begin(head[width...], rest, &steps) else { return nil }
            head.removeAll(keepingCapacity: true)
            if remaining == 0 { end(&steps) }
        }
        return steps
    }

    /// How many bytes of a binary message are looked at, by what is known of it.
    private func headBytes(from width: Int) -> Int {
        guard head.count >= width + MediaHeader.byteCount, head[width] & 0x0F == MediaKind.part.rawValue else { return MediaHeader.byteCount }
        guard head.count >= width + MediaPart.overheadByteCount else { return MediaPart.overheadByteCount }
        let isFirst = head[(width + 16)..<(width + 20)].allSatisfy { $0 == 0 }
        return isFirst ? EgressWatch.partHeadBytes : MediaPart.overheadByteCount
    }

    /// A message's head is complete. `rest`: as much of what follows as is there.
    private mutating func begin(_ head: ArraySlice<UInt8>, _ rest: UnsafeRawBufferPointer, _ steps: inout [Step]) -> Bool {
        let bytes = Array(head)
        guard let header = unsafe bytes.withUnsafeBytes({ unsafe try? MediaHeader(parsing: $0) }) else { return false }
        ending = nil
        switch header.kind {
        case .audio, .video, .data, .configuration:
            guard cut[header.stream.rawValue] == nil else { return false }
            ending = header
            steps.append(.begun(Frame(header: header, begunAt: headAt)))
        case .part: return beginPart(bytes, header, &steps)
        case .bundle:
            // A bundle is made of frames that fit together: it is never begun with less room than it needs.
            guard rest.count == remaining else { return false }
            var offset = 0
            while offset + 4 + MediaHeader.byteCount <= rest.count {
                let length = unsafe Int(UInt32(bigEndian: rest.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
                guard let inner = unsafe try? MediaHeader(parsing: UnsafeRawBufferPointer(rebasing: rest[(offset + 4)...])),
                    cut[inner.stream.rawValue] == nil
                else { return false }
                steps.append(.begun(Frame(header: inner, begunAt: headAt)))
                steps.append(.ended(inner))
                offset += 4 + length
            }
            return offset == rest.count
        }
        return true
    }

    private mutating func beginPart(_ bytes: [UInt8], _ header: MediaHeader, _ steps: inout [Step]) -> Bool {
        let word = { (offset: Int) in bytes[offset..<(offset + 4)].reduce(0) { $0 << 8 | Int($1) } }
        let (offset, total) = (word(16), word(20))
        let stream = header.stream.rawValue
        if offset == 0 {
            guard cut[stream] == nil,
                let frame = unsafe bytes.withUnsafeBytes({
                    unsafe try? MediaHeader(parsing: UnsafeRawBufferPointer(rebasing: $0[MediaPart.overheadByteCount...]))
                })
            else { return false }
            cut[stream] = frame
            steps.append(.begun(Frame(header: frame, begunAt: headAt)))
        }
        guard let frame = cut[stream], frame.sequence == header.sequence else { return false }
        let count = remaining + bytes.count - MediaPart.overheadByteCount
        if offset + count == total {
            ending = frame
            cut[stream] = nil
        }
        return true
    }

    private mutating func end(_ steps: inout [Step]) {
        if let ending { steps.append(.ended(ending)) }
        ending = nil
    }
}
