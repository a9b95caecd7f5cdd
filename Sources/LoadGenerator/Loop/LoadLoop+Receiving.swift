import LoadReport
import MediaProtocol
import Reactor
import RelayBase
import RelayClient
import Signalling
import TLSTransport
import WebSocketProtocol

/// What comes from the relay.
extension LoadLoop {
    func take(_ session: ClientSession, _ event: ClientEvent) {
        let client = clients[session.tag]
        switch client.line {
        case .plain(let own)?:
            guard own === session else { return }
            if case .frame = event { loop.withFrame { takeFrame($0, client) } } else { take(event, session.tag, session) }
        case .resumable(let resumable)?:
            if case .opened = event { handshook(client, session) }
            if let told = resumable.take(session, event) { take(told, session.tag, resumable) }
            while let told = resumable.next() { take(told, session.tag, resumable) }
            planTurn(session.tag, resumable)
        case nil: break
        }
    }

    private func take(_ event: ResumableSession.Event, _ place: Int, _ resumable: ResumableSession) {
        let client = clients[place]
        switch event {
        case .session(.frame): resumable.withFrame { takeFrame($0, client) }
        case .session(.opened): break
        case .session(let event): take(event, place, resumable.session)
        case .lost:
            // Not by what the scenario has happen: that cuts without a word.
            lose(client)
        case .resumed:
            if client.state == .away { client.state = .present }
            client.isLost = false
            client.absence?.endsSoon(after: now)
        }
    }

    /// A try, where it is time for one.
    func turnResumable(_ place: Int) {
        guard case .resumable(let resumable)? = clients[place].line else { return }
        if resumable.isLost { clients[place].openedAt = now }
        if let told = resumable.turn(now: MonotonicInstant(nanoseconds: now)) { take(told, place, resumable) }
        planTurn(place, resumable)
    }

    func planTurn(_ place: Int, _ resumable: ResumableSession) {
        let deadline = resumable.nextDeadline
        if resumable.isLost, deadline != .distantFuture {
            tasks.add(.turn(place, clients[place].generation), due: max(deadline.nanoseconds, now + 1_000_000))
        }
    }

    private func handshook(_ client: LoadClient, _ session: ClientSession) {
        tally.handshook(from: client.openedAt, to: MonotonicClock.now().nanoseconds, isResumed: session.negotiated?.isResumed ?? false)
    }

    // MARK: Control

    private func take(_ event: ClientEvent, _ place: Int, _ session: ClientSession) {
        let client = clients[place]
        switch event {
        case .opened: handshook(client, session)
        case .welcome: welcome(client, session)
        case .answer(let id, let answer): granted(client.purpose(of: id), answer, place, session)
        case .refused(let id, let refusal): refused(id.flatMap { client.purpose(of: $0) }, refusal, client)
        case .news(let message): heed(message, client)
        case .closed(let code, let reason): ended(client, "closed \(code.rawValue)" + (reason.isEmpty ? "" : " \(reason)"))
        case .failed(let fault): ended(client, LoadLoop.reason(fault))
        case .frame, .writable: break
        }
    }

    private func welcome(_ client: LoadClient, _ session: ClientSession) {
        openingEnded(client)
        let group = scenario.groups[client.seat.group]
        client.joinedAt = MonotonicClock.now().nanoseconds
        guard group.joins else {
            client.state = .present
            reached(client)
            return
        }
        client.state = .joining
        func ask(_ request: ClientRequest, _ purpose: LoadClient.Purpose) { client.pending.append((session.send(request), purpose)) }
        ask(.join(.init(room: "\(target.roomPrefix)-\(client.seat.room)", displayName: nil, role: group.role)), .join)
        if group.hasAudioSession {
            ask(.sessionInit, .other)
            // Clients share few identities, and would interrupt each other: mixWithOthers.
            ask(.setCategory(.init(category: "playAndRecord", options: 1)), .other)
            ask(.setActive(.init(active: true)), .other)
        }
        for plan in group.publishes { ask(.publish(LoadLoop.announcement(of: plan)), .publish(plan)) }
        if group.subscribes {
            ask(.subscribe(.init(streams: nil, all: true, delivery: .live, maxLayer: group.maxLayer.map { LayerBound(spatial: $0) })), .subscribe)
        }
    }

