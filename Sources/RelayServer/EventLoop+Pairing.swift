import RelayRooms
import Signalling

extension EventLoop {
    /// Requests about pairs.
    func pairing(_ channel: Channel, _ id: UInt64, _ request: ClientRequest) throws(Refusal) {
        throw .unknownType(request.type)
    }

    /// A join of a pair's room.
    func joinPair(_ channel: Channel, _ id: UInt64, _ join: ClientRequest.Join, _ name: RoomName) throws(Refusal) {
        throw .notAllowed
    }
}
