import MediaProtocol
import RelayBase

/// One stream in one loop's fan-out of its room: who sends it, and what a late joiner is given first.
package struct StreamState: ~Copyable {
    package let id: UInt32
    package let publisher: ParticipantID
    package let lane: Lane
    /// Frames appended since the slot was taken: what ``FrameAccount/entered`` is checked against.
    package internal(set) var appended: UInt64 = 0
    /// Set when the stream ended; the slot is free again once the log has let go of everything before this sequence.
    var endedAt: UInt64?
    /// The place in the log from which on frames need ``configuration``; those before it need the one before.
    var configuredFrom: UInt64 = 0
    /// The framed configuration message.
    var configuration = ByteQueue()
    /// The framed messages from the last key frame on; empty when there is none, or when they outgrew the bound.
    var groupOfPictures = ByteQueue()
    var groupFrames: UInt64 = 0
    package internal(set) var subscribers = 0
    var keyFrameWanted = false
    var lastKeyFrameRequest: MonotonicInstant?
    var position = StreamPosition()

    init(id: UInt32, publisher: ParticipantID, lane: Lane) {
        self.id = id
        self.publisher = publisher
        self.lane = lane
    }

    /// Keeps what a late joiner needs: the configuration, and of video everything from the last key frame on.
    ///
    /// - Parameter next: the frame's place in the log, if it comes there.
    mutating func cache(_ frame: UnsafeRawBufferPointer, traits: FrameTraits, next: UInt64, groupBytesMax: Int, budget: ByteBudget) {
        if traits.contains(.configuration) {
            // Frames of the old configuration are of no use with the new one; said again unchanged, it leaves them good.
            if unsafe !isSameConfiguration(frame) {
                forgetGroup(budget)
                configuredFrom = next
            }
            configuration.removeAll()
            unsafe MessageFraming.append(frame, to: &configuration)
            return
        }
        guard lane == .video else { return }
        if traits.contains(.key) {
            keyFrameWanted = false
            forgetGroup(budget)
        } else if groupFrames == 0 {
            return
        }
        let byteCount = MessageFraming.headerByteCount(payload: frame.count) + frame.count
        guard groupOfPictures.count + byteCount <= groupBytesMax, budget.take(byteCount) else {
            forgetGroup(budget)
            return
        }
        unsafe MessageFraming.append(frame, to: &groupOfPictures)
        groupFrames += 1
    }

    private func isSameConfiguration(_ frame: UnsafeRawBufferPointer) -> Bool {
        let header = MessageFraming.headerByteCount(payload: frame.count) + MediaHeader.byteCount
        let payload = unsafe frame.dropFirst(MediaHeader.byteCount)
        return unsafe configuration.count == header + payload.count && configuration.readable.dropFirst(header).elementsEqual(payload)
    }

    mutating func forgetGroup(_ budget: ByteBudget) {
        budget.give(groupOfPictures.count)
        groupOfPictures.removeAll()
        groupOfPictures.releaseIfEmpty()
        groupFrames = 0
    }
}
