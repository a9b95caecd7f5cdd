import MediaProtocol
import RelayBase
import RelayRooms

/// A client that takes nothing for a while, of one stream or of all: what it reads of held streams, and first of released ones, is looked at.
extension SimulatedClient {
    /// Holds or releases something at random; one request at a time.
    func actOnHolding() {
        guard case .inside = place, change == nil, !isHoldUnderWay else { return }
        isHoldUnderWay = true
        let streams = received.keys.sorted().filter { received[$0]?.isSubscribed == true }
        guard !streams.isEmpty, generator.chance(400) else {
            world.note(isHeld ? "releases all" : "holds all", index, 0, 0)
            say(.hold(stream: nil, !isHeld))
            return
        }
        let stream = generator.pick(streams)
        let wasHeld = received[stream]?.isHeld == true
        world.note(wasHeld ? "releases" : "holds", index, Int(stream), 0)
        say(.hold(stream: stream, !wasHeld))
    }

    /// - Parameter words: empty, or a stream and whether it could be held.
    func held(_ isHeld: Bool, _ words: [UInt32]) {
        isHoldUnderWay = false
        guard let stream = words.first else {
            self.isHeld = isHeld
            for stream in received.keys.sorted() where received[stream]?.isSubscribed == true { noteHold(stream) }
            return
        }
        guard words.last == 1, received[stream]?.isSubscribed == true else { return }
        received[stream]?.isHeld = isHeld
        // A frame that was begun in parts is finished, and is of no use.
        if isHeld, partial[stream] != nil { orphans.insert(stream) }
        noteHold(stream)
    }

    private func noteHold(_ stream: UInt32) {
        let isSilent = isHeld || received[stream]?.isHeld == true
        guard isSilent != received[stream]?.isSilent else { return }
        received[stream]?.isSilent = isSilent
        received[stream]?.resumedAfter = nil
        received[stream]?.awaitsMark = !isSilent
    }

    /// A frame came, not a configuration: of a released stream the first says that it does not follow the last.
    func checkHold(_ content: FrameContent, _ known: inout ReceivedStream, _ name: String) {
        world.require(!known.isSilent, "\(name) comes though its stream is held")
        let isMarked = content.header.flags.contains(.discontinuity)
        guard known.awaitsMark else {
            world.require(!isMarked || hasResumed, "\(name) says that it does not follow the last, and nothing was held")
            return
        }
        known.awaitsMark = false
        // Over a resumption the mark may be lost with the frame that had it; then nothing else may be.
        let follows = hasResumed && known.last.map { content.header.sequence == $0 &+ 1 } ?? false
        world.require(isMarked || follows, "\(name) comes first after a hold, and does not say so")
    }
}
