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
    var mix: RoomMix?
    var timescale: TimescaleMap
    /// Why it is not in the mix.
    var unmixed: RelayMessage.UnmixedReason?
    /// Its payload is encrypted between the ends.
    var isEncrypted = false
    /// What the publisher's loop was told last.
    var asked: (isWanted: Bool, audio: WantedFormat?) = (false, nil)
    /// Its publisher measures.
    var isMeasurement = false
    /// The stream has ended: until then its buffers are played out.
    var endsBy: MonotonicInstant?

    init(_ room: RoomNumber, _ entry: StreamEntry, now: MonotonicInstant) {
        self.room = room
        self.entry = entry
        id = entry.info.stream
        duration = FrameDuration(entry.info)
        timescale = TimescaleMap(timescale: entry.info.ticksPerSecond)
        budget = FrameBudget(now: now)
    }

    /// The best that anybody who gets it paced can play; `nil`: nobody takes it.
    var pacedAudio: WantedFormat? {
        var best: WantedFormat?
        for buffer in buffers { if let audio = buffer.audio { best = audio.union(best) } }
        return best
    }

    func leaveMix() {
        isMixed = false
        mix = nil
        unmixed = nil
    }

    var isPaced: Bool { buffers.contains { $0.isActive } }
}

/// One buffer of a stream, and the slots that it feeds.
final class PacedBuffer {
    struct Route {
        var interest: RemoteInterest
        var isActive: Bool
        var audio: WantedFormat?
    }

    private static let opusBytesMax = 96 << 10

    let variant: PacedVariant
    var routes: [Route] = []
    /// Frames pass as they came, late ones left out; of a buffer that conceals it is empty.
    var playout: PacedPlayout
    private(set) var concealer: Concealer?
    /// Why it does not conceal though it was to.
    private(set) var reason: RelayMessage.UnmixedReason?

    /// Of what is made: with the first frame, since it is much to make.
    private let info: RelayMessage.StreamInfo
    private var isMeasurement: Bool

    init(_ variant: PacedVariant, _ stream: WorkerStream) {
        self.variant = variant
        info = stream.entry.info
        isMeasurement = variant.isMeasurement || stream.isMeasurement
        playout = PacedPlayout(PacedBuffer.configuration(stream.entry.info, variant))
        guard variant.conceals else { return }
        if stream.isEncrypted {
            reason = .encrypted
        } else if !Concealer.conceals(stream.entry.info) {
            reason = .codec
        }
    }

    static func configuration(_ info: RelayMessage.StreamInfo, _ variant: PacedVariant) -> JitterConfiguration {
        var configuration = JitterConfiguration()
        configuration.timescale = info.ticksPerSecond
        configuration.profile = variant.profile
        configuration.pinnedDelayMilliseconds = variant.pinnedMilliseconds
        // Five seconds of what is common; samples take more, and have it.
        if info.codec == "opus" { configuration.bytesMax = opusBytesMax }
        return configuration
    }

    var isActive: Bool { routes.contains { $0.isActive } }

    var audio: WantedFormat? {
        var best: WantedFormat?
        for route in routes where route.isActive { if let audio = route.audio { best = audio.union(best) } }
        return best
    }

    var isConcealing: Bool { variant.conceals && reason == nil }

    var nextDeadline: MonotonicInstant? { isConcealing ? concealer?.nextTick : playout.nextRelease }

    /// Everything that came is played.
    var isEmpty: Bool { concealer?.isEmpty ?? (playout.nextRelease == nil) }

    var statistics: JitterStatistics { concealer?.statistics ?? playout.statistics }

    /// What would be played if nothing more came.
    var waiting: (frames: Int, milliseconds: Int) {
        let milliseconds = Int(statistics.levelMilliseconds)
        guard isConcealing else { return (playout.waitingCount, milliseconds) }
        return (milliseconds / Int(RoomMix.tickMilliseconds), milliseconds)
    }

    func conceal(_ header: MediaHeader, _ frame: RawSpan, _ extensions: MediaExtensions, now: MonotonicInstant) {
        if concealer == nil {
            concealer = try? Concealer(info, variant, isMeasurement: isMeasurement)
            if concealer == nil { reason = .codec }
        }
        concealer?.insert(header, frame, extensions, now: now)
    }

    func tick(into frame: UnsafeMutableRawBufferPointer, now: MonotonicInstant) -> Int {
        unsafe concealer?.tick(into: frame, now: now) ?? 0
    }

    func measure(_ isMeasurement: Bool) {
        self.isMeasurement = isMeasurement
        concealer?.measure(isMeasurement)
    }

    func shed(_ ticks: UInt64) { concealer?.shed(ticks) }

    /// From here on late frames are left out.
    func giveUpConcealing(_ reason: RelayMessage.UnmixedReason) {
        concealer = nil
        self.reason = reason
    }

    func reset() {
        playout.reset()
        concealer?.reset()
    }
}
