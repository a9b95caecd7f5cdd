import Signalling

extension EventLoop {
    /// What only a host may ask for.
    func moderation(_ channel: Channel, _ id: UInt64, _ request: ClientRequest) throws(Refusal) {
        throw .unknownType(request.type)
    }
}
