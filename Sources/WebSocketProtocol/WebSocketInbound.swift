package import RelayBase

/// The receiving half of a WebSocket: frames are decoded, unmasked in place, checked and put together to messages (RFC 6455 §5, §8.1).
///
/// It does no input or output. The caller lends the bytes as they come off the transport and pulls events until ``WebSocketInboundEvent/needMoreBytes``:
///
/// ```
/// var rest = received
/// while true {
///     let step = try inbound.next(rest, now: now)
///     if step.event == .needMoreBytes { break }
///     …use inbound.payload(location, in: rest)…
///     rest = UnsafeMutableRawBufferPointer(rebasing: rest[step.consumed...])
/// }
/// ```
///
/// Every byte is taken at once, so the buffer may be the event loop's scratch. A message that lies whole in the buffer is handed out in place, without a copy or
/// an allocation; of others the assembler holds what has really arrived, never what a header announced. Size limits are decided from the header.
/// After a fault or the peer's close nothing is processed any more (RFC 6455 §5.5.1, §7.1.7).
@safe
package struct WebSocketInbound: ~Copyable {
    /// A frame whose header is complete and whose payload is not.
    private struct OpenFrame {
        var opcode: WebSocketOpcode
        var isFinal: Bool
        var remaining: Int
        var masker: WebSocketMasker?
    }

    /// A message whose final frame is not complete.
    private struct OpenMessage {
        var kind: WebSocketMessageKind
        var isCompressed: Bool
        var fragments: Int
    }

    /// What the latest event lent from the engine's own memory, to be dropped before the next.
    private enum Delivered {
        case nothing
        case assembled
        case controlBuffer
    }

    package let configuration: WebSocketInboundConfiguration
    private let rules: WebSocketFrameHeader.Rules
    private var header = PartialFrameHeader()
    private var frame: OpenFrame?
    private var message: OpenMessage?
    private var text = UTF8Validator()
    private var assembler = ByteQueue()
    private var control = ByteQueue()
    private var delivered = Delivered.nothing
    private var incompleteSince: MonotonicInstant?
    /// A close frame or a fault has ended the receiving half.
    package private(set) var isFinished = false

    package init(_ configuration: WebSocketInboundConfiguration) {
        precondition(configuration.textBytesMax >= 0 && configuration.binaryBytesMax >= 0, "size limits are counts")
        self.configuration = configuration
        rules = WebSocketFrameHeader.Rules(role: configuration.role, allowsCompression: configuration.allowsCompression)
    }

    /// Memory held for partial messages, in bytes.
    package var heldBytes: Int { assembler.capacity + control.capacity }

    /// When an incomplete message is too old; ``MonotonicInstant/distantFuture`` while there is none.
    package var nextDeadline: MonotonicInstant {
        incompleteSince?.advanced(byMilliseconds: configuration.incompleteMessageMillisecondsMax) ?? .distantFuture
    }

    /// Whether a message, a frame or a header has begun and not ended.
    private var isIncomplete: Bool { message != nil || frame != nil || !header.isEmpty }

    /// Takes bytes and answers with the next event in them. Call again with what follows the consumed bytes until the event is `needMoreBytes`
    /// or `finished`; both take everything.
    ///
    /// `bytes` is unmasked in place. Ranges in the event are relative to its start.
    package mutating func next(
        _ bytes: UnsafeMutableRawBufferPointer, now: MonotonicInstant
    ) throws(WebSocketFault) -> WebSocketInboundStep {
        messageTaken()
        guard !isFinished else { return WebSocketInboundStep(consumed: bytes.count, event: .finished) }
        let step: WebSocketInboundStep
        do {
            step = try unsafe advance(bytes)
        } catch {
            finish()
            throw error
        }
        if !isIncomplete {
            incompleteSince = nil
        } else if incompleteSince == nil {
            incompleteSince = now
        }
        return step
    }

    /// The bytes of an event of the latest `next`, to which `bytes` was passed.
    package func payload(_ location: WebSocketPayloadLocation, in bytes: UnsafeMutableRawBufferPointer) -> UnsafeRawBufferPointer {
        switch location {
        case .inPlace(let range): unsafe UnsafeRawBufferPointer(rebasing: bytes[range])
        case .assembled: unsafe assembler.readable
        case .controlBuffer: unsafe control.readable
        }
    }

    /// Drops what the latest event lent from the engine's memory, and that memory when it is big. `next` does it too; calling it early helps an idle
    /// connection.
    package mutating func messageTaken() {
        switch delivered {
        case .nothing:
            return
        case .assembled:
            assembler.removeAll()
            if assembler.capacity > configuration.retainedBytesMax { assembler.releaseIfEmpty() }
        case .controlBuffer:
            control.removeAll()
            control.releaseIfEmpty()
        }
        delivered = .nothing
    }

    /// Gives back the memory that a small message left behind; for a connection that has gone idle.
    package mutating func releaseIdleMemory() {
        messageTaken()
        assembler.releaseIfEmpty()
    }

    /// The fault to fail the connection with when an incomplete message is too old by `now`; it is reported once.
    package mutating func expired(now: MonotonicInstant) -> WebSocketFault? {
        guard !isFinished, now >= nextDeadline else { return nil }
        finish()
        return .messageIncompleteTooLong
    }

    /// Ends the receiving half: a fault of a higher layer, or the end of the transport. What arrives later is thrown away.
    package mutating func finish() {
        endReceiving()
        delivered = .nothing
        control.removeAll()
        control.releaseIfEmpty()
    }

    /// Ends the receiving half but leaves the control buffer, in which the reason of a close frame may lie.
    private mutating func endReceiving() {
        isFinished = true
        frame = nil
        message = nil
        incompleteSince = nil
        assembler.removeAll()
        assembler.releaseIfEmpty()
    }
}

