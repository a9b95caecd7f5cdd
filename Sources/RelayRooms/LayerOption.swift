/// One step of a stream's ladder: layers that a subscriber may be given, and what they cost.
package struct LayerOption: Hashable, Sendable, Codable {
    package var spatial: Int
    package var temporal: Int
    package var bitsPerSecond: Int

    package init(spatial: Int, temporal: Int, bitsPerSecond: Int) {
        self.spatial = spatial
        self.temporal = temporal
        self.bitsPerSecond = bitsPerSecond
    }

    /// Of one that came from another node.
    package var isSane: Bool {
        (0..<LayerChoice.layersMax).contains(spatial) && (0..<LayerChoice.layersMax).contains(temporal)
            && (0...1_000_000_000_000).contains(bitsPerSecond)
    }

    package var choice: LayerChoice { LayerChoice(spatial: spatial, temporal: temporal) }
}

/// What a subscriber asks for, whatever the bandwidth.
package struct LayerWishes: Hashable, Sendable {
    package var spatialMax = LayerChoice.layersMax - 1
    package var temporalMax = LayerChoice.layersMax - 1
    /// Of one stream's video.
    package var bitsPerSecondMax: Int?
    /// Milliseconds after which a queued frame is of no use; `nil`: the class's deadline.
    package var delayMillisecondsMax: UInt64?

    package init() {}
}

/// What a publisher announces of one spatial layer.
package struct LayerDeclaration: Hashable, Sendable {
    /// 1 to 8.
    package let temporalLayers: Int
    package let bitsPerSecond: Int?

    package init(temporalLayers: Int, bitsPerSecond: Int?) {
        self.temporalLayers = min(max(temporalLayers, 1), LayerChoice.layersMax)
        self.bitsPerSecond = bitsPerSecond.map { max($0, 0) }
    }
}
