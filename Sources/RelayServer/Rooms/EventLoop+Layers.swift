import Reactor
import RelayBase
import RelayRooms
import Signalling

/// Looks a few times a second at what subscribers' connections carry, chooses layers by it, and tells publishers what is wanted of their streams.
struct LayerLook {
    var isArmed = false
    /// Ladders go to other loops every few looks.
    var count = 0
}

extension EventLoop {
    private static let layerLookMilliseconds: UInt64 = 100
    private static let looksPerLadder = 5

    /// There is something to look at.
    func armLayerLook() {
        guard !layerLook.isArmed else { return }
        layerLook.isArmed = true
        _ = timers.schedule(at: now.advanced(byMilliseconds: EventLoop.layerLookMilliseconds), TimerEvent(payload: 0, kind: TimerKind.layers))
    }

    func lookAtLayers() {
        layerLook.isArmed = false
        layerLook.count = (layerLook.count + 1) % EventLoop.looksPerLadder
        for handle in rooms.handles {
            guard let room = rooms[handle], room.fanout.streams.count > 0 else { continue }
            armLayerLook()
            lookAtSpeech(room)
            if room.fanout.hasVideo { surveyLayers(room) }
            let hasLayers = room.fanout.hasLayers
            for (_, member) in room.members {
                guard let channel = channels[member], !channel.isParked, let membership = channel.membership else { continue }
                let view = bandwidth(of: channel)
                tellCongestion(channel, membership, view)
                if !membership.playbacks.isEmpty { lookAtPlaybacks(channel, membership) }
                let isTight = view.isLimited || view.isCongested
                guard room.fanout.hasVideo, hasLayers || isTight || membership.chooser.isHolding else { continue }
                chooseLayers(channel, membership, view)
            }
            lookAtFormats(room)
            if room.deliveries != nil { lookAtDeliveries(room) }
            guard room.fanout.hasVideo else { continue }
            for slot in room.fanout.openSlots {
                // Changes of layers are done at key frames: what is wanted is less then.
                if room.routes[slot.index].isRequested { requestInterest(room, slot) }
                tellDemand(room, slot)
            }
        }
    }

    /// What a session's connection carries: over HTTP/2, its share of it.
    func bandwidth(of channel: Channel) -> BandwidthView {
        guard let connection = channel.connection else { return BandwidthView() }
        let flow = connection.flow
        let sharers = connection.webSockets.count { $0.membership != nil }
        return BandwidthView(
            bitsPerSecond: flow.bitsPerSecond.map { $0 / max(sharers, 1) }, isLimited: flow.isLimited, isCongested: flow.isCongested)
    }

    // MARK: Publishers' streams

    /// What anybody anywhere gets of a stream of this loop's publisher.
    private func wantedLayers(_ room: LocalRoom, _ slot: StreamSlot) -> LayerSet {
        room.routes[slot.index].remote.wanted(with: room.fanout.wantedLayers(slot))
    }

    private func surveyLayers(_ room: LocalRoom) {
        for slot in room.fanout.openSlots where room.fanout.streams[slot.index].lane == .video {
            guard room.routes[slot.index].entry.address.loop == index else { continue }
            room.fanout.surveyLayers(slot, wanted: wantedLayers(room, slot), now: now)
            guard layerLook.count == 0 else { continue }
            for remote in room.routes[slot.index].remote { sendLadder(room, slot, to: remote.interest.loop) }
        }
    }

    /// Tells the publisher of a video stream what is wanted of it, when that has changed.
    func tellDemand(_ room: LocalRoom, _ slot: StreamSlot) {
        guard room.fanout.isOpen(slot), room.fanout.streams[slot.index].lane == .video else { return }
        let entry = room.routes[slot.index].entry
        guard entry.address.loop == index, let channel = channels[Handle(packed: entry.address.token)] else { return }
        let all = room.fanout.allLayers(slot)
        guard let wanted = room.routes[slot.index].demand.look(wantedLayers(room, slot), all: all, now: now) else { return }
        let layers = room.fanout.layers(wanted, of: slot).map { RelayMessage.WantedLayer(spatial: $0.spatial, temporal: $0.temporal) }
        send(channel, .layersWanted(.init(stream: entry.info.stream, layers: layers)))
    }

    // MARK: Subscribers

