import Reactor
package import RelayBase
import RelayRooms

/// For playing clients that are not as they should be.
extension ClientLoop {
    /// Has a session take nothing from its connection any more: what the relay sends fills the kernels' buffers, and then waits at the relay. A connection that
    /// ends meanwhile is told as ever.
    package func stopReading(_ session: ClientSession) {
        guard !session.hasEnded, !session.isReadingStopped else { return }
        session.isReadingStopped = true
        tellInterest(of: session)
    }

    package func readAgain(_ session: ClientSession) {
        guard !session.hasEnded, session.isReadingStopped else { return }
        session.isReadingStopped = false
        // What TLS has decrypted already makes no socket readable.
        session.isReadable = true
        tellInterest(of: session)
        enqueue(session)
    }

    /// Tells the selector what the session waits for.
    func tellInterest(of session: ClientSession) {
        var interest: Interest = session.isReadingStopped ? [] : .read
        if session.watchesWrite { interest.insert(.write) }
        try? selector.modify(session.descriptor, token: session.handle.packed, interest: interest)
    }
}

extension ClientSession {
    /// The relay's clock at an instant of this machine's, in milliseconds since 1970; `nil` before the first time exchange.
    package func relayMilliseconds(at instant: MonotonicInstant) -> Double? {
        clockEstimate.map { loop.clock.milliseconds(at: instant) - $0.offsetMilliseconds }
    }
}
