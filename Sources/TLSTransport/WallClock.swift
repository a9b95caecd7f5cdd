import Glibc

/// Where certificates' and tickets' ages are measured from: seconds since 1970, as certificates count them.
///
/// Only handshakes and trust checks read it, never the path of a frame; tests pass a clock of their own.
package struct WallClock: Sendable {
    package let seconds: @Sendable () -> Int64

    package init(seconds: @escaping @Sendable () -> Int64) {
        self.seconds = seconds
    }

    package static let system = WallClock { Int64(time(nil)) }
}
