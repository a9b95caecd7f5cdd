internal import RelayBase

/// The buffers that all connections of one loop take turns with, so that an idle connection holds none.
@safe
package final class TransportScratch {
    /// How the loop learns that a socket is ready.
    package enum Readiness: Sendable {
        /// Reported again as long as there is something to read: a read that did not fill the buffer needs no second one.
        case levelTriggered
        /// Reported once: read until the system says "would block".
        case edgeTriggered
    }

    /// Bytes taken from a socket at once, and the room for plaintext; at least four records.
    package static let bytes = 64 << 10

    package let output = TLSOutput()
    let readiness: Readiness
    let ciphertext: UnsafeMutableRawBufferPointer
    let plaintext: UnsafeMutableRawBufferPointer
    /// Ciphertext received for `holder` that it has not opened yet.
    var window = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    /// The connection that stopped reading in the middle of the window; the next one to read moves the rest into that one's own memory.
    var holder: SecureConnection?

    package init(readiness: Readiness) {
        self.readiness = readiness
        unsafe ciphertext = .allocate(byteCount: Self.bytes, alignment: 64)
        unsafe plaintext = .allocate(byteCount: Self.bytes, alignment: 64)
    }

    deinit {
        unsafe ciphertext.deallocate()
        unsafe plaintext.deallocate()
    }
}
