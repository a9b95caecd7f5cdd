package import RelayBase

/// Spatial layers, one bit each.
package struct SpatialLayers: Sendable, Equatable {
    private var bits: UInt8 = 0

    package init() {}

    package func contains(_ spatial: Int) -> Bool { bits & 1 << UInt8(spatial) != 0 }
    package mutating func insert(_ spatial: Int) { bits |= 1 << UInt8(spatial) }
    package mutating func remove(_ spatial: Int) { bits &= ~(1 << UInt8(spatial)) }
    package var isEmpty: Bool { bits == 0 }
}

/// Where another loop wants a stream's frames: its own handles, so that a record in the ring needs no look-up.
package struct RemoteInterest: Sendable, Equatable {
    package let loop: Int
    package let room: Handle
    package let slot: StreamSlot

    package init(loop: Int, room: Handle, slot: StreamSlot) {
        self.loop = loop
        self.room = room
        self.slot = slot
    }
}

/// Another loop that gets a stream's frames: which layers, and what it has missed because the ring to it was full.
package struct RemoteRoute {
    package let interest: RemoteInterest
    /// What goes there.
    package private(set) var layers = LayerSet()
    /// What somebody there wants; more temporal layers go from the next key frame on, since the loop caches what it gets for its joiners.
    package private(set) var wanted = LayerSet()
    /// What the best of those that hear the stream there can play of it; `nil`: nobody does.
    package var audio: WantedFormat?
    /// Frames that refer to a lost one are of no use there.
    package var awaitsKey = SpatialLayers()
    package var owesConfiguration = SpatialLayers()

    package init(interest: RemoteInterest) {
        self.interest = interest
    }

    /// Layer 0's configuration is that of every layer without one of its own.
    package func takes(_ traits: FrameTraits) -> Bool {
        layers.contains(traits) || traits.contains(.configuration) && traits.spatial == 0 || traits.contains(.key) && wanted.contains(traits)
    }

    package mutating func keyFrameWent(_ spatial: Int) {
        awaitsKey.remove(spatial)
        layers[spatial] = wanted[spatial]
    }

    /// Takes over what is wanted now. Answers the spatial layers that are new there: they begin with what is cached.
    package mutating func adopt(_ wanted: LayerSet) -> [Int] {
        self.wanted = wanted
        var new: [Int] = []
        for spatial in 0..<LayerChoice.layersMax {
            switch (layers[spatial], wanted[spatial]) {
            case (nil, nil): break
            case (nil, let bound?):
                layers[spatial] = bound
                new.append(spatial)
            case (_, nil):
                layers[spatial] = nil
                awaitsKey.remove(spatial)
                // Layer 0's goes there all the same.
                if spatial > 0 { owesConfiguration.remove(spatial) }
            case (let before?, let bound?): layers[spatial] = min(before, bound)
            }
        }
        return new
    }
}

extension [RemoteRoute] {
    /// Takes over that another loop wants a stream, or lets go of it.
    ///
    /// - Returns: the place of its route; `nil` when it has let go.
    package mutating func note(_ interest: RemoteInterest, isWanted: Bool) -> (place: Int, isNew: Bool)? {
        // Another room or slot of that loop's: it has begun anew and knows nothing of the stream.
        removeAll { $0.interest.loop == interest.loop && (!isWanted || $0.interest != interest) }
        guard isWanted else { return nil }
        if let known = firstIndex(where: { $0.interest == interest }) { return (known, false) }
        append(RemoteRoute(interest: interest))
        return (count - 1, true)
    }

    /// The best that somebody on these loops, or on this one, can play.
    package func wantedAudio(with here: WantedFormat?) -> WantedFormat? {
        reduce(here) { best, route in route.audio.map { $0.union(best) } ?? best }
    }

    /// What these loops want, and what is wanted on this one.
    package func wanted(with here: LayerSet) -> LayerSet {
        var wanted = here
        for route in self { wanted.formUnion(route.wanted) }
        return wanted
    }
}

/// What a publisher is told that is wanted of its stream: more at once, less when that has lasted a moment.
package struct StreamDemand {
    private static let lessMilliseconds: UInt64 = 500

    /// `nil`: nothing yet, so it sends everything.
    package private(set) var told: LayerSet?
    private var lessSince: MonotonicInstant?
    private var mustTell = false

    /// The publisher may not have heard what it was told last.
    package mutating func tellAgain() { mustTell = told != nil }

    package init() {}

    /// - Parameters:
    ///   - all: every layer that the stream has.
    /// - Returns: what the publisher is to be told now; `nil`: nothing new.
    package mutating func look(_ wanted: LayerSet, all: LayerSet, now: MonotonicInstant) -> LayerSet? {
        let before = told ?? all
        guard wanted != before else {
            lessSince = nil
            defer { mustTell = false }
            return mustTell ? wanted : nil
        }
        if !before.covers(wanted) {
            lessSince = nil
            var more = before
            more.formUnion(wanted)
            told = more
            return more
        }
        let since = lessSince ?? now
        lessSince = since
        guard now.milliseconds(since: since) >= StreamDemand.lessMilliseconds else {
            defer { mustTell = false }
            return mustTell ? before : nil
        }
        lessSince = nil
        told = wanted
        return wanted
    }
}
