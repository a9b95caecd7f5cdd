import MediaProtocol
import RelayBase
import RelayRooms

/// What must hold at every moment, and at the end.
extension Simulator {
    /// Publisher's relay loop to a good client's application: its link, and this much for wake-ups between loops and what lies before it in a batch.
    private static let steadyAllowanceMilliseconds: UInt64 = 40
    private static let heldAllowanceMilliseconds: UInt64 = 300

    /// However long a key frame takes, what follows it counts as having come no more than this much later (decision 2 of real time over TCP).
    private static let graceNanosecondsMax: UInt64 = 2_000_000_000
    private static let graceSlackNanoseconds: UInt64 = 100_000_000

    // MARK: While it runs

    /// `entered − delivered − dropped = pending` for every subscriber, and no log beyond its bound.
    func checkAccounts() {
        for loop in loops {
            for handle in loop.rooms.handles {
                guard let room = loop.rooms[handle] else { continue }
                for subscriber in 0..<room.fanout.subscribers.endIndex where room.fanout.subscribers.isLive(subscriber) {
                    let (account, pending) = room.fanout.account(subscriber)
                    require(
                        account.entered == account.delivered &+ account.dropped &+ pending,
                        "participant \(room.fanout.subscribers[subscriber].participant.value): \(account), and \(pending) pending")
                }
                checkInterests(room)
                for lane in Lane.allCases {
                    let held = room.fanout.bytesHeld(lane)
                    let bound = bytesMax(lane)
                    require(held <= bound, "the \(lane) log holds \(held) bytes, and its bound is \(bound)")
                }
            }
            // Configurations and the rest of begun parts are small, and are kept in any case.
            require(loop.budget.used <= loop.budget.bytesMax + 128 << 10, "the caches hold \(loop.budget.used) bytes of \(loop.budget.bytesMax)")
        }
    }

    /// Each stream counts its subscribers right.
    private func checkInterests(_ room: SimulatedRoom) {
        for slot in room.fanout.openSlots {
            var count = 0
            for subscriber in 0..<room.fanout.subscribers.endIndex
            where room.fanout.subscribers.isLive(subscriber) && room.fanout.subscribed(subscriber).contains(slot) { count += 1 }
            let counted = room.fanout.streams[slot.index].subscribers
            require(counted == count, "stream \(room.fanout.streams[slot.index].id) counts \(counted) subscribers on its loop, and has \(count)")
        }
    }

    private func bytesMax(_ lane: Lane) -> Int {
        switch lane {
        case .audio: scenario.limits.audioLogBytesMax
        case .video: scenario.limits.videoLogBytesMax
        case .data: scenario.limits.dataLogBytesMax
        }
    }

    /// A frame whose deadline has passed is not begun.
    func checkBegun(_ header: MediaHeader, at instant: MonotonicInstant, _ membership: SessionMembership) {
        let stream = header.stream.rawValue
        guard !membership.isHistory(header), let slot = membership.room.routes.firstIndex(where: { $0.entry.stream == stream }),
            let arrival = membership.room.routes[slot].arrival(of: header)
        else { return }
        checkReleased(stream, isVideo: header.kind == .video, arrival: arrival, membership)
        let limits = scenario.limits
        let deadline =
            switch header.kind {
            case .audio: limits.audioDeadlineMilliseconds
            case .video: limits.videoDeadlineMilliseconds
            case .data, .configuration, .bundle, .part: limits.dataDeadlineMilliseconds
            }
        // Behind a key frame that took long, time counts from when that was out, and that bounded.
        var grace = membership.graceFrom[stream] ?? .zero
        if header.kind == .video { grace = max(grace, membership.historyEnd) }
        let start = max(arrival, min(grace, arrival.advanced(byNanoseconds: Simulator.graceNanosecondsMax)))
        let age = instant.nanoseconds(since: start)
        // The relay counts from the pull behind the one that ended it.
        let slack = grace > arrival ? Simulator.graceSlackNanoseconds : 0
        require(
            age <= deadline * 1_000_000 + slack,
            "frame \(header.sequence) of stream \(stream) is begun for participant \(membership.participant.value) \(age / 1_000_000) ms after it came"
        )
    }

    /// A frame is out whole: behind a key frame, or what came from the cache, the others' time begins.
    func noteEnded(_ header: MediaHeader, _ membership: SessionMembership) {
        guard header.kind == .video else { return }
        let stream = header.stream.rawValue
        let isHistory = membership.isHistory(header)
        if isHistory { membership.historyEnd = now }
        if isHistory || header.flags.contains(.key) { membership.graceFrom[stream] = now }
    }

    /// Whoever is on a good link and reads gets every frame at once, whatever others do.
    ///
    /// Time counts from a frame's arrival at the relay: what a publisher's own link takes, where audio lies behind the key frames of three layers and the window opens
    /// round trip by round trip (seed 851), is nothing that the relay could do about.
    ///
    /// - Parameter since: when the client heard that it has the stream: what was sent before may come from a cache.
    func checkSteadyDelay(_ content: FrameContent, _ client: SimulatedClient, since: MonotonicInstant) {
        guard content.sentAt > since, let publisher = clients.first(where: { $0.publishes(content.header.stream.rawValue, in: content.room) }),
            publisher.isSteady, let arrival = stream(content.room, content.header.stream.rawValue)?.arrival(of: content.header)
        else { return }
        let link = client.plan.down.delayNanoseconds
        let delay = now.nanoseconds(since: arrival)
        // Behind a burst of its own streams a window opens round trip by round trip.
        let isHeld = client.connection?.session.map { now.milliseconds(since: $0.heldAt) < 500 } ?? true
        let allowance = isHeld ? Simulator.heldAllowanceMilliseconds : Simulator.steadyAllowanceMilliseconds
        require(
            delay <= link + allowance * 1_000_000,
            "client \(client.index), on a good link, reads frame \(content.header.sequence) of stream \(content.header.stream.rawValue) "
                + "\(delay / 1_000_000) ms after it came to the relay, of which the link takes \(link / 1_000_000)")
    }

