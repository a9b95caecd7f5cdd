import Signalling

extension EventLoop {
    /// A receiver report.
    func report(_ channel: Channel, _ id: UInt64, _ report: ClientRequest.ReceiverReport) throws(Refusal) {
        _ = try membership(channel)
        send(channel, .ok(id: id, .init()))
    }
}
