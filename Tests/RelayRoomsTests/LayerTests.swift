import RelayBase
import Testing

@testable import RelayRooms

@Suite("Layers of a stream: what a subscriber gets")
struct LayerTests {
    private func key(_ spatial: Int) -> FrameTraits { FrameTraits.key.with(spatial: spatial) }
    private func frame(_ spatial: Int, _ temporal: Int = 0) -> FrameTraits {
        (temporal > 0 ? FrameTraits.enhancement : []).with(spatial: spatial, temporal: temporal)
    }
    private func configuration(_ spatial: Int) -> FrameTraits { FrameTraits.configuration.with(spatial: spatial) }

    @Test("protocol §6.4: of several spatial layers a subscriber gets one", arguments: [(0, [1, 4]), (1, [2, 5]), (2, [3, 6])])
    func oneSpatialLayer(spatial: Int, expected: [UInt32]) {
        let h = Harness()
        let slot = h.stream(1, .video, layers: 3)
        let subscriber = h.subscriber()
        h.subscribe(subscriber, slot, LayerChoice(spatial: spatial))
        for layer in 0..<3 { h.publish(slot, key(layer)) }
        for layer in 0..<3 { h.publish(slot, frame(layer)) }
        #expect(h.drain(subscriber) == expected)
        #expect(h.account(subscriber).entered == 2)
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test("protocol §6.4: temporal layers above the bound are left out and never enter", arguments: [(0, 2), (1, 3), (2, 5), (7, 5)])
    func temporalBound(bound: Int, count: Int) {
        let h = Harness()
        let slot = h.stream(1, .video)
        let subscriber = h.subscriber()
        h.subscribe(subscriber, slot, LayerChoice(spatial: 0, temporal: bound))
        h.publish(slot, key(0))
        for temporal in [2, 1, 2, 0] { h.publish(slot, frame(0, temporal)) }
        #expect(h.drain(subscriber).count == count)
        #expect(h.account(subscriber).entered == UInt64(count))
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test("protocol §6.4: another spatial layer begins at its key frame and not before; until then the old one goes on", arguments: [(0, 2), (2, 0)])
    func switchesAtKeyFrame(from: Int, to: Int) {
        let h = Harness()
        let slot = h.stream(1, .video, layers: 3)
        let subscriber = h.subscriber()
        h.subscribe(subscriber, slot, LayerChoice(spatial: from))
        for layer in 0..<3 { h.publish(slot, key(layer)) }
        #expect(h.drain(subscriber) == [UInt32(from + 1)])
        h.advance(milliseconds: 600)
        h.target(subscriber, slot, LayerChoice(spatial: to))
        #expect(h.keyFrameRequest(of: slot) == to)
        #expect(h.wanted(slot)[from] != nil && h.wanted(slot)[to] != nil && h.wanted(slot)[1] == nil)
        h.publish(slot, frame(from))
        h.publish(slot, frame(to))
        h.publish(slot, key(to))
        h.publish(slot, frame(from))
        h.publish(slot, frame(to))
        #expect(h.drain(subscriber) == [4, 6, 8])
        #expect(h.wanted(slot)[from] == nil && h.wanted(slot)[to] != nil)
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test("protocol §6.4: a temporal bound falls at once and rises at a key frame")
    func temporalChanges() {
        let h = Harness()
        let slot = h.stream(1, .video)
        let subscriber = h.subscriber()
        h.subscribe(subscriber, slot, LayerChoice(spatial: 0, temporal: 2))
        h.publish(slot, key(0))
        h.publish(slot, frame(0, 2))
        h.target(subscriber, slot, LayerChoice(spatial: 0, temporal: 0))
        h.publish(slot, frame(0, 1))
        h.publish(slot, frame(0, 0))
        // The second frame had come for the subscriber; it is of no use below the new bound.
        #expect(h.drain(subscriber) == [1, 4])
        #expect(h.account(subscriber).superseded == 1)
        h.target(subscriber, slot, LayerChoice(spatial: 0, temporal: 2))
        h.publish(slot, frame(0, 1))
        h.publish(slot, key(0))
        h.publish(slot, frame(0, 2))
        #expect(h.drain(subscriber) == [6, 7])
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test("protocol §6.4: a layer's own configuration goes before its key frame, unless it is the same", arguments: [true, false])
    func configurations(isSame: Bool) {
        let h = Harness()
        let slot = h.stream(1, .video, layers: 2)
        let subscriber = h.subscriber()
        h.publish(slot, payload: [1], configuration(0))
        h.publish(slot, payload: [isSame ? 1 : 2], configuration(1))
        h.publish(slot, key(0))
        h.subscribe(subscriber, slot, LayerChoice(spatial: 0))
        h.target(subscriber, slot, LayerChoice(spatial: 1))
        h.publish(slot, frame(0))
        h.publish(slot, key(1))
        #expect(h.drain(subscriber) == (isSame ? [1, 3, 4, 5] : [1, 3, 4, 2, 5]))
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test("protocol §5.1: a layer without a configuration of its own has that of layer 0")
    func commonConfiguration() {
        let h = Harness()
        let slot = h.stream(1, .video, layers: 2)
        let subscriber = h.subscriber()
        h.publish(slot, payload: [1], configuration(0))
        h.subscribe(subscriber, slot, LayerChoice(spatial: 1))
        h.publish(slot, key(1))
        h.publish(slot, payload: [2], configuration(0))
        h.publish(slot, key(1))
        #expect(h.drain(subscriber) == [1, 2, 3, 4] || h.drain(subscriber) == [])
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test("protocol §6.2: a late joiner gets the group of its layer, and only the temporal layers within its bound")
    func lateJoiner() {
        let h = Harness()
        let slot = h.stream(1, .video, layers: 2)
        for layer in 0..<2 { h.publish(slot, key(layer)) }
        for temporal in [2, 1, 2, 0] { h.publish(slot, frame(1, temporal)) }
        let subscriber = h.subscriber()
        #expect(h.subscribe(subscriber, slot, LayerChoice(spatial: 1, temporal: 1)))
        #expect(h.drain(subscriber) == [2, 4, 6])
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test("protocol §6.2: where the layer has no group yet, a lower one that has is shown until its key frame comes")
    func lowerLayerMeanwhile() {
        let h = Harness()
        let slot = h.stream(1, .video, layers: 2)
        h.publish(slot, key(0))
        let subscriber = h.subscriber()
        #expect(h.subscribe(subscriber, slot, LayerChoice(spatial: 1)))
        #expect(h.drain(subscriber) == [1])
        #expect(h.keyFrameRequest(of: slot) == 1)
        h.publish(slot, frame(0))
        h.publish(slot, key(1))
        #expect(h.drain(subscriber) == [2, 3])
    }

    @Test("protocol §6.2: a group older than gopCacheMillisecondsMax is given to nobody", arguments: [(UInt64(900), true), (1_100, false)])
    func oldGroup(age: UInt64, isGiven: Bool) {
        let h = Harness { $0.gopCacheMillisecondsMax = 1_000 }
        let slot = h.stream(1, .video)
        h.publish(slot, .key)
        h.advance(milliseconds: age)
        let subscriber = h.subscriber()
        #expect(h.subscribe(subscriber, slot) == isGiven)
        #expect(h.drain(subscriber) == (isGiven ? [1] : []))
        h.advance(milliseconds: 2_000)
        h.publish(slot)
        #expect(h.budgetUsed == 0, "an old group is kept")
    }

    @Test("protocol §6.4: a paused stream's frames never enter; it goes on with a key frame")
    func pause() {
        let h = Harness()
        let slot = h.stream(1, .video)
        let subscriber = h.subscriber()
        h.publish(slot, .key)
        h.subscribe(subscriber, slot)
        h.publish(slot)
        h.target(subscriber, slot, .none)
        #expect(h.wanted(slot).isEmpty)
        #expect(h.publish(slot) == .nobody)
        #expect(h.drain(subscriber) == [1])
        #expect(h.account(subscriber) == h.account(entered: 2, delivered: 1, superseded: 1))
        h.target(subscriber, slot, LayerChoice(spatial: 0))
        h.advance(milliseconds: 600)
        #expect(h.keyFrameRequest() == slot)
        h.publish(slot)
        h.publish(slot, .key)
        #expect(h.drain(subscriber) == [5])
        #expect(h.imbalance(subscriber) == 0)
    }

    @Test("protocol §6.3: maxDelay drops a subscriber's frames sooner than their class does, and nobody else's")
    func maxDelay() {
        let h = Harness()
        let slot = h.stream(1, .audio)
        let (hasty, patient) = (h.subscriber(8), h.subscriber(9))
        for subscriber in [hasty, patient] { h.subscribe(subscriber, slot) }
        var wishes = LayerWishes()
        wishes.delayMillisecondsMax = 50
        h.fanout.setLayerWishes(Int(hasty.index), slot, wishes)
        h.publish(slot)
        h.advance(milliseconds: 60)
        h.publish(slot)
        #expect(h.drain(hasty) == [2])
        #expect(h.drain(patient) == [1, 2])
        #expect(h.imbalance(hasty) == 0)
    }

    @Test("a set of layers knows its members, unions and subsets")
    func sets() {
        var set = LayerSet()
        #expect(set.isEmpty && LayerSet.all.covers(set) && !set.covers(.all))
        set[1] = 2
        #expect(set.contains(frame(1, 2)) && !set.contains(frame(1, 3)) && !set.contains(frame(0, 0)))
        var other = LayerSet()
        other[0] = 0
        other[1] = 0
        #expect(!set.covers(other) && !other.covers(set))
        set.formUnion(other)
        #expect(set[0] == 0 && set[1] == 2 && set.covers(other))
        set[1] = nil
        #expect(
            set
                == {
                    var only = LayerSet(); only[0] = 0; return only
                }())
    }
}

extension Harness {
    func account(entered: UInt64, delivered: UInt64, superseded: UInt64) -> FrameAccount {
        var account = FrameAccount()
        account.entered = entered
        account.delivered = delivered
        account.superseded = superseded
        return account
    }
}