    /// A publisher is asked for key frames no more often than the limits say.
    func checkKeyFrameRequest(_ room: RoomNumber, _ stream: UInt32, _ spatial: Int) {
        let key = room.value << 36 | UInt64(stream) << 4 | UInt64(spatial)
        if let last = keyFrameRequests[key] {
            let interval = now.milliseconds(since: last)
            require(
                interval >= scenario.limits.keyFrameRequestMillisecondsMin,
                "stream \(stream) of room \(room.value) is asked for a key frame after \(interval) ms")
        }
        keyFrameRequests[key] = now
    }

    /// Whoever is on a good link gets something of every stream of whoever is on a good link too.
    func checkNobodyStarves() {
        for client in clients where client.isSteady && isLossless {
            for stream in client.received.keys.sorted() {
                guard case .inside(let room, _) = client.place, let known = client.received[stream], known.isSubscribed,
                    now.milliseconds(since: known.since) > 6_000,
                    clients.contains(where: { $0.isSteady && $0.publishes(stream, in: room) })
                else { continue }
                let silence = now.milliseconds(since: known.lastAt)
                require(silence < 3_000, "client \(client.index), on a good link, has got nothing of stream \(stream) for \(silence) ms")
            }
        }
    }

    // MARK: At the end

    /// Nothing new comes in, and everybody has had time to read: nothing is pending, and whoever is on a good link has had everything.
    func checkDrained() {
        for loop in loops {
            for handle in loop.rooms.handles {
                guard let room = loop.rooms[handle] else { continue }
                checkRoutes(room, on: loop)
                for subscriber in 0..<room.fanout.subscribers.endIndex where room.fanout.subscribers.isLive(subscriber) {
                    let (account, pending) = room.fanout.account(subscriber)
                    let name = "participant \(room.fanout.subscribers[subscriber].participant.value)"
                    let session = loop.session(room.fanout.subscribers[subscriber].token)
                    // A client whose connection broke in the middle of a request begins anew; the session that it leaves waits for it in vain.
                    guard session?.isParked != true else { continue }
                    require(pending == 0, "\(name): \(pending) frames are pending though the link is good and everybody reads: \(account)")
                    guard let session, !session.connection.isGone else { continue }
                    let client = clients[session.connection.client]
                    // What was on its way on a lost connection counts as delivered, and did not come.
                    require(
                        account.delivered == client.framesInRoom || client.hasResumed && account.delivered > client.framesInRoom,
                        "\(name): \(account.delivered) frames were delivered by its account, and \(client.framesInRoom) came")
                }
            }
        }
        for client in clients where client.isSteady && isLossless {
            for stream in client.received.keys.sorted() {
                guard case .inside(let room, _) = client.place, let truth = self.stream(room, stream), let known = client.received[stream],
                    !truth.isLayered,
                    clients.contains(where: { $0.isSteady && $0.publishes(stream, in: room) })
                else { continue }
                require(
                    known.last == truth.last,
                    "client \(client.index), on a good link, has frame \(known.last.map(String.init) ?? "none") of stream \(stream) as the last, and it was \(truth.last)"
                )
            }
        }
    }

    /// A loop asks for the streams that somebody there wants, and for no others; and the publisher's loop knows.
    private func checkRoutes(_ room: SimulatedRoom, on loop: RelayLoop) {
        for slot in room.fanout.openSlots {
            let route = room.routes[slot.index]
            guard route.entry.address.loop != loop.index else { continue }
            let isWanted = room.fanout.streams[slot.index].subscribers > 0
            let name = "stream \(route.entry.stream) of room \(room.number.value), wanted on loop \(loop.index): \(isWanted)"
            require(route.isRequested == isWanted, "\(name), is asked for: \(route.isRequested)")
            guard let home = loops[route.entry.address.loop].room(room.number), let place = home.fanout.slot(of: route.entry.stream) else {
                require(false, "\(name), is not known to its publisher's loop")
                return
            }
            let isSent = home.routes[place.index].remote.contains { $0.interest.loop == loop.index }
            require(isSent == isWanted, "\(name), is sent there: \(isSent)")
        }
    }

    /// Everybody has left: nothing of them may be held.
    func checkNothingIsLeft() {
        for loop in loops {
            require(loop.home.rooms.isEmpty, "loop \(loop.index) is still home to \(loop.home.rooms.count) rooms")
            require(loop.rooms.count == 0, "loop \(loop.index) still has \(loop.rooms.count) rooms")
            require(loop.budget.used == 0, "loop \(loop.index) still holds \(loop.budget.used) bytes of caches")
        }
    }
}

extension SimulatedClient {
    func publishes(_ stream: UInt32, in room: UInt32) -> Bool {
        guard case .inside(room, _) = place else { return false }
        return publications.contains { $0.stream == stream }
    }
}
