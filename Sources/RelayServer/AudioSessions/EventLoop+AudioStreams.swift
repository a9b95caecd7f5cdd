import AudioSession
import Reactor
import RelayBase
import RelayRooms
import Signalling

/// How single streams play (audio-session semantics, section 6), in live delivery: what is wanted of a stream is done to its subscription at once.
extension EventLoop {
    func playback(_ channel: Channel, _ id: UInt64, _ request: ClientRequest) throws(Refusal) {
        guard channel.audio != nil, channel.audio?.snapshot?.state != .uninitialised else { throw .sessionLost }
        if case .setParameters(let parameters) = request {
            try setParameters(channel, id, parameters)
            return
        }
        guard let (stream, intention) = request.playback else { throw .unknownType(request.type) }
        let membership = try membership(channel)
        let place = try place(of: stream, membership)
        if channel.audio?.maySubscribe == false { throw .categoryForbids }
        if case .start = intention { try requireSubscribing(channel) }
        guard membership.playbacks[place].transport.intend(intention) else { throw .pending }
        if case .flush = intention { membership.playbacks[place].isFlushing = true }
        var answer = RelayMessage.Answer()
        let news = advance(membership, place, &answer)
        answer.playback = membership.playbacks[place].playback(at: now, wall: Double(WallClock.now()))
        send(channel, .ok(id: id, answer))
        if let news { send(channel, news) }
    }

    private func setParameters(_ channel: Channel, _ id: UInt64, _ request: ClientRequest.SetParameters) throws(Refusal) {
        let membership = try membership(channel)
        let place = try place(of: request.stream, membership)
        let change: ParameterChange
        do throws(ParameterFault) {
            change = try ParameterChange(
                volume: request.volume, rampMilliseconds: request.rampMilliseconds, rate: request.rate, pan: request.pan)
        } catch {
            throw Refusal(code: Refusal.badValue("").code, message: error.text, retry: false)
        }
        membership.playbacks[place].parameters.apply(change, sampleRate: ReceiveFormat.full.sampleRate)
        let parameters = membership.playbacks[place].parameters
        var answer = RelayMessage.Answer()
        answer.playback = membership.playbacks[place].playback(at: now, wall: Double(WallClock.now()))
        var echo = ClientRequest.SetParameters(stream: request.stream)
        echo.volume = parameters.volume
        echo.rate = parameters.rate
        echo.pan = parameters.pan
        answer.parameters = echo
        send(channel, .ok(id: id, answer))
    }

    /// Where a stream that the session gets stands in its list; it plays until something else is said.
    private func place(of stream: UInt32, _ membership: Membership) throws(Refusal) -> Int {
        let room = membership.room
        guard let slot = room.fanout.slot(of: stream), room.fanout.isSubscribed(Int(membership.subscriber.index), slot) else {
            throw Refusal(RoomFault.unknownStream)
        }
        membership.forgetEndedPlaybacks()
        if let place = membership.playbacks.firstIndex(where: { $0.slot == slot }) { return place }
        membership.playbacks.append(SubscribedStream(id: stream, slot: slot, now: now))
        return membership.playbacks.count - 1
    }

    // MARK: What is done

    /// Does what was intended of a stream, and what has fallen due of it. Answers what the client is to be told beside.
    private func advance(_ membership: Membership, _ place: Int, _ answer: inout RelayMessage.Answer) -> RelayMessage? {
        let room = membership.room
        let subscriber = Int(membership.subscriber.index)
        let slot = membership.playbacks[place].slot
        let before = membership.playbacks[place].transport.state
        let queued = room.fanout.queued(subscriber, slot)
        var actions: [TransportAction] = []
        membership.playbacks[place].transport.advance(QueueLevel(head: queued.head, tail: queued.tail), into: &actions)
        perform(actions, membership, place, &answer)
        let state = membership.playbacks[place].transport.state
        guard state != before else { return nil }
        followPlayback(membership, place)
        return .streamState(membership.playbacks[place].playback(at: now, wall: Double(WallClock.now())))
    }

    private func perform(_ actions: [TransportAction], _ membership: Membership, _ place: Int, _ answer: inout RelayMessage.Answer) {
        let room = membership.room
        let subscriber = Int(membership.subscriber.index)
        let slot = membership.playbacks[place].slot
        var time: UInt32?
        var isDropped = false
        var isClosed = false
        for action in actions {
            switch action {
            case .open(let at):
                time = at
                membership.playbacks[place].isDraining = false
            case .close: isClosed = true
            case .drop:
                isDropped = true
                membership.playbacks[place].isFlushing = false
            case .resetDecoder:
                membership.playbacks[place].isFlushing = false
                if !isDropped { room.fanout.refresh(subscriber, slot) }
            case .primed: answer.primed = primed(membership, slot)
            case .run, .hold, .state: break
            }
        }
        let state = membership.playbacks[place].transport.state
        if isClosed { membership.playbacks[place].isDraining = state == .playing }
        if state == .stopped { membership.playbacks[place].isDraining = false }
        switch state {
        case .playing:
            if membership.playbacks[place].isDraining {
                if isClosed { room.fanout.hold(subscriber, slot, drains: true, now: now) }
            } else if room.fanout.isHeld(subscriber, slot) {
                room.fanout.release(subscriber, slot, at: time, now: now)
            } else if isDropped || time != nil {
                room.fanout.startAfresh(subscriber, slot, at: time, now: now)
            }
        case .stopped, .waiting, .paused: room.fanout.hold(subscriber, slot, now: now)
        }
        followHold(room, [slot])
    }

    /// What could be played at once: what is queued, or of a held stream what it would begin with.
    private func primed(_ membership: Membership, _ slot: StreamSlot) -> RelayMessage.Primed {
        let subscriber = Int(membership.subscriber.index)
        guard membership.room.fanout.isHeld(subscriber, slot) else {
            return RelayMessage.Primed(frames: membership.room.fanout.queued(subscriber, slot).frames, milliseconds: 0)
        }
        let ready = membership.room.fanout.ready(subscriber, slot, now: now)
        return RelayMessage.Primed(frames: ready.frames, milliseconds: Double(ready.milliseconds))
    }

    /// The position goes on while the stream plays and its session lets it.
    private func followPlayback(_ membership: Membership, _ place: Int) {
        let isPlaying = membership.playbacks[place].transport.state == .playing && !membership.room.fanout.isHeld(Int(membership.subscriber.index))
        _ = membership.playbacks[place].position.setRate(isPlaying ? 1 : 0, at: now)
    }

    // MARK: What falls due

    /// Streams that drain or are flushed, looked at with the layers.
    func lookAtPlaybacks(_ channel: Channel, _ membership: Membership) {
        membership.forgetEndedPlaybacks()
        for place in membership.playbacks.indices where membership.playbacks[place].isAwaited {
            var answer = RelayMessage.Answer()
            if let news = advance(membership, place, &answer) { send(channel, news) }
        }
    }

    /// The session was held or released: positions of its streams stand still, or go on.
    func followPlaybacks(_ channel: Channel, _ membership: Membership) {
        membership.forgetEndedPlaybacks()
        for place in membership.playbacks.indices {
            let before = membership.playbacks[place].position
            followPlayback(membership, place)
            guard membership.playbacks[place].position != before else { continue }
            send(channel, .streamState(membership.playbacks[place].playback(at: now, wall: Double(WallClock.now()))))
        }
    }
}

extension Membership {
    fileprivate func forgetEndedPlaybacks() {
        playbacks.removeAll { !room.fanout.isOpen($0.slot) || room.fanout.streams[$0.slot.index].id != $0.id }
    }
}
