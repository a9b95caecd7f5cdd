import MediaProtocol
import RelayBase
import RelayRooms

/// Going on where a lost connection left off.
extension SimulatedClient {
    /// Whether the session can be gone on with: nothing is under way whose answer would be lost with the connection.
    private var isAtRest: Bool {
        guard case .inside = place, change == nil, !isHoldUnderWay else { return false }
        return publications.allSatisfy { $0.stream != nil }
    }

    /// The connection is lost. Answers whether the client means to come back to its session.
    func lost(_ connection: SimulatedConnection) -> Bool {
        guard plan.resumes, isAtRest, let session = connection.session else { return false }
        self.connection = nil
        resumesAt = MemberAddress(loop: connection.loop, token: session.token)
        inbound.removeAll()
        partial.removeAll()
        orphans.removeAll()
        hasResumed = true
        return true
    }

    func askToResume(_ address: MemberAddress) {
        resumesAt = nil
        isResuming = true
        var marks: [ClientMark] = []
        for stream in received.keys.sorted() {
            guard let known = received[stream], known.isSubscribed, let last = known.last else { continue }
            marks.append(ClientMark(stream: stream, mark: ReceivedMark(sequence: last, timestamp: known.timestamp)))
        }
        say(.resume(address, marks))
    }

    func resumeRefused() {
        isResuming = false
        hasResumed = false
        forgetRoom()
        join()
    }

    /// The session goes on: what has changed meanwhile is in the snapshot.
    func resumed(_ words: [UInt32]) {
        isResuming = false
        var place = 0
        let list = { (width: Int) -> [[UInt32]] in
            let count = Int(words[place])
            defer { place += 1 + count * width }
            return (0..<count).map { Array(words[(place + 1 + $0 * width)..<(place + 1 + ($0 + 1) * width)]) }
        }
        let subscribed = list(1).map { $0[0] }
        let streams = list(2)
        let published = list(3)
        known.removeAll()
        for stream in streams { if let lane = Lane(rawValue: Int(stream[1])) { known[stream[0]] = lane } }
        for stream in received.keys.sorted() where !subscribed.contains(stream) {
            received[stream]?.isSubscribed = false
        }
        for stream in subscribed {
            if received[stream]?.isSubscribed != true {
                received[stream] = ReceivedStream(since: world.now)
                received[stream]?.isSilent = isHeld
            }
            guard var known = received[stream] else { continue }
            known.resumedAfter = known.isSilent ? nil : known.last
            known.gapFrames = 0
            received[stream] = known
        }
        publications.removeAll { publication in !published.contains { $0[0] == publication.stream } }
        for place in publications.indices {
            guard let entry = published.first(where: { $0[0] == publications[place].stream }) else { continue }
            // What the relay never got is left out; what was to follow it begins anew.
            let isWhole = publications[place].layers.count == 1 && entry[1] == 1 && entry[2] == publications[place].layers[0].nextSequence &- 1
            if !isWhole { publications[place].beginAnew(configured: false) }
        }
    }

    /// Nothing but what the relay says it cannot give may be missing behind a resumption.
    func checkResumption(_ content: FrameContent, _ known: inout ReceivedStream, _ name: String) {
        guard let last = known.resumedAfter else { return }
        known.resumedAfter = nil
        guard world.isLossless, world.stream(content.room, content.header.stream.rawValue)?.isLayered == false, plan.down.bitsPerSecond >= 20_000_000,
            plan.temper == .breaking
        else { return }
        world.require(
            world.follows(content.header, last &+ known.gapFrames, content.room),
            "\(name) comes first after the resumption behind frame \(last), and \(known.gapFrames) were named as missing")
    }
}
