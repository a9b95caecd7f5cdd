import Reactor
import RelayBase
import RelayRooms

/// Who comes to a room and who goes. When hundreds do at once, each of them is news for hundreds, and a system call for every member: a busy loop lets such
/// news wait a little in the members' control queues, so that others, and the room's media, go with it.
extension EventLoop {
    private static let presenceNanosecondsMax: UInt64 = 50_000_000
    private static let timerNanoseconds: UInt64 = 1_000_000

    /// Tells everybody in a room but one. What is said to a member later goes out later, so nothing is overtaken.
    func tellPresence(_ number: RoomNumber, _ message: [UInt8], except: ParticipantID?) {
        guard let room = room(number) else { return }
        let delay = load.delay(of: EventLoop.presenceNanosecondsMax)
        guard delay > EventLoop.timerNanoseconds else {
            tell(number, message, except: except)
            return
        }
        for (participant, handle) in room.members where participant != except {
            if let channel = channels[handle] { queueText(channel, message) }
        }
        guard !room.owesPresence else { return }
        room.owesPresence = true
        presence.rooms.append(room.handle)
        if presence.timer == nil {
            presence.timer = timers.schedule(at: now.advanced(byNanoseconds: delay), TimerEvent(payload: 0, kind: TimerKind.presence))
        }
    }

    /// What waits goes out at the end of this turn.
    func releasePresence() {
        presence.timer = nil
        for handle in presence.rooms {
            guard let room = rooms[handle] else { continue }
            room.owesPresence = false
            for (_, handle) in room.members {
                if let channel = channels[handle], !channel.control.isEmpty { markDirty(channel) }
            }
        }
        presence.rooms.removeAll(keepingCapacity: true)
    }
}

/// Rooms whose members have news waiting, and when it goes.
struct PresenceRound {
    var rooms: [Handle] = []
    var timer: TimerID?
}
