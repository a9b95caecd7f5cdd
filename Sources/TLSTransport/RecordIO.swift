internal import COpenSSL
internal import RelayBase

/// What the library reads from and writes to during one call: a window of ciphertext lent by the caller, and the loop's output.
///
/// One sits in raw memory beside each connection, so that the library's callbacks reach it without class accesses.
@safe
struct RecordIO {
    /// What is left of the lent ciphertext; empty between calls.
    var input = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    /// The loop's ``TLSOutput``.
    var output: UnsafeMutablePointer<ByteQueue>
    /// Application data is being read, so whatever is written meanwhile is a reply that the peer provoked.
    var isReading = false
    /// A handshake message of the peer's was understood.
    var hasReceivedMessage = false
    /// What the peer made this end do beside relaying data: key updates received (RFC 8446 §4.6.3), bytes of replies made (answers to key updates,
    /// refusals of renegotiation), and the plaintext bytes that earn an allowance for both.
    var keyUpdates = 0
    var replyBytes = 0
    var plaintextBytes = 0

    /// The next record goes to the socket at once, if the output is empty.
    var immediate: Immediate?

    struct Immediate {
        let descriptor: Int32
        let socket: SocketIO
        /// `nil`: nothing was sent.
        var outcome: SocketOutcome?
        /// The kernel took all of the record.
        var isWhole = false
    }

    /// Sends a record at once where that is wanted.
    ///
    /// - Returns: how much of it the kernel took; 0 when it was not sent.
    mutating func sendAtOnce(_ record: UnsafeRawBufferPointer) -> Int {
        guard let now = immediate, now.outcome == nil, unsafe output.pointee.isEmpty else { return 0 }
        let outcome = unsafe now.socket.send(now.descriptor, record)
        immediate?.outcome = outcome
        guard case .done(let count) = outcome else { return 0 }
        immediate?.isWhole = count == record.count
        return count
    }

    init(output: UnsafeMutablePointer<ByteQueue>) {
        unsafe self.output = output
    }

    /// Allowed are 32 key updates, one more for every MiB of data (AES-GCM wants one about every 2²⁴ records), and replies in proportion. Each costs far
    /// more to process than to send; beyond the allowance the input dries up and the call fails.
    var isFlooded: Bool {
        keyUpdates > 32 + plaintextBytes >> 20 || replyBytes > 4_096 + plaintextBytes >> 8
    }
}

/// The library's view of a ``RecordIO``: a source and sink of bytes (a BIO) of our own kind, made once for the process.
@safe
struct RecordIOMethod: @unchecked Sendable {  // Safe: a table of C functions, never written after it was made.
    // Sendable: written once at start-up, only read afterwards (the library itself shares BIO methods between threads).
    private let method: OpaquePointer?

    static let shared = RecordIOMethod()

    private init() {
        guard let method = unsafe BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "segue record I/O") else {
            unsafe self.method = nil
            return
        }
        unsafe BIO_meth_set_read_ex(method, recordRead)
        unsafe BIO_meth_set_write_ex(method, recordWrite)
        unsafe BIO_meth_set_ctrl(method, recordControl)
        unsafe BIO_meth_set_create(method, recordCreate)
        unsafe self.method = unsafe method
    }

    /// A BIO over `io`, which must outlive it; `nil` when memory is out.
    func makeBIO(over io: UnsafeMutablePointer<RecordIO>) -> OpaquePointer? {
        guard let method = unsafe method, let bio = unsafe BIO_new(method) else { return nil }
        unsafe BIO_set_data(bio, io)
        return unsafe bio
    }
}

private func recordIO(of bio: OpaquePointer?) -> UnsafeMutablePointer<RecordIO>? {
    unsafe BIO_get_data(bio)?.assumingMemoryBound(to: RecordIO.self)
}

private func recordCreate(_ bio: OpaquePointer?) -> Int32 {
    unsafe BIO_set_init(bio, 1)
    return 1
}

private func recordRead(
    _ bio: OpaquePointer?, _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int, _ taken: UnsafeMutablePointer<Int>?
) -> Int32 {
    guard let io = unsafe recordIO(of: bio), let bytes = unsafe bytes else { return 0 }
    unsafe BIO_clear_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_WRITE | BIO_FLAGS_IO_SPECIAL | BIO_FLAGS_SHOULD_RETRY)
    // An end without "retry" makes the call under way fail, which is the only way to stop the library from working through a flood.
    if unsafe io.pointee.isFlooded { return 0 }
    let input = unsafe io.pointee.input
    guard unsafe !input.isEmpty, let start = input.baseAddress else {
        unsafe BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY)
        return 0
    }
    let part = min(count, input.count)
    unsafe UnsafeMutableRawPointer(bytes).copyMemory(from: start, byteCount: part)
    unsafe io.pointee.input = unsafe UnsafeRawBufferPointer(rebasing: input[part...])
    unsafe taken?.pointee = part
    return 1
}

private func recordWrite(_ bio: OpaquePointer?, _ bytes: UnsafePointer<CChar>?, _ count: Int, _ written: UnsafeMutablePointer<Int>?) -> Int32 {
    guard let io = unsafe recordIO(of: bio), let bytes = unsafe bytes else { return 0 }
    // No flag is cleared: the library asks for them when a write fails, and this one never does.
    if unsafe io.pointee.isReading { unsafe io.pointee.replyBytes += count }
    let record = unsafe UnsafeRawBufferPointer(start: bytes, count: count)
    let taken = unsafe io.pointee.sendAtOnce(record)
    if taken < count { unsafe io.pointee.output.pointee.append(UnsafeRawBufferPointer(rebasing: record[taken...])) }
    unsafe written?.pointee = count
    return 1
}

private func recordControl(_: OpaquePointer?, _ command: Int32, _: Int, _: UnsafeMutableRawPointer?) -> Int {
    // Nothing is buffered here, so a flush is done at once. The end of the stream is the caller's business, so "at the end?" is no.
    command == BIO_CTRL_FLUSH ? 1 : 0
}

/// Watches for the peer's handshake messages and counts the key updates among them (a message callback). It sees every record's header too, so it must
/// stay this short.
func watchMessages(
    _ isWrite: Int32, _: Int32, _ contentType: Int32, _ bytes: UnsafeRawPointer?, _ count: Int, _: OpaquePointer?, _ io: UnsafeMutableRawPointer?
) {
    guard contentType == SSL3_RT_HANDSHAKE, isWrite == 0, count > 0, let bytes = unsafe bytes, let io = unsafe io else { return }
    let record = unsafe io.assumingMemoryBound(to: RecordIO.self)
    unsafe record.pointee.hasReceivedMessage = true
    if unsafe bytes.load(as: UInt8.self) == UInt8(SSL3_MT_KEY_UPDATE) { unsafe record.pointee.keyUpdates += 1 }
}
