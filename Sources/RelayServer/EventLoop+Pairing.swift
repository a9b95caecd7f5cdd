import Signalling

extension EventLoop {
    /// Requests about pairs.
    func pairing(_ channel: Channel, _ id: UInt64, _ request: ClientRequest) throws(Refusal) {
        throw .unknownType(request.type)
    }
}
