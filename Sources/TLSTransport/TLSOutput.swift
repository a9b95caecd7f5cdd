package import RelayBase

/// Where the machines of one loop leave the ciphertext they make. Whoever ran a machine drains it before another machine of the loop runs.
///
/// Its memory is kept, so that sealing allocates nothing in steady state, unless one rare large message has grown it beyond 1 MiB.
@safe
package final class TLSOutput {
    let queue: UnsafeMutablePointer<ByteQueue>

    package init() {
        unsafe queue = .allocate(capacity: 1)
        unsafe queue.initialize(to: ByteQueue())
    }

    deinit {
        unsafe queue.deinitialize(count: 1)
        unsafe queue.deallocate()
    }

    package var bytes: ByteQueue {
        _read { yield unsafe queue.pointee }
        _modify { yield unsafe &queue.pointee }
    }

    /// Empties the output, once it is drained.
    package func reset() {
        bytes.removeAll()
        if bytes.capacity > Self.bytesKeptMax { bytes.releaseIfEmpty() }
    }

    private static let bytesKeptMax = 1 << 20
}
