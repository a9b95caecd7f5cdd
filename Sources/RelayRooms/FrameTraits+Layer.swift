package import MediaProtocol

/// The layer takes the place of flags that nobody tests: traits go wherever frames go, through logs and rings, and the layer must go with them.
extension FrameTraits {
    /// What a frame's header says, for a stream of a lane. Only video has layers; a configuration holds for a whole spatial layer.
    package init(_ header: MediaHeader, lane: Lane) {
        var flags: FrameTraits = []
        if header.flags.contains(.key) { flags.insert(.key) }
        if header.flags.contains(.discardable) { flags.insert(.discardable) }
        if header.kind == .configuration { flags.insert(.configuration) }
        guard lane == .video else {
            self = flags
            return
        }
        self = flags.with(spatial: Int(header.layer.spatial), temporal: header.kind == .configuration ? 0 : Int(header.layer.temporal))
    }

    /// The same flags, of another layer.
    package func with(spatial: Int, temporal: Int = 0) -> FrameTraits {
        FrameTraits(rawValue: rawValue & 0x00FF | UInt16(truncatingIfNeeded: spatial & 15) << 12 | UInt16(truncatingIfNeeded: temporal & 15) << 8)
    }

    package var spatial: Int { Int(rawValue >> 12) }
    package var temporal: Int { Int(rawValue >> 8 & 15) }
}
