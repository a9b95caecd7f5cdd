import RelayBase
import RelayRooms

/// What was begun for a session is finished before anything else is said to it.
extension EventLoop {
    /// The rest of a begun message, and of frames that were begun in parts, goes before everything else that the session is sent.
    func finishBegun(_ channel: Channel, _ membership: Membership) {
        guard channel.listening == nil else {
            var rest = ByteQueue()
            membership.room.fanout.finishMessage(Int(membership.subscriber.index), into: &rest)
            return
        }
        // Parts are messages of their own, and no message goes into another.
        let rest = channel.begunControl.rest
        if rest > 0 {
            unsafe channel.unfinished.append(UnsafeRawBufferPointer(rebasing: channel.control.readable[..<rest]))
            channel.control.consume(rest)
            channel.begunControl = BegunMessage()
        }
        membership.room.fanout.finishMessage(Int(membership.subscriber.index), into: &channel.unfinished)
    }
}

extension Channel {
    /// Moves control messages as far as there is room, and notes how much is left of one that is cut there.
    func moveControl(into room: UnsafeMutableRawBufferPointer, _ filled: inout Int) {
        guard !control.isEmpty else { return }
        let start = filled
        unsafe EventLoop.move(&control, room, &filled)
        unsafe begunControl.note(UnsafeRawBufferPointer(rebasing: room[start..<filled]), control.readable)
    }
}

/// How much of a message is still queued whose first bytes have gone. Messages are those of a server (RFC 6455 §5.2): not masked.
struct BegunMessage {
    private(set) var rest = 0

    /// - Parameters:
    ///   - moved: bytes that have left the queue.
    ///   - left: what is queued behind them: whole messages, but for the rest of the one that is cut.
    mutating func note(_ moved: UnsafeRawBufferPointer, _ left: UnsafeRawBufferPointer) {
        var place = min(rest, moved.count)
        rest -= place
        while place < moved.count {
            let begun = unsafe UnsafeRawBufferPointer(rebasing: moved[place...])
            let byteCount = unsafe BegunMessage.byteCount(begun, left)
            rest = max(0, byteCount - begun.count)
            place += min(byteCount, begun.count)
        }
    }

    /// The length of a message whose head begins `first` and, where it is cut, goes on in `rest`.
    private static func byteCount(_ first: UnsafeRawBufferPointer, _ rest: UnsafeRawBufferPointer) -> Int {
        let byte = { (place: Int) in unsafe Int(place < first.count ? first[place] : rest[place - first.count]) }
        let length = { (width: Int) in (2..<(2 + width)).reduce(0) { $0 << 8 | byte($1) } }
        return switch byte(1) & 0x7F {
        case 126: 4 + length(2)
        case 127: 10 + length(8)
        default: 2 + (byte(1) & 0x7F)
        }
    }
}
