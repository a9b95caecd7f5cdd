package import MediaProtocol

extension FrameTraits {
    /// From a cache, for joiners: older than what whoever changes to this layer has seen.
    package static let replayed = FrameTraits(rawValue: 16)

    /// What a frame's header says, for a stream of a lane. Only video has layers; a configuration holds for a whole spatial layer.
    package init(_ header: MediaHeader, lane: Lane) {
        var traits = FrameTraits(layer: lane == .video ? header.layer.rawValue : 0)
        if header.kind == .configuration {
            self = FrameTraits.configuration.with(spatial: traits.spatial)
            return
        }
        if header.flags.contains(.key) { traits.insert(.key) } else if traits.temporal > 0 { traits.insert(.enhancement) }
        if header.flags.contains(.discardable) { traits.insert(.discardable) }
        self = traits
    }

    /// The same flags, of another layer.
    package func with(spatial: Int, temporal: Int = 0) -> FrameTraits {
        FrameTraits(rawValue: rawValue & 0x00FF | UInt16(truncatingIfNeeded: spatial & 15) << 12 | UInt16(truncatingIfNeeded: temporal & 15) << 8)
    }

    package var spatial: Int { Int(spatialLayer) }
    package var temporal: Int { Int(temporalLayer) }
}
