import RelayBase
import RelayRooms
import Testing

@testable import RelayServer

@Suite("Layers between loops and publishers")
struct LayerRoutingTests {
    private func set(_ layers: (Int, Int)...) -> LayerSet {
        var set = LayerSet()
        for (spatial, temporal) in layers { set[spatial] = temporal }
        return set
    }

    private func frame(_ spatial: Int, _ temporal: Int = 0, key: Bool = false) -> FrameTraits {
        (key ? FrameTraits.key : []).with(spatial: spatial, temporal: temporal)
    }

    private func at(_ milliseconds: UInt64) -> MonotonicInstant { MonotonicInstant.zero.advanced(byMilliseconds: 1_000 + milliseconds) }

    @Test("a loop gets the layers that somebody there wants, and no others")
    func layersOfALoop() {
        var route = RemoteRoute(interest: RemoteInterest(loop: 1, room: Handle(index: 0, generation: 1), slot: StreamSlot(0)))
        #expect(!route.takes(frame(0, key: true)))
        #expect(route.adopt(set((1, 1))) == [1])
        #expect(route.takes(frame(1, 1)) && !route.takes(frame(1, 2)) && !route.takes(frame(0)))
        // Layer 0's configuration may be that of layer 1.
        #expect(route.takes(.configuration) && !route.takes(FrameTraits.configuration.with(spatial: 2)))
        #expect(route.adopt(set((0, 7), (1, 0))) == [0])
        #expect(route.takes(frame(0, 3)) && !route.takes(frame(1, 1)), "fewer temporal layers go at once")
        #expect(route.adopt(LayerSet()) == [] && !route.takes(frame(0)))
    }

    @Test("more temporal layers go to a loop from the next key frame on, since it caches what it gets")
    func moreTemporalLayers() {
        var route = RemoteRoute(interest: RemoteInterest(loop: 1, room: Handle(index: 0, generation: 1), slot: StreamSlot(0)))
        _ = route.adopt(set((0, 0)))
        #expect(route.adopt(set((0, 2))) == [])
        #expect(!route.takes(frame(0, 1)) && route.takes(frame(0, key: true)))
        route.keyFrameWent(0)
        #expect(route.takes(frame(0, 2)))
    }

    @Test("protocol §5.6: a publisher hears of more at once, of less when it has lasted half a second, and of nothing new never")
    func demand() {
        let all = set((0, 7), (1, 7))
        var demand = StreamDemand()
        #expect(demand.look(all, all: all, now: at(0)) == nil, "everything is wanted until something else is said")
        #expect(demand.look(LayerSet(), all: all, now: at(0)) == nil)
        #expect(demand.look(LayerSet(), all: all, now: at(499)) == nil)
        #expect(demand.look(LayerSet(), all: all, now: at(500)) == LayerSet())
        #expect(demand.look(LayerSet(), all: all, now: at(5_000)) == nil)
        #expect(demand.look(set((1, 2)), all: all, now: at(5_001)) == set((1, 2)))
        // One layer takes the place of another: both, until the change has lasted.
        #expect(demand.look(set((0, 7)), all: all, now: at(5_100)) == set((0, 7), (1, 2)))
        #expect(demand.look(set((0, 7)), all: all, now: at(5_200)) == nil)
        #expect(demand.look(set((0, 7), (1, 2)), all: all, now: at(5_600)) == nil, "it was wanted again in time")
        #expect(demand.look(set((0, 7)), all: all, now: at(5_700)) == nil)
        #expect(demand.look(set((0, 7)), all: all, now: at(6_200)) == set((0, 7)))
    }

    @Test("protocol §3.17: a client hears of congestion once, and of its end no sooner than two seconds later")
    func congestion() {
        var news = CongestionNews()
        #expect(!news.look(false, now: at(0)))
        #expect(news.look(true, now: at(100)))
        #expect(!news.look(true, now: at(200)))
        #expect(!news.look(false, now: at(300)))
        #expect(news.look(false, now: at(2_100)))
        #expect(!news.look(true, now: at(2_200)))
        #expect(news.look(true, now: at(3_100)))
    }

    @Test("protocol §3.8: of a source's wishes and those for all, the source's hold; the latest of each")
    func standingWishes() {
        func bounded(_ spatial: Int) -> LayerWishes {
            var wishes = LayerWishes()
            wishes.spatialMax = spatial
            return wishes
        }
        var standing = StandingWishes()
        #expect(standing.wishes(for: "camera") == nil)
        standing.want(["camera", "screen"], bounded(1))
        #expect(standing.wishes(for: "camera") == bounded(1) && standing.wishes(for: nil) == nil)
        standing.all = bounded(5)
        standing.want(["camera"], bounded(2))
        #expect(
            standing.wishes(for: "camera") == bounded(2) && standing.wishes(for: "screen") == bounded(1)
                && standing.wishes(for: "other") == bounded(5))
        #expect(standing.sources.count == 2)
    }
}
