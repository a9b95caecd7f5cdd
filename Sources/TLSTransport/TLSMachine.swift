internal import COpenSSL
internal import RelayBase

/// Whom a client means to reach: what the server's certificate must name.
package enum TLSPeerName: Sendable, Equatable {
    /// Also sent as server name indication (RFC 6066 §3).
    case dns(String)
    /// A numeric IPv4 or IPv6 address.
    case address(String)
}

package enum HandshakeProgress: Sendable, Equatable {
    /// More bytes from the peer are needed.
    case inProgress
    case complete
}

package enum TLSRead: Sendable, Equatable {
    /// So many bytes of plaintext were written.
    case bytes(Int)
    /// All input is used up.
    case needsInput
    /// The peer said that it will send no more (RFC 8446 §6.1).
    case closeNotify
}

/// One end of a TLS connection as a machine: ciphertext goes in as bytes lent for a call, ciphertext comes out in the loop's ``TLSOutput``, and no socket is touched.
///
/// After any operation, also one that throws (there may be an alert for the peer), the output must be drained before another machine of the loop runs.
/// After a throw the machine answers every operation with the same fault.
@safe
package final class TLSMachine {
    package let context: TLSContext
    package private(set) var isHandshakeComplete = false
    /// The accepting end, once the handshake is complete: the client's certificate, to be measured again as long as the client's sessions live; `nil` without one.
    package private(set) var client: ForwardedPeer?
    private var output: TLSOutput
    private let ssl: OpaquePointer
    private let io: UnsafeMutablePointer<RecordIO>
    private var fault: TLSFault?
    private var hasReceivedCloseNotify = false

    /// The accepting end.
    package convenience init(accepting context: TLSContext, output: TLSOutput) throws(TLSFault) {
        precondition(context.role == .server, "accepting needs a server's context")
        try self.init(context, output)
        unsafe SSL_set_accept_state(ssl)
    }

    /// The connecting end.
    ///
    /// - Parameter session: one from an earlier connection to the same server, to be resumed if the server agrees.
    package convenience init(
        connecting context: TLSContext, to name: TLSPeerName, session: TLSSession? = nil, output: TLSOutput
    ) throws(TLSFault) {
        precondition(context.role == .client, "connecting needs a client's context")
        try self.init(context, output)
        unsafe SSL_set_connect_state(ssl)
        switch name {
        case .dns(let host):
            guard unsafe SSL_set1_host(ssl, host) == 1, unsafe segue_ssl_set_server_name(ssl, host) == 1 else {
                throw .internal("bad host name \(host)")
            }
        case .address(let address):
            guard unsafe X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), address) == 1 else { throw .internal("bad address \(address)") }
        }
        unsafe session?.offer(in: ssl)
        ErrorQueue.clear()
    }

    private init(_ context: TLSContext, _ output: TLSOutput) throws(TLSFault) {
        ErrorQueue.clear()
        let io = UnsafeMutablePointer<RecordIO>.allocate(capacity: 1)
        unsafe io.initialize(to: RecordIO(output: output.queue))
        guard let ssl = unsafe SSL_new(context.handle) else {
            unsafe io.deallocate()
            throw .internal(ErrorQueue.drainText())
        }
        guard let bio = unsafe RecordIOMethod.shared.makeBIO(over: io) else {
            unsafe SSL_free(ssl)
            unsafe io.deallocate()
            throw .internal(ErrorQueue.drainText())
        }
        // The connection owns the BIO, for both directions.
        unsafe SSL_set_bio(ssl, bio, bio)
        unsafe SSL_set_msg_callback(ssl, watchMessages)
        unsafe segue_ssl_set_msg_callback_arg(ssl, io)
        unsafe X509_VERIFY_PARAM_set_time(SSL_get0_param(ssl), Int(context.clock.seconds()))
        self.context = context
        self.output = output
        unsafe self.ssl = unsafe ssl
        unsafe self.io = unsafe io
    }

    deinit {
        unsafe SSL_free(ssl)
        unsafe io.deinitialize(count: 1)
        unsafe io.deallocate()
    }
}

extension TLSMachine {
    /// Carries the handshake on with the peer's bytes; a client begins with none.
    ///
    /// - Parameter input: lent for the call; on return, what was not used (application data may follow the peer's last flight).
    package func handshake(_ input: inout UnsafeRawBufferPointer) throws(TLSFault) -> HandshakeProgress {
        if let fault { throw fault }
        let result = unsafe lending(&input) { unsafe SSL_do_handshake(ssl) }
        if result == 1 {
            isHandshakeComplete = true
            if context.role == .server {
                client = peerOfHandshake()
                releaseHandshake()
            }
            return .complete
        }
        let error = unsafe SSL_get_error(ssl, result)
        if error == SSL_ERROR_WANT_READ {
            return .inProgress
        }
        throw fail(error, isFirstRecord: unsafe !io.pointee.hasReceivedMessage)
    }