    /// Gives a subscriber the layers that its connection carries.
    func chooseLayers(_ channel: Channel, _ membership: Membership, _ view: BandwidthView) {
        let room = membership.room
        let subscriber = Int(membership.subscriber.index)
        let streams = room.fanout.videoStreams(subscriber) { room.priority($0) }
        guard !streams.isEmpty else { return }
        let choices = membership.chooser.look(
            streams, view, reservedBitsPerSecond: room.fanout.reservedBitsPerSecond(subscriber), now: now)
        for (stream, choice) in zip(streams, choices) where room.fanout.layers(subscriber, stream.slot).target != choice {
            room.fanout.setLayerTarget(subscriber, stream.slot, choice, now: now)
            requestInterest(room, stream.slot)
            tellDemand(room, stream.slot)
            markDirty(room)
        }
        probe(channel, membership, streams, view)
    }

    /// Subscribes to streams, or changes what is wished of those that are had already.
    ///
    /// - Parameter lastN: of the streams of video but screens, only those of so many who spoke last are given.
    func subscribe(_ channel: Channel, _ slots: [StreamSlot], _ wishes: LayerWishes, lastN: Int? = nil) {
        guard let membership = channel.membership else { return }
        let room = membership.room
        let subscriber = Int(membership.subscriber.index)
        for slot in slots { room.fanout.setLayerWishes(subscriber, slot, wishes) }
        rank(channel, membership, slots, wishes, lastN: lastN)
        let new = slots.filter { !room.fanout.isSubscribed(subscriber, $0) }
        if new.contains(where: { room.fanout.streams[$0.index].lane == .video }) { surveyLayers(room) }
        if !slots.isEmpty {
            room.fanout.subscribe(
                subscriber, to: new, wishes, choosing: &membership.chooser, bandwidth(of: channel), now: now, priority: room.priority)
        }
        if lastN != nil {
            for slot in new where room.isRanked(slot) { room.fanout.setRanked(subscriber, slot, true, now: now) }
        }
        for slot in slots {
            requestInterest(room, slot)
            tellDemand(room, slot)
            tellFormat(room, slot)
        }
        markDirty(room)
        let isNews = membership.forwarded == nil || slots.contains { room.fanout.streams[$0.index].lane == .video }
        if isNews, membership.standing.all?.lastN != nil { rankVideo(room, for: channel) }
    }

    /// Tells a client when its connection does not carry what is due to it, and when it does again.
    private func tellCongestion(_ channel: Channel, _ membership: Membership, _ view: BandwidthView) {
        guard membership.congestion.look(view.isCongested, now: now) else { return }
        let news = RelayMessage.Congestion(bitrate: view.bitsPerSecond.map(Double.init))
        send(channel, view.isCongested ? .congested(news) : .recovered(news))
    }
}

/// What a client has been told of its connection, so that it is not told at every turn.
struct CongestionNews {
    private static let congestedMilliseconds: UInt64 = 1_000
    private static let recoveredMilliseconds: UInt64 = 2_000

    private var isToldCongested = false
    private var changedAt: MonotonicInstant?

    /// Whether the client is to be told now.
    mutating func look(_ isCongested: Bool, now: MonotonicInstant) -> Bool {
        guard isCongested != isToldCongested else { return false }
        let wait = isCongested ? CongestionNews.congestedMilliseconds : CongestionNews.recoveredMilliseconds
        if let changedAt, now.milliseconds(since: changedAt) < wait { return false }
        isToldCongested = isCongested
        changedAt = now
        return true
    }
}

/// Streams that a member wants as soon as they come, with what it wishes of them.
struct StandingWishes {
    /// Every stream.
    var all: SubscriptionWishes?
    /// Streams of these sources.
    var sources: [(source: String, wishes: SubscriptionWishes)] = []

    func wishes(for source: String?) -> SubscriptionWishes? {
        sources.last { $0.source == source }?.wishes ?? all
    }

    mutating func want(_ names: [String], _ wishes: SubscriptionWishes) {
        sources.removeAll { names.contains($0.source) }
        sources += names.map { ($0, wishes) }
    }
}

extension LocalRoom {
    func priority(_ slot: StreamSlot) -> Int {
        switch routes[slot.index].entry.info.priority ?? .medium {
        case .veryLow: 0
        case .low: 1
        case .medium: 2
        case .high: 3
        }
    }
}

extension RelayMessage.StreamInfo {
    var layerDeclarations: [LayerDeclaration] {
        (layers ?? []).map { LayerDeclaration(temporalLayers: $0.temporalLayers ?? 1, bitsPerSecond: $0.bitrate.map { Int($0) }) }
    }
}

extension LayerWishes {
    /// What a client says in `subscribe`, once its values are known to make sense.
    init(_ request: ClientRequest.Subscribe) {
        self.init()
        spatialMax = request.maxLayer?.spatial ?? spatialMax
        temporalMax = request.maxLayer?.temporal ?? temporalMax
        bitsPerSecondMax = request.maxBitrate.map { Int($0) }
        delayMillisecondsMax = request.maxDelay.map { UInt64($0) }
    }
}
