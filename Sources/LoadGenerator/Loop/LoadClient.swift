import LoadReport
import MediaProtocol
import RelayBase
import RelayClient
import Signalling

/// One client of a loop: its connection, what it has asked for, what it publishes and hears.
final class LoadClient {
    enum State: Equatable {
        case waiting
        /// From connect to the relay's welcome.
        case opening
        /// What it asks for is on its way.
        case joining
        /// Everything is granted.
        case present
        /// Its connection was cut, and it comes back.
        case away
        case closing
        case ended
    }

    /// What an answer is the answer to.
    enum Purpose {
        case join
        case publish(StreamPlan)
        case subscribe
        case endOfInterruption
        case continuation
        case other
    }

    /// A time in which a client does not get what is due to it, because of what it does itself.
    struct Absence {
        enum Reason: String {
            case away
            case notReading = "not reading"
        }

        var reason: Reason
        /// Nanoseconds; the end is far as long as it goes on.
        var time: Range<UInt64>
    }

    enum Line {
        case plain(ClientSession)
        case resumable(ResumableSession)

        var session: ClientSession {
            switch self {
            case .plain(let session): session
            case .resumable(let session): session.session
            }
        }
    }

    let seat: ClientSeat
    /// Among the loop's clients; sessions are tagged with it.
    let place: Int
    var state = State.waiting
    var line: Line?
    /// Counts connections and sessions: what was planned for one before is not for this one.
    var generation: UInt32 = 0
    var openedAt: UInt64 = 0
    var joinedAt: UInt64 = 0
    var hasHeard = false
    var hasReached = false
    /// What was due before is not its own.
    var hearsSince: UInt64 = .max
    var pending: [(id: UInt64, purpose: Purpose)] = []
    var outgoing: [(stream: PublishedStream, total: PublishedTotal)] = []
    /// By number of the stream.
    var incoming: [ReceivedStream?] = []
    var absence: Absence?
    var isInterrupted = false
    var hasHeadset = false
    /// Its connection was cut then, and nothing has come since.
    var lostAt: UInt64?
    /// Its place is taken by another when it has closed.
    var isReplaced = false
    /// It was lost, or has no connection for now, and the scenario does not have it so: what is due from it and to it is due all the same.
    var isLost = false
    /// Its clock to the relay's, nanoseconds to be added; 0 where one machine's clock serves all.
    var clockOffset: Int64 = 0
    // Over all its sessions, within the measured window.
    var latency: LatencyRecording?
    var due = 0
    var delivered = 0
    var excused = 0

    /// Streams with higher numbers are not looked at: a room that has had so many is no room of a load test.
    static let streamsMax = 1 << 16

    init(_ seat: ClientSeat, place: Int) {
        self.seat = seat
        self.place = place
    }

    var session: ClientSession? { line?.session }

    /// It has a connection, or is about to have one again.
    var isConnected: Bool {
        switch state {
        case .opening, .joining, .present: true
        case .waiting, .away, .closing, .ended: false
        }
    }

    /// A new session knows nothing of the one before.
    func forgetSession() {
        generation &+= 1
        line = nil
        pending.removeAll(keepingCapacity: true)
        outgoing.removeAll(keepingCapacity: true)
        incoming.removeAll(keepingCapacity: true)
        hearsSince = .max
        hasHeard = false
        isInterrupted = false
        absence = nil
        isLost = false
    }

    func purpose(of id: UInt64) -> Purpose? {
        guard let place = pending.firstIndex(where: { $0.id == id }) else { return nil }
        return pending.remove(at: place).purpose
    }

    /// It was not there for a while and nothing was due to it.
    func hearAnew(since: UInt64) {
        hearsSince = since
        for place in incoming.indices { incoming[place]?.restart() }
    }

    /// Whether something that was due in `time` did not come, or came late, because of the client itself.
    func isExcused(_ time: ClosedRange<UInt64>) -> Absence.Reason? {
        // What the kernels still hold when it reads again, or the relay repeats, comes late for the same reason.
        guard let absence, time.upperBound >= absence.time.lowerBound, time.lowerBound < absence.time.upperBound else { return nil }
        return absence.reason
    }
}
