import JitterBuffer
import MediaProtocol
import RelayBase
import RelayRooms
import Signalling

/// A published stream as a worker has it: its buffers, and whether it is heard in its room's mix.
final class WorkerStream {
    let room: RoomNumber
    let id: UInt32
    let entry: StreamEntry
    /// The worker's own name for it: what records of the publisher's loop say.
    var handle = Handle(index: 0, generation: 0)
    let duration: FrameDuration
    var buffers: [PacedBuffer] = []
    /// The stream's configuration frame; empty until it has come.
    var configuration: [UInt8] = []
    var budget: FrameBudget
    /// It is an input of its room's mix, or would be if it could.
    var isMixed = false
    /// Why it is not in the mix.
    var unmixed: RelayMessage.UnmixedReason?
    /// Its payload is encrypted between the ends.
    var isEncrypted = false
    /// What the publisher's loop was told last.
    var asked: (isWanted: Bool, audio: AudioBounds?) = (false, nil)
    /// The stream has ended: until then its buffers are played out.
    var endsBy: MonotonicInstant?

    init(_ room: RoomNumber, _ entry: StreamEntry, now: MonotonicInstant) {
        self.room = room
        self.entry = entry
        id = entry.info.stream
        duration = FrameDuration(entry.info)
        budget = FrameBudget(now: now)
    }

    /// The best that anybody who gets it paced can play; `nil`: nobody takes it.
    var pacedAudio: AudioBounds? {
        var best: AudioBounds?
        for buffer in buffers { if let audio = buffer.audio { best = audio.union(best) } }
        return best
    }

    var isPaced: Bool { buffers.contains { $0.isActive } }
}

/// One buffer of a stream, and the slots that it feeds.
final class PacedBuffer {
    struct Route {
        var interest: RemoteInterest
        var isActive: Bool
        var audio: AudioBounds?
    }

    let variant: PacedVariant
    var routes: [Route] = []
    /// Frames pass as they came; `nil`: they are made anew.
    var playout: PacedPlayout

    init(_ variant: PacedVariant, _ info: RelayMessage.StreamInfo) {
        self.variant = variant
        var configuration = JitterConfiguration()
        configuration.timescale = info.ticksPerSecond
        configuration.profile = variant.profile
        configuration.pinnedDelayMilliseconds = variant.pinnedMilliseconds
        playout = PacedPlayout(configuration)
    }

    var isActive: Bool { routes.contains { $0.isActive } }

    var audio: AudioBounds? {
        var best: AudioBounds?
        for route in routes where route.isActive { if let audio = route.audio { best = audio.union(best) } }
        return best
    }

    var nextDeadline: MonotonicInstant? { playout.nextRelease }

    var isEmpty: Bool { playout.nextRelease == nil }

    var statistics: JitterStatistics { playout.statistics }

    func reset() { playout.reset() }
}
