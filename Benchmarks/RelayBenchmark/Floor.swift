import BenchmarkSupport
import COpenSSL
import Glibc
import Reactor
import RelayBase
import Synchronization

/// What no relay can go below on this machine: one AES-128-GCM record per batch and receiver, sealed by the TLS library's own cipher, and one `send` each
/// over the loopback to a reader that waits on another core. No protocol, no lookup, no event loop.
@safe
final class Floor: Sendable {
    /// A 160-byte message behind a WebSocket header of 4 bytes (RFC 6455 §5.2).
    static let messageBytes = BenchmarkRoom.messageBytes + 4
    /// Record header, content type and tag (RFC 8446 §5.2).
    private static let recordOverhead = 5 + 1 + 16
    static let receivers = 50

    private let nanoseconds = Atomic<UInt64>(0)
    private let delivered = Atomic<Int>(0)
    private let failed = Atomic<Bool>(false)

    /// Delivered messages per CPU-second of the sending thread.
    ///
    /// - Parameters:
    ///   - batch: messages per record.
    ///   - core: where to seal and send; the caller reads on its own.
    static func measure(batch: Int, seconds: Double, core: Int) throws -> Double {
        let floor = Floor()
        let recordBytes = min(batch * messageBytes, 16 << 10) + recordOverhead
        var senders: [Int32] = []
        var readers: [Int32] = []
        defer { for descriptor in senders + readers { close(descriptor) } }
        for _ in 0..<receivers {
            let (sender, reader) = try loopbackPair()
            senders.append(sender)
            readers.append(reader)
        }
        var signal: [Int32] = [0, 0]
        guard unsafe pipe(&signal) == 0 else { throw BenchmarkFault("pipe: errno \(errno)") }
        let (ends, go, sockets) = (MonotonicClock.now().advanced(byNanoseconds: UInt64(seconds * 1e9)), signal[0], senders)
        let thread = try LoopThread(name: "floor", cpu: core) {
            floor.send(sockets, recordBytes: recordBytes, batch: batch, go: go, until: ends)
        }
        let outcome = Result { try floor.read(readers, recordBytes: recordBytes, go: signal[1]) }
        // However reading ended, the sender does not wait for ever.
        close(signal[1])
        thread.join()
        close(signal[0])
        try outcome.get()
        let spent = Double(floor.nanoseconds.load(ordering: .acquiring)) / 1e9
        guard !floor.failed.load(ordering: .acquiring), spent > 0 else { throw BenchmarkFault("the floor could not be measured") }
        return Double(floor.delivered.load(ordering: .acquiring)) / spent
    }

