extension ClientRequest {
    /// How a session wants to be served, said once in `hello`.
    package struct SessionWishes: Codable, Sendable, Equatable {
        /// Video frames may come cut into parts, so that audio need not wait for a large one.
        package var parts: Bool?
        /// Several frames may come in one message.
        package var bundles: BundleWish?
        /// A data message at least this often (milliseconds): for balancers that do not count pings.
        package var keepAliveMilliseconds: Double?

        package init(parts: Bool? = nil, bundles: BundleWish? = nil, keepAliveMilliseconds: Double? = nil) {
            self.parts = parts
            self.bundles = bundles
            self.keepAliveMilliseconds = keepAliveMilliseconds
        }
    }

    package struct BundleWish: Codable, Sendable, Equatable {
        /// How long a frame may be held so that others can join it: 0 to 10 ms.
        package var delayMilliseconds: Double

        package init(delayMilliseconds: Double) {
            self.delayMilliseconds = delayMilliseconds
        }
    }

    /// Comes back to a session by the token that `welcome` gave.
    package struct Resumption: Codable, Sendable, Equatable {
        package var token: String
        /// The last frame that came of each stream; streams of which none came are left out.
        package var received: [ReceivedFrame]?

        package init(token: String, received: [ReceivedFrame]? = nil) {
            self.token = token
            self.received = received
        }

        /// A spatial layer is 0 to 7, as in a frame's header (protocol document §4.1).
        package var hasLayerOutOfRange: Bool { received?.contains { !(0...7).contains($0.layer ?? 0) } ?? false }
    }

    package struct ReceivedFrame: Codable, Sendable, Equatable {
        package var stream: UInt32
        package var sequence: UInt32
        package var timestamp: UInt32
        /// The spatial layer that the frame is of; absent: 0.
        package var layer: Int?

        package init(stream: UInt32, sequence: UInt32, timestamp: UInt32, layer: Int? = nil) {
            self.layer = layer
            self.stream = stream
            self.sequence = sequence
            self.timestamp = timestamp
        }
    }

    /// What a receiver says of the streams it plays; counts are totals since it subscribed.
    package struct ReceiverReport: Codable, Sendable, Equatable {
        package var streams: [StreamReport]

        package init(streams: [StreamReport]) {
            self.streams = streams
        }
    }

    package struct StreamReport: Codable, Sendable, Equatable {
        package var stream: UInt32
        /// Frames that came, were played, were concealed because they were missing, and came too late to be played.
        package var received: UInt64?
        package var played: UInt64?
        package var concealed: UInt64?
        package var late: UInt64?
        /// What the jitter buffer holds, and the mean deviation of arrival, in milliseconds.
        package var bufferMilliseconds: Double?
        package var jitterMilliseconds: Double?
        /// Bits a second that arrived of the stream, over the last seconds.
        package var bitrate: Double?

        package init(stream: UInt32) {
            self.stream = stream
        }
    }
}

/// One encoding of a stream, or one spatial layer of it.
package struct StreamLayer: Codable, Sendable, Equatable {
    /// Temporal layers in this encoding, 1 to 8; absent: 1.
    package var temporalLayers: Int?
    package var width: Int?
    package var height: Int?
    package var frameRate: Double?
    /// Bits a second that the encoding aims for; absent: measured by the relay.
    package var bitrate: Double?

    package init(temporalLayers: Int? = nil, width: Int? = nil, height: Int? = nil, frameRate: Double? = nil, bitrate: Double? = nil) {
        self.temporalLayers = temporalLayers
        self.width = width
        self.height = height
        self.frameRate = frameRate
        self.bitrate = bitrate
    }
}

extension StreamLayer {
    /// The first member whose value no layer can have; `nil` when all that are given are possible.
    package var memberOutOfRange: String? {
        if let temporalLayers, !(1...StreamLayer.countMax).contains(temporalLayers) { return "temporalLayers" }
        if let width, !StreamLayer.pixelCounts.contains(width) { return "width" }
        if let height, !StreamLayer.pixelCounts.contains(height) { return "height" }
        if let frameRate, !(frameRate > 0 && frameRate <= StreamLayer.frameRateMax) { return "frameRate" }
        if let bitrate, !StreamLayer.bitrates.contains(bitrate) { return "bitrate" }
        return nil
    }
}

extension ClientRequest.Publish {
    /// What is wrong with the layers that are announced; `nil` when nothing is.
    package var layersFault: String? {
        guard let layers else { return nil }
        guard kind == .video, !layers.isEmpty, layers.count <= StreamLayer.countMax else { return "layers" }
        for (place, layer) in layers.enumerated() {
            if let member = layer.memberOutOfRange { return "layers[\(place)].\(member)" }
        }
        return nil
    }
}

extension ClientRequest.Subscribe {
    /// The first wish whose value makes no sense; `nil` when all that are given do.
    package var wishOutOfRange: String? {
        let layers = 0..<StreamLayer.countMax
        if let spatial = maxLayer?.spatial, !layers.contains(spatial) { return "maxLayer.spatial" }
        if let temporal = maxLayer?.temporal, !layers.contains(temporal) { return "maxLayer.temporal" }
        if let maxBitrate, !StreamLayer.bitrates.contains(maxBitrate) { return "maxBitrate" }
        if let maxDelay, !SignallingBounds.delayMilliseconds.contains(maxDelay) { return "maxDelay" }
        if let delay, !SignallingBounds.pinnedMilliseconds.contains(delay) { return "delay" }
        if let channels, !SignallingBounds.mixChannels.contains(channels) { return "channels" }
        // Named streams are given, whoever speaks.
        if let lastN, all != true || !SignallingBounds.lastN.contains(lastN) { return "lastN" }
        // A mix is of everybody: for some of the streams, or without one's own word on those to come, there is none.
        if delivery == .mixed, all != true { return "delivery" }
        return nil
    }
}

/// As in WebRTC's priorities (W3C webrtc-priority).
package enum StreamPriority: String, Codable, Sendable, CaseIterable {
    case veryLow = "very-low"
    case low
    case medium
    case high
}

/// The highest spatial and temporal layer; an absent member means all.
package struct LayerBound: Codable, Sendable, Equatable {
    package var spatial: Int?
    package var temporal: Int?

    package init(spatial: Int? = nil, temporal: Int? = nil) {
        self.spatial = spatial
        self.temporal = temporal
    }
}