    private static func announcement(of plan: StreamPlan) -> ClientRequest.Publish {
        let layers = plan.layers.map { StreamLayer(frameRate: plan.framesPerSecond, bitrate: Double($0.bytes) * 8 * plan.framesPerSecond) }
        let codec =
            switch plan.kind {
            case .audio: "opus"
            case .video: "vp8"
            case .data: "application/octet-stream"
            }
        return ClientRequest.Publish(kind: plan.kind, codec: codec, description: nil, source: nil, layers: layers.count > 1 ? layers : nil)
    }

    private func granted(_ purpose: LoadClient.Purpose?, _ answer: RelayMessage.Answer, _ place: Int, _ session: ClientSession) {
        let client = clients[place]
        let instant = MonotonicClock.now().nanoseconds
        switch purpose {
        case .join?:
            if answer.state == .waiting {
                fail(client, "join: the room has a lobby")
                session.close()
                return
            }
            reached(client)
        case .publish(let plan)?: if let stream = answer.stream { begin(plan, stream, place) }
        case .subscribe?: client.hearsSince = instant
        case .endOfInterruption?:
            client.isInterrupted = false
            client.hearAnew(since: instant)
        case .continuation?: client.hearAnew(since: instant)
        case .other?, nil: break
        }
        if client.pending.isEmpty, client.state == .joining { client.state = .present }
    }

    private func refused(_ purpose: LoadClient.Purpose?, _ refusal: Refusal, _ client: LoadClient) {
        let asked =
            switch purpose {
            case .join?: "join"
            case .publish?: "publish"
            case .subscribe?: "subscribe"
            case .endOfInterruption?, .continuation?, .other?: "audio session"
            case nil: "session"
            }
        fail(client, "\(asked): \(refusal.code)")
        if let session = client.session, !session.hasEnded { session.close() }
    }

    private func heed(_ message: RelayMessage, _ client: LoadClient) {
        switch message {
        case .keyFrameRequested(let stream, let layer):
            for place in client.outgoing.indices where client.outgoing[place].stream.stream.rawValue == stream {
                client.outgoing[place].stream.requestKey(layer)
            }
            tally.events["key frames asked for", default: 0] += 1
        case .layersWanted(let wanted):
            for place in client.outgoing.indices where client.outgoing[place].stream.stream.rawValue == wanted.stream {
                client.outgoing[place].stream.activate(wanted.layers.map(\.spatial))
            }
        case .roomRemoved: fail(client, "removed from the room")
        case .congested: tally.events["connections told that they are congested", default: 0] += 1
        default: break
        }
    }

    // MARK: Ends

    private func reached(_ client: LoadClient) {
        guard !client.hasReached else { return }
        client.hasReached = true
        tally.reached += 1
    }

    /// Not as the scenario has it.
    func fail(_ client: LoadClient, _ reason: String) {
        guard client.state != .ended, client.state != .closing else { return }
        openingEnded(client)
        tally.failedByReason[reason, default: 0] += 1
        client.state = .ended
        client.isLost = client.hasReached
    }

    private func ended(_ client: LoadClient, _ reason: String) {
        let wasMeant = client.state == .closing
        if !wasMeant { fail(client, reason) }
        let isReplaced = client.isReplaced
        client.isReplaced = false
        if wasMeant {
            recordJitter(client)
            client.forgetSession()
        } else {
            // What it publishes and hears is due to the end.
            client.line = nil
            client.pending.removeAll()
        }
        client.state = .ended
        if wasMeant, isReplaced {
            client.state = .waiting
            tasks.add(.open(client.place), due: now)
        }
    }

