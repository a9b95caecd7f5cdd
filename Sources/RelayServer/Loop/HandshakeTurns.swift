import RelayBase

/// Connections whose peers have sent part of a handshake, in the order in which it came. Each has its step at the end of a turn, behind everything that is media's.
///
/// A step is 0.1 to 0.5 ms of signatures that cannot be cut; no further one is begun once a turn has spent ``nanosecondsPerTurn`` on them. So what a frame
/// waits for is one step, however many clients come at once, and the turns between the steps cost little: a loop with nothing else to do shakes hands all
/// the time. At least one step is made in each turn: nobody is put off for ever. Pure: time is passed in.
struct HandshakeTurns {
    static let nanosecondsPerTurn: UInt64 = 250_000

    private var waiting: [Handle] = []
    /// Those before it have had their turn.
    private var head = 0

    var isEmpty: Bool { head == waiting.count }
    var count: Int { waiting.count - head }

    mutating func append(_ connection: Handle) {
        waiting.append(connection)
    }

    /// The next connection, or `nil` when there is none or the turn has spent its time.
    ///
    /// - Parameter spent: nanoseconds of this turn that have gone into steps; 0 before the first.
    mutating func next(spent: UInt64) -> Handle? {
        guard !isEmpty, spent < HandshakeTurns.nanosecondsPerTurn else { return nil }
        let handle = waiting[head]
        head += 1
        if isEmpty {
            waiting.removeAll(keepingCapacity: waiting.capacity <= 1_024)
            head = 0
        } else if head >= 1_024, head >= waiting.count / 2 {
            waiting.removeFirst(head)
            head = 0
        }
        return handle
    }
}
