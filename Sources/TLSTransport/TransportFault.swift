/// Why a connection cannot go on.
package enum TransportFault: Error, Equatable, Sendable {
    case tls(TLSFault)
    /// A system call failed: `ECONNRESET`, `EPIPE`, `ETIMEDOUT`, …
    case system(operation: Operation, errno: Int32)

    package enum Operation: String, Sendable {
        case receive
        case send
    }

    /// A label for counters; see ``TLSFault/reason``.
    package var reason: String {
        switch self {
        case .tls(let fault): "tls_\(fault.reason)"
        case .system(let operation, _): "\(operation.rawValue)_failed"
        }
    }
}

extension TransportFault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .tls(let fault): "TLS: \(fault)"
        case .system(let operation, let errno): "\(operation.rawValue): \(systemErrorText(errno))"
        }
    }
}
