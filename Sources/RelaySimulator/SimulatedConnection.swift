import RelayBase

/// A client's connection: two paths, and what travels on them.
final class SimulatedConnection {
    let id: Int
    let client: Int
    /// The loop that has it: a client's that comes back goes to its session's.
    var loop: Int
    /// From the relay to the client.
    let down: TCPPath
    let up: TCPPath
    /// The relay's end; `nil` once the relay knows that it is gone.
    var session: RelaySession?
    /// Everything that the relay has sealed and the client has not read, oldest first.
    var bytes = ByteQueue()
    /// The client has given it up.
    var isGone = false
    /// The relay has closed it for good: its session does not wait.
    var isRefused = false
    /// The relay has heard of it.
    var isKnownBroken = false

    /// What the client has sent, and where in the byte stream it ends.
    private var messages: [(end: Int, message: ClientMessage)] = []
    private var nextPlace = 0
    private var offered = 0
    private var accepted = 0
    private var arrived = 0

    init(id: Int, client: Int, loop: Int, down: TCPPath, up: TCPPath) {
        self.id = id
        self.client = client
        self.loop = loop
        self.down = down
        self.up = up
    }

    /// Bytes that the client's kernel has not taken yet.
    var backlog: Int { offered - accepted }

    func say(_ message: ClientMessage) {
        offered += message.byteCount
        messages.append((offered, message))
        pushUp()
    }

    /// Hands the kernel what it takes.
    func pushUp() {
        if accepted < offered { accepted += up.send(offered - accepted) }
    }

    /// Bytes have come up to the relay's end, which reads them at once.
    func arriveUp(_ byteCount: Int) {
        arrived += byteCount
        up.read(byteCount)
    }

    /// The next message that is whole at the relay.
    func nextMessage() -> ClientMessage? {
        guard nextPlace < messages.count, messages[nextPlace].end <= arrived else { return nil }
        defer {
            nextPlace += 1
            if nextPlace == messages.count {
                messages.removeAll(keepingCapacity: true)
                nextPlace = 0
            }
        }
        return messages[nextPlace].message
    }
}
