import AudioSession
import RelayBase
import RelayRooms
import Signalling

/// A stream that a client gets and has said something about: how it plays, in the words of the platform's queues.
///
/// Whoever never says `stream.…` has none: a subscription plays as long as its session does.
struct SubscribedStream {
    let id: UInt32
    let slot: StreamSlot
    /// In live delivery nothing is filled up: what comes is passed on.
    var transport = StreamTransport()
    var position: MediaPosition
    var parameters = StreamParameters()
    /// What is queued is still given; then the stream stops.
    var isDraining = false
    /// The decoder starts afresh when what is queued has gone.
    var isFlushing = false

    /// Something falls due when the queue is empty.
    var isAwaited: Bool { isDraining || isFlushing }

    /// A subscription plays from the beginning.
    init(id: UInt32, slot: StreamSlot, now: MonotonicInstant) {
        self.id = id
        self.slot = slot
        position = MediaPosition(at: now)
        var actions: [TransportAction] = []
        _ = transport.intend(.start(at: nil))
        transport.advance(QueueLevel(), into: &actions)
        _ = position.setRate(1, at: now)
    }

    func playback(at now: MonotonicInstant, wall: Double) -> RelayMessage.StreamPlayback {
        let since = Double(now.nanoseconds(since: position.at)) / 1_000_000
        return RelayMessage.StreamPlayback(
            stream: id, state: .init(transport.state), elapsed: position.elapsed, rate: position.rate, at: wall - since)
    }
}

extension RelayMessage.StreamPlayback.State {
    init(_ state: StreamTransport.State) {
        switch state {
        case .stopped: self = .stopped
        case .waiting: self = .waiting
        case .playing: self = .playing
        case .paused: self = .paused
        }
    }
}

extension ClientRequest {
    /// The stream that a request to a stream's playback is about, and what it wants of it; `nil`: no such request.
    var playback: (stream: UInt32, intention: StreamIntention)? {
        switch self {
        case .streamStart(let start): (start.stream, .start(at: start.at))
        case .streamPrime(let reference): (reference.stream, .prime)
        case .streamPause(let reference): (reference.stream, .pause)
        case .streamStop(let stop): (stop.stream, stop.mode == .drain ? .stopDraining : .stopImmediately)
        case .streamFlush(let reference): (reference.stream, .flush)
        case .streamReset(let reference): (reference.stream, .reset)
        default: nil
        }
    }
}
