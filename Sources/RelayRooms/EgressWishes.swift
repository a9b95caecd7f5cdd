import RelayBase

/// How a subscriber wants its frames to be written, as its client said in `hello`.
package struct EgressWishes: Sendable, Equatable, Codable {
    /// A frame that is larger than the room for it may come cut into parts (media kind 5).
    package var parts: Bool
    /// Several small frames may come in one message (media kind 4).
    package var bundles: Bool

    package init(parts: Bool = false, bundles: Bool = false) {
        self.parts = parts
        self.bundles = bundles
    }
}

extension RoomFanout {
    /// Sets how a subscriber is served; before its first pull.
    package mutating func setWishes(_ subscriber: Int, _ wishes: EgressWishes) {
        subscribers[subscriber].wishes = wishes
    }
}