// MARK: - Frames

extension WebSocketInbound {
    private mutating func advance(_ bytes: UnsafeMutableRawBufferPointer) throws(WebSocketFault) -> WebSocketInboundStep {
        var offset = 0
        while true {
            if frame == nil {
                let (decoded, used) = try unsafe header.append(UnsafeRawBufferPointer(rebasing: bytes[offset...]), rules: rules)
                offset += used
                guard let decoded else { break }
                frame = try open(decoded)
            }
            guard var current = frame else { break }
            let start = offset
            let available = min(current.remaining, bytes.count - offset)
            let chunk = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[start..<start + available])
            unsafe current.masker?.apply(to: chunk)
            current.remaining -= available
            offset += available
            let isWhole = current.remaining == 0
            frame = isWhole ? nil : current
            let event =
                current.opcode.isControl
                ? try unsafe takeControl(chunk, at: start, opcode: current.opcode, isWhole: isWhole)
                : try unsafe takeData(chunk, at: start, endsMessage: isWhole && current.isFinal)
            if let event { return WebSocketInboundStep(consumed: offset, event: event) }
            guard isWhole else { break }
        }
        return WebSocketInboundStep(consumed: bytes.count, event: .needMoreBytes)
    }

    /// Decides from the header alone whether the frame may come (RFC 6455 §5.4, §10.4).
    private mutating func open(_ header: WebSocketFrameHeader) throws(WebSocketFault) -> OpenFrame {
        switch header.opcode {
        case .close, .ping, .pong:
            break
        case .text:
            try openMessage(.text, header)
        case .binary:
            try openMessage(.binary, header)
        case .continuation:
            guard var open = message else { throw .continuationWithoutMessage }
            open.fragments += 1
            try check(open, header)
            message = open
        }
        // Control frames are below 126 bytes by the header's rules, others below their limit: both fit.
        return OpenFrame(
            opcode: header.opcode, isFinal: header.isFinal, remaining: Int(header.payloadLength), masker: header.maskingKey.map(WebSocketMasker.init))
    }

    private mutating func openMessage(_ kind: WebSocketMessageKind, _ header: WebSocketFrameHeader) throws(WebSocketFault) {
        guard message == nil else { throw .messageInterrupted }
        let opened = OpenMessage(kind: kind, isCompressed: header.rsv1, fragments: 1)
        try check(opened, header)
        message = opened
        text = UTF8Validator()
    }

    private func check(_ message: OpenMessage, _ header: WebSocketFrameHeader) throws(WebSocketFault) {
        let bytesMax =
            switch message.kind {
            case .text: configuration.textBytesMax
            case .binary: configuration.binaryBytesMax
            }
        // The assembler never holds more than the limit, so the difference is no less than zero.
        guard header.payloadLength <= UInt64(bytesMax - assembler.count) else {
            switch message.kind {
            case .text: throw .textTooBig
            case .binary: throw .binaryTooBig
            }
        }
        guard message.fragments <= configuration.messageFragmentsMax else { throw .tooManyFragments }
        if !header.isFinal, message.fragments > configuration.smallFragmentsFree {
            guard header.payloadLength >= UInt64(max(0, configuration.fragmentBytesMin)) else { throw .fragmentTooSmall }
        }
    }

    private mutating func takeData(
        _ chunk: UnsafeMutableRawBufferPointer, at start: Int, endsMessage: Bool
    ) throws(WebSocketFault) -> WebSocketInboundEvent? {
        guard let open = message else { preconditionFailure("a data frame belongs to an open message") }
        if open.kind == .text, !open.isCompressed {
            guard unsafe text.append(UnsafeRawBufferPointer(chunk)), !endsMessage || text.isComplete else { throw .textNotUTF8 }
        }
        guard endsMessage else {
            unsafe assembler.append(UnsafeRawBufferPointer(chunk))
            return nil
        }
        message = nil
        guard !assembler.isEmpty else {
            return .message(open.kind, compressed: open.isCompressed, .inPlace(start..<start + chunk.count))
        }
        unsafe assembler.append(UnsafeRawBufferPointer(chunk))
        delivered = .assembled
        return .message(open.kind, compressed: open.isCompressed, .assembled)
    }

    private mutating func takeControl(
        _ chunk: UnsafeMutableRawBufferPointer, at start: Int, opcode: WebSocketOpcode, isWhole: Bool
    ) throws(WebSocketFault) -> WebSocketInboundEvent? {
        let isInPlace = isWhole && control.isEmpty
        if !isInPlace { unsafe control.append(UnsafeRawBufferPointer(chunk)) }
        guard isWhole else { return nil }
        if !isInPlace { delivered = .controlBuffer }
        let location: WebSocketPayloadLocation = isInPlace ? .inPlace(start..<start + chunk.count) : .controlBuffer
        switch opcode {
        case .ping:
            return .ping(location)
        case .pong:
            return .pong(location)
        case .close:
            return try unsafe takeClose(chunk, at: start, isInPlace: isInPlace)
        case .continuation, .text, .binary:
            preconditionFailure("control frames only")
        }
    }

    private mutating func takeClose(
        _ chunk: UnsafeMutableRawBufferPointer, at start: Int, isInPlace: Bool
    ) throws(WebSocketFault) -> WebSocketInboundEvent {
        let body = unsafe isInPlace ? UnsafeRawBufferPointer(chunk) : control.readable
        let code = try unsafe WebSocketCloseCode.decode(closeBody: body)
        endReceiving()
        let codeBytes = code == nil ? 0 : 2
        guard isInPlace else {
            control.consume(codeBytes)
            return .close(code, reason: .controlBuffer)
        }
        return .close(code, reason: .inPlace(start + codeBytes..<start + chunk.count))
    }
}
