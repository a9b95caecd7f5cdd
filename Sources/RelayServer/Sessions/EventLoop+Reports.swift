import Reactor
import RelayBase
import RelayRooms
import Signalling

/// Receiver reports: kept with the member that they come from, put together on each loop, and told to the publisher.
extension EventLoop {
    private static let reportedStreamsMax = SignallingBounds.reportedStreamsMax
    private static let reportedMillisecondsMax = SignallingBounds.reportedMillisecondsMax
    private static let reportedBitsPerSecondMax = SignallingBounds.reportedBitsPerSecondMax

    /// A receiver report. Streams that have ended, or that the client does not get any more, are passed over: a report may cross with the news of it.
    func report(_ channel: Channel, _ id: UInt64, _ report: ClientRequest.ReceiverReport) throws(Refusal) {
        let membership = try membership(channel)
        guard report.streams.count <= EventLoop.reportedStreamsMax else { throw .badValue("streams") }
        var totals: [(stream: UInt32, totals: ReceiverTotals)] = []
        for stream in report.streams { totals.append((stream.stream, try EventLoop.totals(stream))) }
        take(totals, membership, channel)
        send(channel, .ok(id: id, .init()))
    }

    private static func totals(_ report: ClientRequest.StreamReport) throws(Refusal) -> ReceiverTotals {
        var totals = ReceiverTotals()
        totals.received = try count(report.received, "received")
        totals.played = try count(report.played, "played")
        totals.concealed = try count(report.concealed, "concealed")
        totals.late = try count(report.late, "late")
        totals.bufferMilliseconds = try number(report.bufferMilliseconds, max: reportedMillisecondsMax, "bufferMilliseconds")
        totals.jitterMilliseconds = try number(report.jitterMilliseconds, max: reportedMillisecondsMax, "jitterMilliseconds")
        totals.bitsPerSecond = try number(report.bitrate, max: reportedBitsPerSecondMax, "bitrate")
        return totals
    }

    private static func count(_ value: UInt64?, _ name: String) throws(Refusal) -> UInt64 {
        guard let value else { return 0 }
        guard value <= ReceiverTotals.countMax else { throw .badValue("streams.\(name)") }
        return value
    }

    private static func number(_ value: Double?, max: Double, _ name: String) throws(Refusal) -> Double? {
        guard let value else { return nil }
        guard value.isFinite, value >= 0, value <= max else { throw .badValue("streams.\(name)") }
        return value
    }

    private func take(_ reported: [(stream: UInt32, totals: ReceiverTotals)], _ membership: Membership, _ channel: Channel) {
        let room = membership.room
        var slots: [UInt32: StreamSlot] = [:]
        for slot in room.fanout.subscribed(Int(membership.subscriber.index)) where room.fanout.isOpen(slot) {
            slots[room.fanout.streams[slot.index].id] = room.source(of: slot)
        }
        membership.reports.removeAll { slots[$0] != nil }
        var bitsPerSecond = 0.0
        var covered: Set<UInt32> = []
        var isComplete = true
        for (stream, totals) in reported {
            guard let slot = slots[stream] else { continue }
            let reception = membership.reports.take(stream, totals, now: now)
            counters.liveness.observe(reception)
            if reception.concealedShare > 0 || reception.lateShare > 0 { isComplete = false }
            if let rate = totals.bitsPerSecond, let frames = reception.framesPerSecond, covered.insert(stream).inserted {
                bitsPerSecond += rate + frames * EventLoop.overheadBitsPerFrame
            }
            room.routes[slot.index].hasReports = true
            note(room, slot)
        }
        counters.liveness.receiverReports &+= 1
        // Who misses nothing gets less only because less is sent.
        if !isComplete, !slots.isEmpty, covered.count == slots.count, let connection = channel.connection {
            tell(connection, receivedBitsPerSecond: bitsPerSecond)
        }
        if channel.liveness.lastReport == nil { reporters.append(channel.handle) }
        channel.liveness.lastReport = now
    }

    /// What a frame costs on the wire beyond itself, rather too much than too little: WebSocket, HTTP/2 and TLS (4, 9 and 22 bytes, as a rule).
    private static let overheadBitsPerFrame = 40.0 * 8

