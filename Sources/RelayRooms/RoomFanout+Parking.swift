import RelayBase

// A subscriber whose connection was lost and whose client may come back: its cursors stay where they are, and what grows old there is dropped as for anybody
// who lags. No publisher is asked for key frames on its behalf meanwhile.
extension RoomFanout {
    /// Nothing is pulled for the subscriber from now on. What was begun on the lost connection begins anew on the next.
    package mutating func park(_ subscriber: Int) {
        subscribers[subscriber].isParked = true
        subscribers[subscriber].begunLane = nil
        subscribers[subscriber].begunBytes = 0
        guard !subscribers[subscriber].residue.isEmpty else { return }
        // The log has let go of the message already, and nobody knows any more whose it was.
        if subscribers[subscriber].residueEndsFrame { subscribers[subscriber].account.expired &+= 1 }
        subscribers[subscriber].residueEndsFrame = false
        subscribers[subscriber].residue.removeAll()
        subscribers[subscriber].residue.releaseIfEmpty()
        for slot in subscribers[subscriber].interests.indices where subscribers[subscriber].interests[slot].isWanted && streams[slot].lane == .video {
            subscribers[subscriber].setTrouble(StreamSlot(slot), lane: .video, awaitsKey: true)
        }
    }

    /// The subscriber has a connection again: the key frames that it has come to need meanwhile are asked for.
    package mutating func unpark(_ subscriber: Int) {
        subscribers[subscriber].isParked = false
        for slot in subscribers[subscriber].interests.indices
        where subscribers[subscriber].interests[slot].isWanted && subscribers[subscriber].interests[slot].awaitsKey {
            setKeyFrameWanted(StreamSlot(slot), true)
        }
    }

    /// The sequence number of the last frame that came of a stream; `nil` when none has.
    package func lastSequence(of slot: StreamSlot) -> UInt32? {
        nil
    }
}
