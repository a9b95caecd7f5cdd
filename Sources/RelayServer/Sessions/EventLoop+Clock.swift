import Reactor
import Signalling

extension EventLoop {
    /// The client's clock against the relay's, in-band.
    func exchangeTime(_ channel: Channel, _ id: UInt64, _ time: ClientRequest.TimeExchange) throws(Refusal) {
        guard time.clientTime.isFinite else { throw .badValue("clientTime") }
        var answer = RelayMessage.Answer()
        answer.clientTime = time.clientTime
        answer.serverTime = Double(WallClock.now())
        send(channel, .ok(id: id, answer))
    }
}
