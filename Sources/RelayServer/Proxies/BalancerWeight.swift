import Glibc
import Reactor

/// What balancers are told of how much more the relay would take, in percent of what it takes when idle.
enum BalancerWeight {
    /// - Parameters:
    ///   - busyShare: of its time, that the busiest loop works, 0 to 1.
    ///   - connections: open, of so many that may be.
    /// - Returns: 1 to 100: whoever is full still takes who cannot go elsewhere.
    static func percent(busyShare: Double, connections: Int, of most: Int) -> Int {
        let filled = Double(connections) / Double(max(most, 1))
        let used = min(max(busyShare.isFinite ? busyShare : 1, filled, 0), 1)
        return max(1, Int((100 * (1 - used)).rounded()))
    }

    /// A line of HAProxy's agent-check (HAProxy 2.6 configuration, `agent-check`).
    static func agentLine(isDraining: Bool, isReady: Bool, percent: Int) -> String {
        if isDraining { return "drain\n" }
        return isReady ? "up ready \(percent)%\n" : "down\n"
    }
}

/// Where balancers ask how much the relay would take: whoever connects is told, and the connection ends. On the supervisor's thread: nobody asks often.
final class AgentListener {
    private static let backlog: Int32 = 64
    private static let answersPerTurnMax = 64

    let descriptor: FileDescriptor
    private let calls: SystemCalls

    init(on address: SocketAddress, calls: SystemCalls) throws(SystemFault) {
        self.calls = calls
        descriptor = try Socket.listen(on: address, backlog: AgentListener.backlog, reusePort: false, calls: calls)
    }

    deinit { calls.close(descriptor) }

    /// Answers who waits.
    func answer(_ line: () -> String) {
        for _ in 0..<AgentListener.answersPerTurnMax {
            let accepted = accept(descriptor.number, nil, nil)
            guard accepted >= 0 else { return }
            let connection = FileDescriptor(number: accepted)
            let text = Array(line().utf8)
            // A few bytes into an empty buffer: that never waits.
            _ = unsafe text.withUnsafeBytes { unsafe send(accepted, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)) }
            calls.close(connection)
        }
    }
}
