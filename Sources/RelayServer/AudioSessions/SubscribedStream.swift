import AudioSession
import RelayBase
import RelayRooms
import Signalling

/// A stream that a client gets and has said something about: how it plays, in the words of the platform's queues.
///
/// Whoever never says `stream.…` has none: a subscription plays as long as its session does.
struct SubscribedStream {
    let id: UInt32
    /// A mix changes its place.
    var slot: StreamSlot
    /// In live delivery nothing is filled up: what comes is passed on.
    var transport = StreamTransport()
    /// What the client is told, changed only with what it says: state, rate and the media that was given until then.
    private(set) var shown: StreamTransport.State
    private var position: MediaPosition
    /// Milliseconds since 1970 when the position was so.
    private var wall: Double
    var parameters = StreamParameters()
    /// What is queued is still given; then the stream stops.
    var isDraining = false
    /// The decoder starts afresh when what is queued has gone.
    var isFlushing = false

    /// A `stream.prime` that is not answered yet, and how long its answer may wait for what is on its way.
    var prime: (id: UInt64, until: MonotonicInstant)?

    /// What the relay's own buffer of it has ready, as far as it has been asked since the last prime.
    var buffered: (frames: Int, milliseconds: Int) = (0, 0)

    /// How long what comes from another loop, or from the publisher, is waited for; it is looked at ten times a second.
    static let primeWaitMilliseconds: UInt64 = 200
    /// Seconds by which the position may be off before it is told anew, as when what was cached is given at once.
    private static let tolerance = 1.0

    /// Something falls due when the queue is empty.
    var isAwaited: Bool { isDraining || isFlushing }

    /// A subscription plays from the beginning.
    init(id: UInt32, slot: StreamSlot, isFlowing: Bool, now: MonotonicInstant, wall: Double) {
        self.id = id
        self.slot = slot
        self.wall = wall
        shown = isFlowing ? .playing : .waiting
        position = MediaPosition(at: now)
        var actions: [TransportAction] = []
        _ = transport.intend(.start(at: nil))
        transport.advance(QueueLevel(), into: &actions)
        _ = position.setRate(isFlowing ? 1 : 0, at: now)
    }

    /// Takes over what was given of the stream. Answers whether the client is to be told.
    mutating func follow(_ played: (seconds: Double, isFlowing: Bool), now: MonotonicInstant, wall: Double) -> Bool {
        // What is wanted plays when it comes: a stream that is silent, held with its session, or to begin later waits.
        let state = transport.state == .playing && !played.isFlowing ? .waiting : transport.state
        let rate = state == .playing ? 1.0 : 0
        if state == shown, rate == position.rate {
            guard position.observe(played.seconds, tolerance: SubscribedStream.tolerance, at: now) else { return false }
        } else {
            position = MediaPosition(elapsed: played.seconds, at: now)
            _ = position.setRate(rate, at: now)
        }
        shown = state
        self.wall = wall
        return true
    }

    var playback: RelayMessage.StreamPlayback {
        RelayMessage.StreamPlayback(stream: id, state: .init(shown), elapsed: position.elapsed, rate: position.rate, at: wall)
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