    /// What the receiver gets of everything that it is sent. Only of a connection that carries nobody else: of others a report is a part.
    private func tell(_ connection: Connection, receivedBitsPerSecond: Double) {
        guard connection.webSockets.count == 1, receivedBitsPerSecond <= EventLoop.reportedBitsPerSecondMax else { return }
        connection.flow.take(receivedBitsPerSecond: Int(receivedBitsPerSecond), now: now)
    }

    // MARK: To the publisher

    /// Something of a stream is to be passed on when the loop tidies up next.
    private func note(_ room: LocalRoom, _ slot: StreamSlot) {
        guard !room.routes[slot.index].isNoted else { return }
        room.routes[slot.index].isNoted = true
        room.noted.append(slot)
    }

    /// Another loop's receivers of a stream whose publisher is here.
    func received(_ number: RoomNumber, _ stream: UInt32, from loop: Int, _ aggregate: ReceptionAggregate) {
        guard let room = room(number), let slot = room.fanout.slot(of: stream) else { return }
        room.routes[slot.index].reception.take(aggregate, from: loop, now: now)
        note(room, slot)
    }

    /// Passes on what is due: this loop's receivers to the publisher's loop, and all receivers to a publisher here.
    ///
    /// - Parameter steps: how many receivers may be looked at; what was used is taken off. What is left waits for the next time.
    func passOnReports(_ room: LocalRoom, steps: inout Int) {
        guard !room.noted.isEmpty else { return }
        let noted = room.noted
        room.noted.removeAll(keepingCapacity: true)
        for slot in noted {
            guard room.fanout.isOpen(slot), room.routes[slot.index].isNoted else { continue }
            if room.routes[slot.index].hasReports, steps > 0 { postReports(room, slot, &steps) }
            tellPublisher(room, slot)
            if room.routes[slot.index].hasReports || room.routes[slot.index].reception.hasNews {
                room.noted.append(slot)
            } else {
                room.routes[slot.index].isNoted = false
            }
        }
    }

    private func postReports(_ room: LocalRoom, _ slot: StreamSlot, _ steps: inout Int) {
        let route = room.routes[slot.index]
        if let posted = route.reportsPosted, now.milliseconds(since: posted) < StreamReception.tellMillisecondsMin { return }
        var aggregate = ReceptionAggregate()
        for (_, handle) in room.members {
            steps -= 1
            if let reception = channels[handle]?.membership?.reports.reception(of: route.entry.info.stream, now: now) { aggregate.add(reception) }
        }
        room.routes[slot.index].hasReports = false
        room.routes[slot.index].reportsPosted = now
        guard aggregate.receivers > 0 else { return }
        post(.reception(room.number, stream: route.entry.info.stream, from: index, aggregate), to: route.entry.address.loop)
    }

    private func tellPublisher(_ room: LocalRoom, _ slot: StreamSlot) {
        guard let total = room.routes[slot.index].reception.news(now: now) else { return }
        let entry = room.routes[slot.index].entry
        if LoopPlace.isForeign(entry.address.loop) {
            post(.reception(room.number, stream: entry.info.stream, from: index, total), to: entry.address.loop)
            return
        }
        guard entry.address.loop == index, let channel = channels[Handle(packed: entry.address.token)] else { return }
        send(channel, .streamReport(.init(entry.info.stream, total)))
    }

    /// Sessions that have reported of late.
    func countReporters() {
        reporters.removeAll { handle in
            guard let channel = channels[handle], let last = channel.liveness.lastReport else { return true }
            guard now.milliseconds(since: last) >= Reception.millisecondsMax else { return false }
            channel.liveness.lastReport = nil
            return true
        }
        counters.liveness.sessionsReporting = reporters.count
    }
}

extension RelayMessage.StreamQuality {
    init(_ stream: UInt32, _ total: ReceptionAggregate) {
        self.init(
            stream: stream, receivers: total.receivers, concealedShare: total.concealedShare, concealedShareMax: total.concealedShareMax,
            lateShare: total.lateShare, lateShareMax: total.lateShareMax, bufferMilliseconds: total.bufferMilliseconds,
            bufferMillisecondsMax: total.bufferMillisecondsMax, jitterMillisecondsMax: total.jitterMillisecondsMax)
    }
}
