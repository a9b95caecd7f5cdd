import Reactor
import RelayBase
package import RelayRooms
import Signalling
import WebSocketProtocol

/// Time exchanges of a session: often at first, then every few seconds. Each says how the one before ended, so that the relay knows this clock too.
struct ClientClock {
    private static let quickExchanges = 8
    private static let quickMilliseconds: UInt64 = 250

    var estimator = ClockEstimator()
    /// When the next is due; never without an interval, and before the welcome.
    var due = MonotonicInstant.distantFuture
    /// The one that is under way: the id of its request, and this clock when it was sent.
    var pending: (id: UInt64, clientTime: Double)?
    var last: ClientRequest.CompletedExchange?
    private var made = 0

    mutating func sent(_ id: UInt64, _ clientTime: Double, interval: UInt64, now: MonotonicInstant) {
        pending = (id, clientTime)
        last = nil
        made += 1
        due = now.advanced(byMilliseconds: made < Self.quickExchanges ? min(Self.quickMilliseconds, interval) : interval)
    }

    /// The answer has come.
    mutating func answered(_ serverTime: Double, received: Double) {
        guard let exchange = pending else { return }
        pending = nil
        guard serverTime.isFinite else { return }
        last = ClientRequest.CompletedExchange(clientTime: exchange.clientTime, serverTime: serverTime, received: received)
        estimator.answered(clientTime: exchange.clientTime, serverTime: serverTime)
        _ = estimator.completed(clientTime: exchange.clientTime, serverTime: serverTime, received: received)
    }
}

extension ClientSession {
    /// This client's clock against the relay's; `nil` before the first exchange, and without ``ClientOptions/timeExchangeMilliseconds``.
    package var clockEstimate: ClockEstimate? { clock.estimator.estimate }

    func welcomed() {
        guard options.timeExchangeMilliseconds != nil else { return }
        clock.due = loop.now
        exchangeTimeIfDue()
        loop.schedule(self)
    }

    func exchangeTimeIfDue() {
        guard let interval = options.timeExchangeMilliseconds, loop.now >= clock.due, isOpen else { return }
        // One at a time; and what is queued here is no part of the path.
        guard clock.pending == nil, queuedBytes == 0 else {
            clock.due = loop.now.advanced(byMilliseconds: interval)
            return
        }
        let clientTime = loop.clock.milliseconds(at: MonotonicClock.now())
        let id = send(.time(.init(clientTime: clientTime, last: clock.last)))
        clock.sent(id, clientTime, interval: interval, now: loop.now)
    }

    /// Whether an answer is that of a time exchange, which is no event.
    func takesAnswer(_ id: UInt64, _ serverTime: Double?) -> Bool {
        guard let pending = clock.pending, pending.id == id else { return false }
        // When the loop woke: what it has done since is no part of the path either.
        clock.answered(serverTime ?? .nan, received: max(loop.clock.milliseconds(at: loop.now), pending.clientTime))
        return true
    }
}
