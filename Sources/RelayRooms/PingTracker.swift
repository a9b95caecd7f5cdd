package import RelayBase

/// Pings on their way, told apart by their payloads (RFC 6455 §5.5.2): eight bytes that mean something to their sender only, nanoseconds since `start`.
///
/// A peer may answer only the newest of several pings (§5.5.3), or say a pong that nobody asked for: neither is a fault, and neither gives a wrong time.
package struct PingTracker: Sendable {
    package static let payloadBytes = 8
    private static let outstandingMax = 4

    private let start: MonotonicInstant
    /// Oldest first; 0 stands for none.
    private var outstanding: InlineArray<4, UInt64> = [0, 0, 0, 0]
    private var count = 0

    package init(start: MonotonicInstant) {
        self.start = start
    }

    /// A ping goes out; of more than four without an answer the oldest is forgotten.
    ///
    /// - Returns: its payload, to be sent in network byte order.
    package mutating func sent(at now: MonotonicInstant) -> UInt64 {
        var payload = max(1, now.nanoseconds(since: start))
        // Two in one nanosecond are still two.
        if count > 0, payload <= outstanding[count - 1] { payload = outstanding[count - 1] &+ 1 }
        if count == Self.outstandingMax { forget(1) }
        outstanding[count] = payload
        count += 1
        return payload
    }

    /// A pong has come.
    ///
    /// - Returns: the round trip in nanoseconds; `nil` when it answers no ping that is under way.
    package mutating func answered(_ payload: UInt64, at now: MonotonicInstant) -> UInt64? {
        for place in 0..<count where outstanding[place] == payload {
            // Those before it are answered with it.
            forget(place + 1)
            let arrived = now.nanoseconds(since: start)
            return arrived > payload ? arrived - payload : 0
        }
        return nil
    }

    private mutating func forget(_ number: Int) {
        for place in 0..<(count - number) { outstanding[place] = outstanding[place + number] }
        count -= number
    }
}