    /// Opens records of the peer into `plaintext`, which must have room for one (16 KiB), so that none is left half read.
    ///
    /// - Parameter input: lent for the call; on return, what was not used. Call again until the answer is `needsInput`.
    package func read(_ input: inout UnsafeRawBufferPointer, into plaintext: UnsafeMutableRawBufferPointer) throws(TLSFault) -> TLSRead {
        if let fault { throw fault }
        if hasReceivedCloseNotify { return .closeNotify }
        precondition(isHandshakeComplete, "reading comes after the handshake")
        precondition(plaintext.count >= Self.recordBytesMax, "room for a whole record")
        var count = 0
        unsafe io.pointee.isReading = true
        let result = unsafe lending(&input) { unsafe SSL_read_ex(ssl, plaintext.baseAddress, plaintext.count, &count) }
        unsafe io.pointee.isReading = false
        if result == 1 {
            unsafe io.pointee.plaintextBytes &+= count
            return .bytes(count)
        }
        let error = unsafe SSL_get_error(ssl, result)
        switch error {
        case SSL_ERROR_WANT_READ: return .needsInput
        case SSL_ERROR_ZERO_RETURN:
            hasReceivedCloseNotify = true
            return .closeNotify
        default: throw fail(error, isFirstRecord: false)
        }
    }

    /// Seals all of `plaintext` into the output, in as few records as hold it (16 KiB each).
    package func write(_ plaintext: UnsafeRawBufferPointer) throws(TLSFault) {
        if let fault { throw fault }
        precondition(isHandshakeComplete, "writing comes after the handshake")
        guard unsafe !plaintext.isEmpty else { return }
        // The library's error queue is not cleared first, as it must be where an answer may mean "later": here anything but success is a fault.
        var count = 0
        let result = unsafe SSL_write_ex(ssl, plaintext.baseAddress, plaintext.count, &count)
        guard result == 1 else { throw fail(unsafe SSL_get_error(ssl, result), isFirstRecord: false) }
        precondition(count == plaintext.count, "the output takes everything, so nothing is written in part")
    }

    /// Seals `plaintext`, one record at most, and has the record sent from the library's own memory, before it is copied anywhere. What the kernel does not
    /// take, and whatever the library had to say besides, is left in the output, which was empty.
    ///
    /// - Returns: what came of the call.
    func write(_ plaintext: UnsafeRawBufferPointer, sendingTo descriptor: Int32, by socket: SocketIO) throws(TLSFault) -> RecordIO.Immediate? {
        precondition(plaintext.count <= Self.recordBytesMax, "one record")
        unsafe io.pointee.immediate = RecordIO.Immediate(descriptor: descriptor, socket: socket)
        defer { unsafe io.pointee.immediate = nil }
        try unsafe write(plaintext)
        return unsafe io.pointee.immediate
    }

    /// Says that no more will be sent (close_notify). Does nothing after a fault, before the handshake is complete, or the second time.
    package func shutdown() {
        guard fault == nil, isHandshakeComplete, unsafe SSL_get_shutdown(ssl) & SSL_SENT_SHUTDOWN == 0 else { return }
        ErrorQueue.clear()
        _ = unsafe SSL_shutdown(ssl)
        ErrorQueue.clear()
    }

    /// Changes the key that this end sends with, and asks the peer to do the same (TLS 1.3, RFC 8446 §4.6.3). The message goes out with the next write.
    package func updateKeys() throws(TLSFault) {
        if let fault { throw fault }
        ErrorQueue.clear()
        guard unsafe SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED) == 1 else { throw .internal(ErrorQueue.drainText()) }
        // The peer's answer is our doing, not part of a flood.
        unsafe io.pointee.keyUpdates -= 1
    }

    /// The transport's stream ended. True when that is clean, which means that close_notify came first.
    package var endIsClean: Bool { fault == nil && hasReceivedCloseNotify }

    /// Plaintext in one record at most (RFC 8446 §5.1).
    package static let recordBytesMax = 16 << 10

    /// What is sealed from now on is left in another loop's output.
    func joinLoop(_ output: TLSOutput) {
        self.output = output
        unsafe io.pointee.output = unsafe output.queue
    }

    private func lending(_ input: inout UnsafeRawBufferPointer, _ body: () -> Int32) -> Int32 {
        ErrorQueue.clear()
        unsafe io.pointee.input = unsafe input
        let result = body()
        unsafe input = unsafe io.pointee.input
        unsafe io.pointee.input = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
        return result
    }

    private func fail(_ error: Int32, isFirstRecord: Bool) -> TLSFault {
        let fault: TLSFault =
            if unsafe io.pointee.isFlooded {
                .controlFlood
            } else if error == SSL_ERROR_SSL {
                .fromQueue(verification: unsafe Int32(clamping: SSL_get_verify_result(ssl)), isFirstRecord: isFirstRecord)
            } else {
                .internal("unexpected library state \(error)")
            }
        ErrorQueue.clear()
        self.fault = fault
        return fault
    }
}

extension TLSMachine {
    var handle: OpaquePointer { unsafe ssl }
}
