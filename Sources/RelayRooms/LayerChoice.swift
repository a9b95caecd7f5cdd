/// Layers of a stream that a subscriber gets: one spatial layer, and of it the temporal layers up to a bound; or none at all.
package struct LayerChoice: Hashable, Sendable {
    /// Spatial and temporal layers that a stream may have, each: 0 to 7.
    package static let layersMax = 8

    private let spatial8: UInt8
    private let temporal8: UInt8

    /// Nothing: the stream is paused.
    package static let none = LayerChoice(spatial8: .max, temporal8: 0)

    private init(spatial8: UInt8, temporal8: UInt8) {
        self.spatial8 = spatial8
        self.temporal8 = temporal8
    }

    /// - Parameter temporal: the highest temporal layer; without it, all of them.
    /// - Precondition: both are 0 to 7.
    package init(spatial: Int, temporal: Int = layersMax - 1) {
        precondition((0..<LayerChoice.layersMax).contains(spatial) && (0..<LayerChoice.layersMax).contains(temporal), "a layer is 0 to 7")
        spatial8 = UInt8(spatial)
        temporal8 = UInt8(temporal)
    }

    package var isNone: Bool { spatial8 == .max }
    /// Meaningless when ``isNone``.
    package var spatial: Int { Int(spatial8) }
    package var temporal: Int { Int(temporal8) }

    package func contains(_ traits: FrameTraits) -> Bool {
        traits.spatial == spatial && traits.temporal <= temporal
    }

    /// Whether every frame of this choice is one of the other too.
    package func isWithin(_ other: LayerChoice) -> Bool {
        isNone || spatial8 == other.spatial8 && temporal8 <= other.temporal8
    }
}

/// Layers that somebody wants of a stream: of each spatial layer, the temporal layers up to a bound.
package struct LayerSet: Hashable, Sendable, Codable {
    /// Four bits a spatial layer: 0, or the temporal bound and one.
    private var bits: UInt32 = 0

    package init() {}

    /// Everything there may be.
    package static var all: LayerSet {
        var set = LayerSet()
        for spatial in 0..<LayerChoice.layersMax { set[spatial] = LayerChoice.layersMax - 1 }
        return set
    }

    package var isEmpty: Bool { bits == 0 }

    /// Of one that came from another node: no layer above the last that there may be.
    package var isSane: Bool { (0..<LayerChoice.layersMax).allSatisfy { self[$0] ?? 0 < LayerChoice.layersMax } }

    /// The highest temporal layer that is wanted of a spatial layer; `nil`: none of it.
    package subscript(spatial: Int) -> Int? {
        get {
            let nibble = Int(bits >> UInt32(4 * spatial) & 15)
            return nibble == 0 ? nil : nibble - 1
        }
        set {
            bits &= ~(15 << UInt32(4 * spatial))
            if let newValue { bits |= UInt32(newValue + 1) << UInt32(4 * spatial) }
        }
    }

    package func contains(_ traits: FrameTraits) -> Bool {
        Int(bits >> UInt32(4 * traits.spatial) & 15) > traits.temporal
    }

    package mutating func formUnion(_ other: LayerSet) {
        for spatial in 0..<LayerChoice.layersMax {
            if let bound = other[spatial] { self[spatial] = max(self[spatial] ?? 0, bound) }
        }
    }

    /// Whether the other set wants nothing that this one does not.
    package func covers(_ other: LayerSet) -> Bool {
        (0..<LayerChoice.layersMax).allSatisfy { (other[$0] ?? -1) <= (self[$0] ?? -1) }
    }
}
