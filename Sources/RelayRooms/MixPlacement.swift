/// Somebody who gets a room's mix on one loop.
package struct MixListener: Sendable, Equatable {
    package let participant: ParticipantID
    /// The slot that its mix comes in, by the loop's and the worker's count.
    package internal(set) var place: Int
    /// 1 or 2.
    package var channels: Int
    /// Which of the mixes that were made in this tick is its own; `nil`: none was made for it.
    package var mix: Int?
    /// Its mix comes in another place than its loop has been told; whoever tells it takes this back.
    package var hasMoved = false
    /// Which of its entries into the mix this is, by its loop's count.
    package var entry: UInt32 = 0

    /// What a loop gives a subscriber first.
    package init(_ participant: ParticipantID, channels: Int) {
        self.participant = participant
        self.channels = channels
        place = MixPlacement.firstPlace(channels: channels)
    }
}

/// Which slot of one loop carries which of the mixes that a worker makes in a tick: as few listeners as can be are moved, so those who only listen stay where they are and
/// those who come to speak, or cease to, change.
package struct MixPlacement: Sendable {
    /// Beyond what a room's bounds allow.
    package static let placesMax = 255

    /// By place: 1 or 2 channels, for ever.
    package private(set) var channels = [1, 2]
    /// By place: the mix that goes there in this tick.
    package private(set) var mixes: [Int?] = [nil, nil]
    // Scratch, kept so that a tick allocates nothing.
    private var counts: [Int] = []
    private var sizes: [Int] = []
    private var channelsOfMix: [Int] = []
    private var placeOfMix: [Int] = []

    package init() {}

    package static func firstPlace(channels: Int) -> Int { channels == 2 ? 1 : 0 }

    /// Gives each mix that somebody listens to a place, and each listener the place of its mix.
    ///
    /// - Parameter mixCount: mixes are 0 ..< that.
    package mutating func assign(_ listeners: inout [MixListener], mixCount: Int) {
        count(listeners, mixCount)
        for place in mixes.indices { mixes[place] = nil }
        // The mix of most listeners chooses first: it stays where most of them are.
        while let mix = largestUnplaced() {
            placeOfMix[mix] = choose(for: mix)
            if placeOfMix[mix] >= 0 { mixes[placeOfMix[mix]] = mix }
            sizes[mix] = 0
        }
        for index in listeners.indices {
            guard let mix = listeners[index].mix, placeOfMix[mix] >= 0, placeOfMix[mix] != listeners[index].place else { continue }
            listeners[index].place = placeOfMix[mix]
            listeners[index].hasMoved = true
        }
    }

    private mutating func count(_ listeners: [MixListener], _ mixCount: Int) {
        counts.removeAll(keepingCapacity: true)
        sizes.removeAll(keepingCapacity: true)
        channelsOfMix.removeAll(keepingCapacity: true)
        placeOfMix.removeAll(keepingCapacity: true)
        for _ in 0..<mixCount {
            sizes.append(0)
            channelsOfMix.append(1)
            placeOfMix.append(-1)
            for _ in channels { counts.append(0) }
        }
        for listener in listeners {
            guard let mix = listener.mix else { continue }
            precondition(mix >= 0 && mix < mixCount, "a mix of this tick")
            sizes[mix] += 1
            channelsOfMix[mix] = listener.channels
            counts[mix * channels.count + listener.place] += 1
        }
    }

    private func largestUnplaced() -> Int? {
        var largest: Int?
        for mix in sizes.indices where sizes[mix] > 0 && sizes[mix] > largest.map({ sizes[$0] }) ?? 0 { largest = mix }
        return largest
    }

    /// - Returns: −1 when there are as many places as may be.
    private mutating func choose(for mix: Int) -> Int {
        let width = counts.count / max(sizes.count, 1)
        var best = -1
        for place in 0..<width where mixes[place] == nil && channels[place] == channelsOfMix[mix] {
            let own = counts[mix * width + place]
            if own > 0, best < 0 || own > counts[mix * width + best] { best = place }
        }
        if best >= 0 { return best }
        // One where nobody sits; those who sit elsewhere would have to move as well.
        for place in channels.indices where mixes[place] == nil && channels[place] == channelsOfMix[mix] && !isSeated(place, width) { return place }
        guard channels.count < MixPlacement.placesMax else { return -1 }
        channels.append(channelsOfMix[mix])
        mixes.append(nil)
        return channels.count - 1
    }

    private func isSeated(_ place: Int, _ width: Int) -> Bool {
        guard place < width else { return false }
        for mix in sizes.indices where counts[mix * width + place] > 0 { return true }
        return false
    }
}
