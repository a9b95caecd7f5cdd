import RelayBase
import RelayRooms

/// What a client does of its own accord, by temper.
extension SimulatedClient {
    func scheduleAct() {
        guard !isSteady else { return }
        world.schedule(.act(client: index), at: world.now.advanced(byMilliseconds: generator.draw(300...4_000)))
    }

    func act() {
        guard !world.isHealed else { return }
        scheduleAct()
        guard let connection, !isResuming else { return }
        if !isSteady, generator.chance(250) { actOnHolding() }
        switch plan.temper {
        case .steady, .slowReader: break
        case .slowLink, .lossyLink:
            if generator.chance(300) { connection.down.profile.bitsPerSecond = generator.draw(64...3_000) * 1_000 }
        case .interrupted:
            let end = world.now.advanced(byMilliseconds: generator.draw(50...3_000))
            world.note("outage", index, 0, Int(end.nanoseconds / 1_000))
            connection.down.interrupt(until: end)
            connection.up.interrupt(until: end)
        case .stopping:
            readsAgainAt = world.now.advanced(byMilliseconds: generator.draw(50...6_000))
            world.note("stops reading", index, 0, Int(readsAgainAt.nanoseconds / 1_000))
        case .breaking:
            if generator.chance(500) { breakConnection() }
        case .restless: actRestlessly()
        }
    }

    func breakConnection() {
        guard let connection else { return }
        world.note("breaks", index, connection.id, 0)
        world.breakConnection(connection)
        world.schedule(.connect(client: index), at: world.now.advanced(byMilliseconds: generator.draw(0...2_000)))
    }

    private func actRestlessly() {
        guard case .inside(_, let participant) = place else {
            if case .outside = place { join() }
            return
        }
        guard !isHoldUnderWay else { return }
        switch generator.draw(0...6) {
        case 0 where change == nil:
            change = .all
            say(.subscribeToAll)
        case 1 where change == nil:
            change = SubscriptionChange.none
            say(.unsubscribeFromAll)
        case 2 where change == nil, 3 where change == nil:
            let streams = known.keys.sorted()
            guard !streams.isEmpty else { return }
            let stream = generator.pick(streams)
            let isWanted = received[stream]?.isSubscribed == true
            if publications.contains(where: { $0.stream == stream }) { return }
            change = isWanted ? .oneLess : .one
            world.note(isWanted ? "unsubscribes" : "subscribes", index, Int(stream), Int(participant))
            say(isWanted ? .unsubscribe(stream: stream) : .subscribe(stream: stream))
        case 4:
            if let stream = known.keys.sorted().first(where: { known[$0] == .video }) { say(.requestKeyFrame(stream: stream)) }
        case 5:
            if let stream = publications.first?.stream {
                say(.unpublish(stream: stream))
            } else if let plan = plan.publications.first {
                publish(plan)
            }
        default:
            if change == nil { say(.leave) }
        }
    }
}
