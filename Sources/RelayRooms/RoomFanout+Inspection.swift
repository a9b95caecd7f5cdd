import RelayBase

extension RoomFanout {
    /// Bytes of memory that a lane's log holds.
    package func bytesHeld(_ lane: Lane) -> Int {
        self[lane].byteCapacity
    }

    /// Bytes up to the end of the message that was begun for a subscriber; 0 when none was.
    package func begunByteCount(_ subscriber: Int) -> Int {
        var count = subscribers[subscriber].residue.count
        if let lane = subscribers[subscriber].begunLane {
            count += self[lane][subscribers[subscriber][lane].sequence].byteCount - subscribers[subscriber].begunBytes
        }
        return count
    }
}
