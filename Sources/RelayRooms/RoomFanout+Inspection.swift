import RelayBase

extension RoomFanout {
    /// Bytes of memory that a lane's log holds.
    package func bytesHeld(_ lane: Lane) -> Int {
        self[lane].byteCapacity
    }
}
