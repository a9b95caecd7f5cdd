package import RelayBase

/// Where the machines of one loop leave the ciphertext they make. Whoever ran a machine drains it before another machine of the loop runs.
///
/// Its memory is kept, so sealing allocates nothing once it has grown to the largest batch.
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
}
