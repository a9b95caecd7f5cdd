import Reactor
import RelayBase
import RelayRooms
import Signalling

extension EventLoop {
    /// The client's clock against the relay's, in-band. What is said of an exchange before is checked against what the relay has answered.
    func exchangeTime(_ channel: Channel, _ id: UInt64, _ time: ClientRequest.TimeExchange) throws(Refusal) {
        guard EventLoop.isClock(time.clientTime) else { throw .badValue("clientTime") }
        if let last = time.last {
            guard EventLoop.isClock(last.clientTime), EventLoop.isClock(last.serverTime), EventLoop.isClock(last.received) else {
                throw .badValue("last")
            }
            _ = channel.liveness.clock.completed(clientTime: last.clientTime, serverTime: last.serverTime, received: last.received)
        }
        var answer = RelayMessage.Answer()
        answer.clientTime = time.clientTime
        // Read now, not when the turn began: the rest of the turn would be taken for the path's.
        let serverTime = shared.clock.milliseconds(at: MonotonicClock.now())
        answer.serverTime = serverTime
        channel.liveness.clock.answered(clientTime: time.clientTime, serverTime: serverTime)
        send(channel, .ok(id: id, answer))
    }

    private static func isClock(_ milliseconds: Double) -> Bool {
        milliseconds.isFinite && milliseconds.magnitude <= ClockEstimator.clockMillisecondsMax
    }
}