    /// The connection is gone and the session is not.
    private func lose(_ client: LoadClient) {
        tally.events["connections lost and made anew", default: 0] += 1
        client.state = .away
        client.isLost = true
        client.lostAt = now
    }

    func recordJitter(_ client: LoadClient) {
        for stream in client.incoming { if let microseconds = stream?.jitter.microseconds { tally.jitter.record(microseconds: microseconds) } }
    }

    /// In words that are the same for all clients, without addresses and numbers.
    private static func reason(_ fault: ClientFault) -> String {
        switch fault {
        case .refused(let status, _): "opening: status \(status)"
        case .connect: "opening: cannot connect"
        case .openTimeout: "opening: no answer in time"
        default: fault.isBeforeOpening ? "opening: \(fault)" : "\(fault)"
        }
    }

    // MARK: Media

    private func takeFrame(_ frame: RawSpan, _ client: LoadClient) {
        tally.receivedInAll += 1
        guard isCounting, let header = try? MediaHeader(parsing: frame), let kind = LoopTally.kindIndex(header.kind) else { return }
        let instant = MonotonicClock.now().nanoseconds
        let number = Int(header.stream.rawValue)
        guard !header.flags.contains(.extensionPresent), number < LoadClient.streamsMax,
            let stamp = FrameStamp(frame.extracting(MediaHeader.byteCount..<frame.byteCount))
        else {
            tally.foreign += 1
            return
        }
        if !client.hasHeard, !stamp.isLast { heardFirst(client, instant) }
        second.framesDelivered += 1
        if target.usesRelayClock, client.clockOffset == 0 { return }
        let due = UInt64(bitPattern: Int64(bitPattern: stamp.dueNanoseconds) &- client.clockOffset)
        let transit = Int((instant - min(instant, due)) / 1_000)
        if client.incoming.count <= number { client.incoming.append(contentsOf: repeatElement(nil, count: number + 1 - client.incoming.count)) }
        if client.incoming[number] == nil { client.incoming[number] = ReceivedStream() }
        guard let arrival = client.incoming[number]?.take(stamp, due: due, since: client.hearsSince, transitMicroseconds: transit) else { return }
        guard window.contains(due) || (stamp.isLast && arrival.missing > 0) else { return }
        if arrival.missing > 0 { missed(arrival.missing, min(arrival.missingSince, due)...due, client) }
        guard arrival.isCounted else { return }
        count(transit, due, kind, client)
    }

    private func count(_ transit: Int, _ due: UInt64, _ kind: Int, _ client: LoadClient) {
        tally.due += 1
        tally.delivered += 1
        client.due += 1
        client.delivered += 1
        second.latency.record(microseconds: transit)
        guard client.isExcused(due...due) == nil else {
            tally.lateByAbsence.record(microseconds: transit)
            return
        }
        tally.latency[kind].record(microseconds: transit)
        if client.latency == nil { client.latency = LatencyRecording(precision: .percent) }
        client.latency?.record(microseconds: transit)
    }

    private func missed(_ frames: Int, _ time: ClosedRange<UInt64>, _ client: LoadClient) {
        tally.due += frames
        client.due += frames
        if let reason = client.isExcused(time) {
            tally.missingByAbsence[reason.rawValue, default: 0] += frames
            client.excused += frames
        }
    }

    private func heardFirst(_ client: LoadClient, _ instant: UInt64) {
        client.hasHeard = true
        if let lostAt = client.lostAt {
            tally.comebacks.record(microseconds: Int((instant - min(instant, lostAt)) / 1_000))
            client.lostAt = nil
        } else {
            tally.joinToFirstFrame.record(microseconds: Int((instant - min(instant, client.joinedAt)) / 1_000))
        }
    }
}

extension LoadClient.Absence {
    /// It is over: what is caught up with comes within half a second.
    mutating func endsSoon(after now: UInt64) { time = time.lowerBound..<max(time.lowerBound, now + 500_000_000) }
}
