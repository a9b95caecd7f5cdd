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
        let place = try place(of: stream, channel, membership)
        if channel.audio?.maySubscribe == false { throw .categoryForbids }
        if case .start = intention { try requireSubscribing(channel) }
        guard membership.playbacks[place].transport.intend(intention) else { throw .pending }
        if case .flush = intention { membership.playbacks[place].isFlushing = true }
        // Whatever comes behind a prime that waits for its answer: that is what there is.
        answerPrime(channel, membership, place)
        let isPrime = if case .prime = intention { true } else { false }
        let news = advance(membership, place, isPrime: isPrime)
        if isPrime {
            prime(channel, id, membership, place)
        } else {
            var answer = RelayMessage.Answer()
            answer.playback = membership.playbacks[place].playback
            send(channel, .ok(id: id, answer))
        }
        if let news { send(channel, news) }
    }

    private func setParameters(_ channel: Channel, _ id: UInt64, _ request: ClientRequest.SetParameters) throws(Refusal) {
        let membership = try membership(channel)
        let isMixed = membership.mix != nil && membership.room.fanout.slot(of: request.stream, for: Int(membership.subscriber.index)) == nil
        let place = try place(of: isMixed ? MixMembership.stream : request.stream, channel, membership)
        let change: ParameterChange
        do throws(ParameterFault) {
            change = try ParameterChange(
                volume: request.volume, rampMilliseconds: request.rampMilliseconds, rate: request.rate, pan: request.pan)
        } catch {
            throw Refusal(code: Refusal.badValue("").code, message: error.text, retry: false)
        }
        let parameters: StreamParameters
        if isMixed || request.stream == MixMembership.stream {
            guard let mixed = setMixParameters(channel, membership, request.stream, change, at: request.at) else {
                throw Refusal(RoomFault.unknownStream)
            }
            parameters = mixed
        } else {
            membership.playbacks[place].parameters.apply(change, sampleRate: ReceiveFormat.full.sampleRate)
            parameters = membership.playbacks[place].parameters
        }
        var answer = RelayMessage.Answer()
        answer.playback = membership.playbacks[place].playback
        answer.playback?.stream = request.stream
        var echo = ClientRequest.SetParameters(stream: request.stream)
        echo.volume = parameters.volume
        echo.rate = parameters.rate
        echo.pan = parameters.pan
        echo.at = request.at
        answer.parameters = echo
        send(channel, .ok(id: id, answer))
    }

    /// Where a stream that the session gets stands in its list; it plays until something else is said.
    private func place(of stream: UInt32, _ channel: Channel, _ membership: Membership) throws(Refusal) -> Int {
        let room = membership.room
        let subscriber = Int(membership.subscriber.index)
        guard let slot = room.fanout.slot(of: stream, for: subscriber), room.fanout.isOpen(slot) else { throw Refusal(RoomFault.unknownStream) }
        forgetEndedPlaybacks(channel, membership)
        if let place = membership.playbacks.firstIndex(where: { $0.slot == slot }) { return place }
        let ticksPerSecond = UInt32(clamping: room.routes[slot.index].entry.info.ticksPerSecond)
        room.fanout.countPlayed(subscriber, slot, ticksPerSecond: ticksPerSecond, now: now)
        let isFlowing = room.fanout.played(subscriber, slot, now: now).isFlowing
        membership.playbacks.append(
            SubscribedStream(id: stream, slot: slot, isFlowing: isFlowing, now: now, wall: Double(WallClock.now())))
        return membership.playbacks.count - 1
    }

    // MARK: What is done

    /// Does what was intended of a stream, and what has fallen due of it. Answers what the client is to be told beside.
    private func advance(_ membership: Membership, _ place: Int, isPrime: Bool = false) -> RelayMessage? {
        let room = membership.room
        let subscriber = Int(membership.subscriber.index)
        let slot = membership.playbacks[place].slot
        let queued = room.fanout.queued(subscriber, slot)
        var actions: [TransportAction] = []
        membership.playbacks[place].transport.advance(QueueLevel(head: queued.head, tail: queued.tail), into: &actions)
        perform(actions, membership, place, isPrime: isPrime)
        return followPlayback(membership, place)
    }

    private func perform(_ actions: [TransportAction], _ membership: Membership, _ place: Int, isPrime: Bool) {
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
            case .primed, .run, .hold, .state: break
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
        case .stopped, .waiting, .paused:
            // What is kept ready stays so when it is asked for once more.
            if !isPrime || !room.fanout.isPrimed(subscriber, slot) { room.fanout.hold(subscriber, slot, now: now) }
        }
        followHold(room, [slot])
    }

    /// The position goes on while media does. Answers what the client is to be told.
    private func followPlayback(_ membership: Membership, _ place: Int) -> RelayMessage? {
        let played = membership.room.fanout.played(Int(membership.subscriber.index), membership.playbacks[place].slot, now: now)
        guard membership.playbacks[place].follow(played, now: now, wall: Double(WallClock.now())) else { return nil }
        return .streamState(membership.playbacks[place].playback)
    }

    // MARK: What falls due

    /// Streams whose media comes or stops coming, that drain, are flushed or primed, looked at with the layers.
    func lookAtPlaybacks(_ channel: Channel, _ membership: Membership) {
        forgetEndedPlaybacks(channel, membership)
        for place in membership.playbacks.indices {
            if isPrimeDue(membership, place) { answerPrime(channel, membership, place) }
            let isAwaited = membership.playbacks[place].isAwaited
            if let news = isAwaited ? advance(membership, place) : followPlayback(membership, place) { send(channel, news) }
        }
    }

    /// The session was held or released: positions of its streams stand still, or go on.
    func followPlaybacks(_ channel: Channel, _ membership: Membership) {
        forgetEndedPlaybacks(channel, membership)
        for place in membership.playbacks.indices {
            if let news = followPlayback(membership, place) { send(channel, news) }
        }
    }

    private func forgetEndedPlaybacks(_ channel: Channel, _ membership: Membership) {
        let room = membership.room
        forgetPlaybacks(channel, membership) { !room.fanout.isOpen($0.slot) || room.fanout.streams[$0.slot.index].id != $0.id }
    }

    /// Forgets streams that the client gets no more; whatever of them is not answered is answered.
    func forgetPlaybacks(_ channel: Channel, _ membership: Membership, where isGone: (SubscribedStream) -> Bool = { _ in true }) {
        for place in membership.playbacks.indices where isGone(membership.playbacks[place]) { answerPrime(channel, membership, place) }
        membership.playbacks.removeAll(where: isGone)
    }
}
