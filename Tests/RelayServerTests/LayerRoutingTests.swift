import RelayBase
import RelayRooms
import Signalling
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
        func adopt(_ layers: LayerSet) -> [Int] { route.adopt(layers) }
        #expect(!route.takes(frame(0, key: true)))
        #expect(adopt(set((1, 1))) == [1])
        #expect(route.takes(frame(1, 1)) && !route.takes(frame(1, 2)) && !route.takes(frame(0)))
        // Layer 0's configuration may be that of layer 1.
        #expect(route.takes(.configuration) && !route.takes(FrameTraits.configuration.with(spatial: 2)))
        #expect(adopt(set((0, 7), (1, 0))) == [0])
        #expect(route.takes(frame(0, 3)) && !route.takes(frame(1, 1)), "fewer temporal layers go at once")
        #expect(adopt(LayerSet()) == [] && !route.takes(frame(0)))
    }

    @Test("more temporal layers go to a loop from the next key frame on, since it caches what it gets")
    func moreTemporalLayers() {
        var route = RemoteRoute(interest: RemoteInterest(loop: 1, room: Handle(index: 0, generation: 1), slot: StreamSlot(0)))
        func adopt(_ layers: LayerSet) -> [Int] { route.adopt(layers) }
        _ = route.adopt(set((0, 0)))
        #expect(adopt(set((0, 2))) == [])
        #expect(!route.takes(frame(0, 1)) && route.takes(frame(0, key: true)))
        route.keyFrameWent(0)
        #expect(route.takes(frame(0, 2)))
    }

    @Test("protocol §5.6: a publisher hears of more at once, of less when it has lasted half a second, and of nothing new never")
    func demand() {
        let all = set((0, 7), (1, 7))
        var demand = StreamDemand()
        func look(_ wanted: LayerSet, _ milliseconds: UInt64) -> LayerSet? { demand.look(wanted, all: all, now: at(milliseconds)) }
        #expect(look(all, 0) == nil, "everything is wanted until something else is said")
        #expect(look(LayerSet(), 0) == nil)
        #expect(look(LayerSet(), 499) == nil)
        #expect(look(LayerSet(), 500) == LayerSet())
        #expect(look(LayerSet(), 5_000) == nil)
        #expect(look(set((1, 2)), 5_001) == set((1, 2)))
        // One layer takes the place of another: both, until the change has lasted.
        #expect(look(set((0, 7)), 5_100) == set((0, 7), (1, 2)))
        #expect(look(set((0, 7)), 5_200) == nil)
        #expect(look(set((0, 7), (1, 2)), 5_600) == nil, "it was wanted again in time")
        #expect(look(set((0, 7)), 5_700) == nil)
        #expect(look(set((0, 7)), 6_200) == set((0, 7)))
    }

    @Test("protocol §3.17: a client hears of congestion once, and of its end no sooner than two seconds later")
    func congestion() {
        var news = CongestionNews()
        func look(_ isCongested: Bool, _ milliseconds: UInt64) -> Bool { news.look(isCongested, now: at(milliseconds)) }
        #expect(!look(false, 0))
        #expect(look(true, 100))
        #expect(!look(true, 200))
        #expect(!look(false, 300))
        #expect(look(false, 2_100))
        #expect(!look(true, 2_200))
        #expect(look(true, 3_100))
    }

    @Test("protocol §3.8: of a source's wishes and those for all, the source's hold; the latest of each")
    func standingWishes() {
        func bounded(_ spatial: Int) -> SubscriptionWishes {
            SubscriptionWishes(ClientRequest.Subscribe(streams: nil, all: true, delivery: nil, maxLayer: LayerBound(spatial: spatial)))
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
