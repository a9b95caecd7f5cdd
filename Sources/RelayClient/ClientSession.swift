import HTTPProtocol
import HTTPTransport
package import MediaProtocol
import Reactor
package import RelayBase
package import Signalling
package import TLSTransport
package import WebSocketProtocol

/// One client of a relay: a TCP connection, TLS, the opening over HTTP/1.1 or HTTP/2, and the WebSocket with its messages.
///
/// It belongs to a ``ClientLoop``, which drives it; nothing here waits. What it sends is queued and leaves at the loop's next poll.
@safe
package final class ClientSession {
    enum Phase {
        case connecting
        case securing
        /// The upgrade request is out.
        case upgrading(HTTPResponseHeadParser, WebSocketHandshake.Offer)
        /// SETTINGS are awaited, which say whether WebSockets may be opened.
        case negotiating(HTTP2Session)
        /// The extended CONNECT is out.
        case requesting(HTTP2Session, HTTP2StreamID)
        case openHTTP1
        case openHTTP2(HTTP2Session, HTTP2StreamID)
        case ended
    }

    package let options: ClientOptions
    package internal(set) var handle = Handle(index: 0, generation: 0)
    /// The caller's own number, from the options.
    package var tag: Int { options.tag }
    /// What TLS agreed on; `nil` before its handshake is complete.
    package internal(set) var negotiated: TLSNegotiated?
    /// Frames and control messages sent so far, and their bytes on the WebSocket.
    package private(set) var messagesSent: UInt64 = 0
    package private(set) var bytesQueued: UInt64 = 0

    unowned let loop: ClientLoop
    let descriptor: FileDescriptor
    let secure: SecureConnection
    var phase = Phase.connecting
    var inbound: WebSocketInbound
    var closing: WebSocketClosing
    var parts = PartAssembler()
    /// A frame that was put together, or a bundle whose frames are handed out one by one: lent to the caller from here.
    var assembled = ByteQueue()
    var isInBundle = false
    /// Of ``assembled``, the length and the frame that were lent last.
    var bundleFrameBytes = 0
    /// Masked WebSocket frames, or the request that opens it, on their way out.
    var outbound = ByteQueue()
    /// The response head, and what came along behind it.
    var early = ByteQueue()
    /// The plaintext that is being decoded, and where it came from.
    var chunk = unsafe UnsafeMutableRawBufferPointer(start: nil, count: 0)
    var chunkIsFromStream = false
    var chunkOffset = 0
    var closeReason = ""

    var timer: TimerID?
    let openedAt: MonotonicInstant
    var lastReceived: MonotonicInstant
    var lastPing: MonotonicInstant
    var clock = ClientClock()
    /// When a connection whose WebSocket is done with is ended by force.
    var endsBy = MonotonicInstant.distantFuture

    // What the loop knows of it.
    var isReadable = false
    var isWritable = false
    var hasStreamEvents = false
    var isQueued = false
    var isDirty = false
    var watchesWrite = true
    /// By ``ClientLoop/stopReading(_:)``.
    var isReadingStopped = false
    var receivesLeft = 0
    var wasFull = false
    private var nextID: UInt64 = 1

    init(
        loop: ClientLoop, options: ClientOptions, descriptor: FileDescriptor, secure: SecureConnection, now: MonotonicInstant
    ) {
        self.loop = loop
        self.options = options
        self.descriptor = descriptor
        self.secure = secure
        var configuration = WebSocketInboundConfiguration(role: .client, limits: options.limits)
        configuration.textBytesMax = options.textBytesMax
        inbound = WebSocketInbound(configuration)
        closing = WebSocketClosing(role: .client, closeHandshakeMillisecondsMax: options.closeHandshakeMillisecondsMax)
        openedAt = now
        lastReceived = now
        lastPing = now
    }

    // MARK: State

    package var isOpen: Bool {
        switch phase {
        case .openHTTP1, .openHTTP2: closing.maySend
        case .connecting, .securing, .upgrading, .negotiating, .requesting, .ended: false
        }
    }

    package var hasEnded: Bool {
        if case .ended = phase { true } else { false }
    }

    var http2: HTTP2Session? {
        switch phase {
        case .negotiating(let session), .requesting(let session, _), .openHTTP2(let session, _): session
        case .connecting, .securing, .upgrading, .openHTTP1, .ended: nil
        }
    }

    /// Bytes that wait in this process: WebSocket frames, and sealed records that the kernel has not taken.
    package var queuedBytes: Int { outbound.count + secure.unsentCount }

    /// Whether the queue has room for media. When it is false, ``ClientEvent/writable`` follows.
    package var canSend: Bool {
        guard isOpen else { return false }
        if queuedBytes < options.sendQueueBytesMax { return true }
        wasFull = true
        return false
    }

    // MARK: Sending

    /// Asks the relay for something; the answer comes under the id returned, or the session ends.
    @discardableResult
    package func send(_ request: ClientRequest) -> UInt64 {
        let id = nextID
        nextID += 1
        sendText(request.encoded(id: id))
        return id
    }

    /// Numbers requests on from where another session's numbers end.
    func continueIDs(of other: ClientSession) { nextID = other.nextID }

    /// A text message as it stands; the bytes should be UTF-8.
    package func sendText(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBytes { unsafe sendMessage(.text, $0) }
    }

    /// A binary message as it stands.
    package func sendBinary(_ bytes: RawSpan) {
        unsafe bytes.withUnsafeBytes { unsafe sendMessage(.binary, $0) }
    }

    private func sendMessage(_ opcode: WebSocketOpcode, _ bytes: UnsafeRawBufferPointer) {
        guard isOpen else { return }
        unsafe WebSocketFrameEncoder.append(opcode, bytes, maskingKey: loop.keys.take(), to: &outbound)
        count(bytes.count)
    }

    /// Sends one media frame without extensions; see ``sendFrame(_:extensions:payload:)``.
    @discardableResult
    package func sendFrame(_ header: MediaHeader, payload: RawSpan) -> Bool {
        sendFrame(header, extensions: payload.extracting(first: 0), payload: payload)
    }

    /// Sends one media frame.
    ///
    /// - Parameter extensions: an encoded extension block (``ExtensionWriter``) without the header's flag set; empty for none.
    /// - Returns: false, and nothing is queued, when ``canSend`` is false.
    @discardableResult
    package func sendFrame(_ header: MediaHeader, extensions: RawSpan, payload: RawSpan) -> Bool {
        guard canSend else { return false }
        var header = header
        if extensions.byteCount > 0 { header.flags.insert(.extensionPresent) }
        let length = MediaHeader.byteCount + extensions.byteCount + payload.byteCount
        let key = loop.keys.take()
        let frame = WebSocketFrameHeader(opcode: .binary, payloadLength: UInt64(length), maskingKey: key)
        let room = unsafe outbound.reserve(frame.encodedLength + length)
        let start = unsafe frame.encode(into: room)
        let body = unsafe UnsafeMutableRawBufferPointer(rebasing: room[start..<start + length])
        unsafe header.write(into: body)
        unsafe Self.copy(extensions, to: body, at: MediaHeader.byteCount)
        unsafe Self.copy(payload, to: body, at: MediaHeader.byteCount + extensions.byteCount)
        var masker = WebSocketMasker(key)
        unsafe masker.apply(to: body)
        outbound.commit(start + length)
        count(length)
        return true
    }

    private static func copy(_ bytes: RawSpan, to room: UnsafeMutableRawBufferPointer, at offset: Int) {
        unsafe bytes.withUnsafeBytes { bytes in
            guard unsafe !bytes.isEmpty else { return }
            unsafe UnsafeMutableRawBufferPointer(rebasing: room[offset..<offset + bytes.count]).copyMemory(from: bytes)
        }
    }

    private func count(_ byteCount: Int) {
        messagesSent &+= 1
        bytesQueued &+= UInt64(byteCount)
        loop.markDirty(self)
    }

    /// Begins the closing handshake (RFC 6455 §7); ``ClientEvent/closed(_:reason:)`` follows. A session that is not open yet is dropped at once, silently.
    package func close(_ code: WebSocketCloseCode = .normalClosure, reason: String = "") {
        switch phase {
        case .openHTTP1, .openHTTP2:
            guard case .send = closing.sendClose(now: loop.now) else { return }
            WebSocketFrameEncoder.appendClose(code, reason: reason, maskingKey: loop.keys.take(), to: &outbound)
            loop.markDirty(self)
            loop.schedule(self)
        case .connecting, .securing, .upgrading, .negotiating, .requesting: loop.drop(self)
        case .ended: break
        }
    }
}