    private static func loopbackPair() throws -> (Int32, Int32) {
        let listener = try Socket.listen(on: .loopback(port: 0), backlog: 4, reusePort: false, calls: .linux)
        defer { SystemCalls.linux.close(listener) }
        let address = try Socket.localAddress(of: listener, calls: .linux)
        let (client, _) = try Socket.connect(to: address, calls: .linux)
        let accepted = accept(listener.number, nil, nil)
        guard accepted >= 0 else { throw BenchmarkFault("accept: errno \(errno)") }
        for descriptor in [client.number, accepted] {
            try Socket.setNoDelay(FileDescriptor(number: descriptor), true, calls: .linux)
            let flags = fcntl(descriptor, F_GETFL)
            _ = fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK)
        }
        return (accepted, client.number)
    }

    // MARK: The sending thread

    private func send(_ sockets: [Int32], recordBytes: Int, batch: Int, go: Int32, until end: MonotonicInstant) {
        let ciphers = unsafe sockets.map { _ in unsafe Floor.makeCipher() }
        defer { for place in sockets.indices { unsafe EVP_CIPHER_CTX_free(ciphers[place]) } }
        let plaintext = [UInt8](repeating: 0x5A, count: recordBytes - 5 - 16)
        var record = [UInt8](repeating: 0, count: recordBytes)
        var nonce: UInt64 = 0
        var count = 0
        let start = CPUUsage.ofThread().totalNanoseconds
        var token: UInt8 = 0
        while MonotonicClock.now() < end {
            for place in sockets.indices {
                nonce &+= 1
                guard unsafe Floor.seal(ciphers[place], nonce, plaintext, &record),
                    unsafe Glibc.send(sockets[place], record, record.count, Int32(MSG_NOSIGNAL)) == record.count
                else { return fail(sockets) }
            }
            count += batch * sockets.count
            // The round is over when the reader has it all, as in the relay's rooms.
            guard unsafe Glibc.read(go, &token, 1) == 1 else { return fail(sockets) }
        }
        nanoseconds.store(CPUUsage.ofThread().totalNanoseconds - start, ordering: .releasing)
        delivered.store(count, ordering: .releasing)
        for socket in sockets { shutdown(socket, Int32(SHUT_WR)) }
    }

    private func fail(_ sockets: [Int32]) {
        failed.store(true, ordering: .releasing)
        for socket in sockets { shutdown(socket, Int32(SHUT_WR)) }
    }

    private static func makeCipher() -> OpaquePointer? {
        let context = unsafe EVP_CIPHER_CTX_new()
        let key = [UInt8](repeating: 7, count: 16)
        unsafe EVP_EncryptInit_ex(context, EVP_aes_128_gcm(), nil, key, nil)
        return unsafe context
    }

    /// One record as TLS 1.3 makes it: header as associated data, ciphertext, tag (RFC 8446 §5.2).
    private static func seal(_ context: OpaquePointer?, _ nonce: UInt64, _ plaintext: [UInt8], _ record: inout [UInt8]) -> Bool {
        var vector = InlineArray<12, UInt8>(repeating: 0)
        for place in 0..<8 { vector[4 + place] = UInt8(truncatingIfNeeded: nonce >> UInt64(56 - 8 * place)) }
        let body = plaintext.count + 16
        (record[0], record[1], record[2], record[3], record[4]) = (23, 3, 3, UInt8(truncatingIfNeeded: body >> 8), UInt8(truncatingIfNeeded: body))
        var written: Int32 = 0
        return unsafe record.withUnsafeMutableBufferPointer { record in
            guard let start = record.baseAddress else { return false }
            let data = unsafe start + 5
            let isReady = unsafe withUnsafePointer(to: &vector) { vector in
                unsafe vector.withMemoryRebound(to: UInt8.self, capacity: 12) { unsafe EVP_EncryptInit_ex(context, nil, nil, nil, $0) }
            }
            return unsafe isReady == 1 && EVP_EncryptUpdate(context, nil, &written, start, 5) == 1
                && EVP_EncryptUpdate(context, data, &written, plaintext, Int32(plaintext.count)) == 1
                && EVP_EncryptFinal_ex(context, data + plaintext.count, &written) == 1
                && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, data + plaintext.count) == 1
        }
    }

    // MARK: The reader

    /// Waits and reads as the benchmark's clients do, since waking the reader is part of what a `send` costs.
    private func read(_ sockets: [Int32], recordBytes: Int, go: Int32) throws(SystemFault) {
        var selector = try Selector(calls: .linux)
        for descriptor in sockets { try selector.add(FileDescriptor(number: descriptor), token: UInt64(descriptor), interest: .read) }
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        var received = 0
        let perRound = recordBytes * sockets.count
        while true {
            let count = try selector.wait(timeoutMilliseconds: 10_000)
            guard count > 0 else { return fail(sockets) }
            for place in 0..<count {
                let bytes = unsafe recv(Int32(truncatingIfNeeded: selector.event(at: place).token), &buffer, buffer.count, Int32(MSG_DONTWAIT))
                if bytes == 0 { return }
                received += max(0, bytes)
            }
            guard received >= perRound else { continue }
            received -= perRound
            var token: UInt8 = 1
            guard unsafe write(go, &token, 1) == 1 else { return fail(sockets) }
        }
    }
}
