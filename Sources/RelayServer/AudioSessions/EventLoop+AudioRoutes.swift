import AudioSession
import RelayBase
import RelayRooms
import Signalling

/// Where a client's sound goes: what its loop does with that, before the session as a whole hears of it.
extension EventLoop {
    func changeRoute(_ channel: Channel, _ audio: AudioStanding, _ id: UInt64, _ request: ClientRequest.RouteChanged) throws(Refusal) {
        guard audio.snapshot?.state != .uninitialised else { throw .sessionLost }
        let (reason, warning) = RouteChangeReason.reading(wire: request.reason)
        let change = RouteChange(reason, route: try EventLoop.route(request), sharesNames: request.sharesNames ?? false)
        let outcome = audio.route.apply(change)
        if outcome.receiveFormatChanged { fitFormat(channel, audio) }
        updateUplink(channel, audio)
        if let shown = outcome.shown {
            audio.presentation.route = shown
            present(channel, audio)
        }
        // Jitter buffers are the client's own in live delivery: it has heard of the route before the relay did. What the relay has for it of its own, goes on
        // at the live edge; a change that starts everything afresh does that as well. A delay that the client has pinned is that to what is heard.
        if outcome.jitter != .keep { followListener(channel) }
        if case .retarget = outcome.jitter, !outcome.actions.contains(.tellsLatency) { startDeliveriesAfresh(channel) }
        ask(channel, .routeChanged(reason), id, warnings: warning == nil ? [] : ["unknown_reason"])
    }

    private static func route(_ request: ClientRequest.RouteChanged) throws(Refusal) -> RouteDescription? {
        guard request.route == nil || request.legacyRoute == nil else { throw .badValue("legacyRoute") }
        do throws(RouteFault) {
            if let legacy = request.legacyRoute { return RouteDescription(try LegacyRoute(named: legacy)) }
            guard let route = request.route else { return nil }
            return try RouteDescription(inputs: ports(route.inputs), outputs: ports(route.outputs))
        } catch {
            throw Refusal(error)
        }
    }

    private static func ports(_ ports: [AudioPort]) throws(RouteFault) -> [RoutePort] {
        guard ports.count <= RouteDescription.portsMax else { throw .tooManyPorts }
        var list: [RoutePort] = []
        for port in ports {
            list.append(
                try RoutePort(named: port.type, name: port.name, sampleRate: port.sampleRate, channels: port.channels, latency: port.latency))
        }
        return list
    }

    // MARK: Formats

    /// What the session hears of the streams that it gets has changed.
    private func fitFormat(_ channel: Channel, _ audio: AudioStanding) {
        guard let membership = channel.membership else { return }
        let room = membership.room
        let subscriber = Int(membership.subscriber.index)
        enterWithRoute(membership, audio)
        for slot in room.fanout.subscribed(subscriber) where room.fanout.isOpen(slot) && room.fanout.streams[slot.index].lane == .audio {
            requestInterest(room, slot)
            tellFormat(room, slot)
        }
    }

    func enterWithRoute(_ membership: Membership, _ audio: AudioStanding) {
        let bounds = audio.route.receiveFormat?.wanted
        membership.room.fanout.setAudioBounds(Int(membership.subscriber.index), bounds)
        if bounds != .full { membership.room.fitsFormats = true }
    }

    /// Who hears a stream changes in many ways, and less is told to its publisher when it has lasted a moment: looked at with the layers.
    func lookAtFormats(_ room: LocalRoom) {
        guard room.fitsFormats else { return }
        for slot in room.fanout.openSlots where room.fanout.streams[slot.index].lane == .audio {
            if room.routes[slot.index].isRequested { requestInterest(room, slot) }
            tellFormat(room, slot)
        }
    }

    /// Tells the publisher of an audio stream what the best of its subscribers, on whatever loop, can use of it.
    func tellFormat(_ room: LocalRoom, _ slot: StreamSlot) {
        guard room.fanout.isOpen(slot), room.fanout.streams[slot.index].lane == .audio else { return }
        let entry = room.routes[slot.index].entry
        guard entry.address.loop == index, let channel = channels[Handle(packed: entry.address.token)] else { return }
        let wanted = room.routes[slot.index].remote.wantedAudio(with: room.fanout.wantedAudio(slot))
        guard let told = room.routes[slot.index].formatDemand.look(wanted, now: now) else { return }
        send(
            channel, .formatWanted(.init(stream: entry.info.stream, channels: told.channels, bandwidth: told.bandwidth.rawValue)))
    }
}

extension Refusal {
    init(_ fault: RouteFault) {
        self.init(code: Refusal.badValue("").code, message: fault.text, retry: false)
    }
}
