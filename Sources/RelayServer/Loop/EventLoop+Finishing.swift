import RelayBase
import RelayRooms

/// What was begun for a session is finished before anything else is said to it.
extension EventLoop {
    /// The rest of a begun message, and of frames that were begun in parts, goes before everything else that the session is sent.
    func finishBegun(_ channel: Channel, _ membership: Membership) {
        // Parts are messages of their own, and no message goes into another.
        if channel.controlRest > 0 {
            unsafe channel.unfinished.append(UnsafeRawBufferPointer(rebasing: channel.control.readable[..<channel.controlRest]))
            channel.control.consume(channel.controlRest)
            channel.controlRest = 0
        }
        membership.room.fanout.finishMessage(Int(membership.subscriber.index), into: &channel.unfinished)
    }
}

extension Channel {
    /// Moves control messages as far as there is room, and notes how much is left of one that is cut there.
    func moveControl(into room: UnsafeMutableRawBufferPointer, _ filled: inout Int) {
        guard !control.isEmpty else { return }
        var place = filled
        unsafe EventLoop.move(&control, room, &filled)
        guard !control.isEmpty else {
            controlRest = 0
            return
        }
        let begun = min(controlRest, filled - place)
        controlRest -= begun
        place += begun
        while place < filled {
            let moved = unsafe UnsafeRawBufferPointer(rebasing: room[place..<filled])
            let message = unsafe Channel.messageByteCount(moved, control.readable)
            controlRest = max(0, message - moved.count)
            place += min(message, moved.count)
        }
    }

    /// The length of an unmasked message (RFC 6455 §5.2) whose head begins `first` and, where it is cut, goes on in `rest`.
    private static func messageByteCount(_ first: UnsafeRawBufferPointer, _ rest: UnsafeRawBufferPointer) -> Int {
        let byte = { (place: Int) in unsafe Int(place < first.count ? first[place] : rest[place - first.count]) }
        let length = { (width: Int) in (2..<(2 + width)).reduce(0) { $0 << 8 | byte($1) } }
        return switch byte(1) & 0x7F {
        case 126: 4 + length(2)
        case 127: 10 + length(8)
        default: 2 + (byte(1) & 0x7F)
        }
    }
}
