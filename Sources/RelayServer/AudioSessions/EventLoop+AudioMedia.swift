import AudioSession
import MediaProtocol
import RelayBase
import RelayRooms
import Signalling

/// What an audio session lets through: nothing goes to or comes from one that is not active, and playback that is paused gets nothing.
extension EventLoop {
    /// - Parameter cause: `nil`: the client's own interruption, before the desk has heard of it.
    func stopMedia(_ channel: Channel, _ audio: AudioStanding, _ cause: MediaStop? = nil) {
        // Whoever is deactivated by force is told of each stream that stops; others are told why by the event that follows.
        let stopped = cause == .deactivated && audio.hasStarted && !audio.isStopped ? runningStreams(channel) : []
        audio.isStopped = true
        updateDownlink(channel, audio)
        updateUplink(channel, audio)
        for stream in stopped { send(channel, .streamStopped(.init(stream: stream, reason: MediaStop.deactivated.rawValue))) }
    }

    /// Media goes on at the live edge. Where it flows already it starts afresh: the client's device was asleep.
    func startMedia(_ channel: Channel, _ audio: AudioStanding) {
        guard audio.interruptionsUnderWay == 0 else { return }
        audio.hasStarted = true
        guard audio.isStopped else {
            startAfresh(channel)
            return
        }
        audio.isStopped = false
        updateUplink(channel, audio)
        updateDownlink(channel, audio)
    }

    /// A session has come into a room: what holds it holds it there.
    func enterWithAudio(_ channel: Channel) {
        guard let audio = channel.audio else { return }
        if let membership = channel.membership { enterWithRoute(membership, audio) }
        updateDownlink(channel, audio)
        updateUplink(channel, audio)
        present(channel, audio)
    }

    // MARK: To the session

    func updateDownlink(_ channel: Channel, _ audio: AudioStanding) {
        guard let membership = channel.membership else { return }
        let room = membership.room
        let subscriber = Int(membership.subscriber.index)
        guard audio.holdsDownlink != room.fanout.isHeld(subscriber) else { return }
        if audio.holdsDownlink {
            // Not a byte of media goes behind what is said of it.
            finishBegun(channel, membership)
            room.fanout.hold(subscriber, now: now)
            room.openGaps.removeAll { $0.channel == channel.handle }
        } else {
            room.fanout.release(subscriber, now: now)
            if room.fanout.hasVideo { chooseLayers(channel, membership, bandwidth(of: channel)) }
        }
        followHold(room, room.fanout.subscribed(subscriber))
        followPlaybacks(channel, membership)
    }

    /// Other loops and publishers hear what is wanted of streams that are held or released.
    func followHold(_ room: LocalRoom, _ slots: [StreamSlot]) {
        for slot in slots where room.fanout.isOpen(slot) {
            requestInterest(room, slot)
            tellDemand(room, slot)
            tellFormat(room, slot)
        }
        markDirty(room)
    }

    private func startAfresh(_ channel: Channel) {
        guard let membership = channel.membership else { return }
        let room = membership.room
        let subscriber = Int(membership.subscriber.index)
        let slots = room.fanout.subscribed(subscriber)
        for slot in slots { room.fanout.startAfresh(subscriber, slot, now: now) }
        followHold(room, slots)
        membership.breakOff(.interrupted)
        resetBuffers(membership)
        wantOwnKeyFrames(membership)
    }

    // MARK: From the session

    /// Brings what is taken from the session in line with what it may.
    func updateUplink(_ channel: Channel, _ audio: AudioStanding) {
        guard let membership = channel.membership else { return }
        let before = membership.uplinkStop
        let refusal = audio.uplinkRefusal
        guard refusal != before else { return }
        membership.stopUplink(refusal)
        if before == nil { resetBuffers(membership) }
        if before != nil, refusal == nil { wantOwnKeyFrames(membership) }
    }

    /// The session's own video goes on with key frames.
    private func wantOwnKeyFrames(_ membership: Membership) {
        for stream in membership.published where stream.gap != nil && !stream.hasEnded && membership.room.fanout.isOpen(stream.slot) {
            membership.room.fanout.wantKeyFrame(stream.slot, atOnce: true)
            markDirty(membership.room)
        }
    }

    /// A frame that goes on with the discontinuity flag: in a copy, since what came is the connection's.
    func forwardDiscontinuity(_ membership: Membership, _ place: Int, _ bytes: UnsafeRawBufferPointer, _ traits: FrameTraits) {
        membership.noteContinuity(at: place, traits)
        var frame = unsafe Array(bytes)
        unsafe frame.withUnsafeMutableBytes { unsafe MediaHeader.insert(.discontinuity, intoEncoded: $0) }
        counters.framesIn &+= 1
        counters.bytesIn &+= UInt64(frame.count)
        unsafe frame.withUnsafeBytes { unsafe forward(membership.room, membership.published[place].slot, $0, traits) }
    }

    // MARK: Rights

    /// The same for the category that the session has.
    func applyRights(_ channel: Channel, _ audio: AudioStanding) {
        if let category = audio.snapshot?.category { applyRights(channel, category) }
    }

    /// Ends what the category does not allow, with an event for each stream.
    func applyRights(_ channel: Channel, _ category: Category) {
        guard let membership = channel.membership else { return }
        let room = membership.room
        if !category.maySubscribe {
            let subscriber = Int(membership.subscriber.index)
            let slots = room.fanout.subscribed(subscriber)
            let streams = slots.filter { room.fanout.isOpen($0) }.map { room.fanout.streams[$0.index].id }
            if !slots.isEmpty { finishBegun(channel, membership) }
            membership.standing = StandingWishes()
            forgetPlaybacks(channel, membership)
            leaveMix(membership)
            membership.paced = []
            for slot in slots { room.fanout.unsubscribe(subscriber, slot) }
            releaseInterest(room)
            for slot in slots { tellDemand(room, slot) }
            for stream in streams { send(channel, .streamStopped(.init(stream: stream, reason: MediaStop.category.rawValue))) }
        }
        if !category.mayPublish {
            let streams = membership.withdrawAll()
            for stream in streams { send(channel, .streamStopped(.init(stream: stream, reason: MediaStop.category.rawValue))) }
            if !streams.isEmpty { post(.withdraw(room.number, membership.participant, streams: streams), to: membership.home) }
        }
    }

    /// At the room's home: streams end that their publisher may not publish any more.
    func withdrawAtHome(_ number: RoomNumber, _ participant: ParticipantID, _ streams: [UInt32]) {
        for id in streams {
            guard let (room, stream) = try? home.unpublish(number, participant, stream: id) else { continue }
            announceEnd(of: stream.id, in: room, and: stream.address.loop, isForced: true)
        }
    }
}
