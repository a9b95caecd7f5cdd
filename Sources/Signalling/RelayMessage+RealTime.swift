extension RelayMessage {
    /// A subscriber's connection does not carry what is due to it, or carries it again.
    package struct Congestion: Codable, Sendable, Equatable {
        /// What the relay takes the connection to carry, bits a second; absent while it does not know.
        package var bitrate: Double?

        package init(bitrate: Double?) {
            self.bitrate = bitrate
        }
    }

    /// What the best subscribers of a stream want of it: nobody gets the layers that are not there.
    package struct LayersWanted: Codable, Sendable, Equatable {
        package var stream: UInt32
        /// Empty: nobody gets anything of the stream now.
        package var layers: [WantedLayer]

        package init(stream: UInt32, layers: [WantedLayer]) {
            self.stream = stream
            self.layers = layers
        }
    }

    package struct WantedLayer: Codable, Sendable, Equatable {
        package var spatial: Int
        /// The highest temporal layer that somebody gets.
        package var temporal: Int

        package init(spatial: Int, temporal: Int) {
            self.spatial = spatial
            self.temporal = temporal
        }
    }

    /// What a resumed session will never get of a stream.
    package struct StreamGap: Codable, Sendable, Equatable {
        package var stream: UInt32
        /// Frames between the last that came and the first that will.
        package var frames: UInt32
        /// Their media time.
        package var milliseconds: Double

        package init(stream: UInt32, frames: UInt32, milliseconds: Double) {
            self.stream = stream
            self.frames = frames
            self.milliseconds = milliseconds
        }
    }

    /// A publisher's stream as its receivers have it, over the reports of the last seconds.
    package struct StreamQuality: Codable, Sendable, Equatable {
        package var stream: UInt32
        /// Receivers that reported.
        package var receivers: Int
        /// Shares from 0 to 1 of what should have been played: over all receivers, and of the one that has it worst.
        package var concealedShare: Double
        package var concealedShareMax: Double
        package var lateShare: Double
        package var lateShareMax: Double
        package var bufferMilliseconds: Double?
        package var bufferMillisecondsMax: Double?
        package var jitterMillisecondsMax: Double?

        package init(
            stream: UInt32, receivers: Int, concealedShare: Double, concealedShareMax: Double, lateShare: Double, lateShareMax: Double,
            bufferMilliseconds: Double?, bufferMillisecondsMax: Double?, jitterMillisecondsMax: Double?
        ) {
            self.stream = stream
            self.receivers = receivers
            self.concealedShare = concealedShare
            self.concealedShareMax = concealedShareMax
            self.lateShare = lateShare
            self.lateShareMax = lateShareMax
            self.bufferMilliseconds = bufferMilliseconds
            self.bufferMillisecondsMax = bufferMillisecondsMax
            self.jitterMillisecondsMax = jitterMillisecondsMax
        }
    }

    /// Where a session stands again after it was resumed: as if it had never been away.
    package struct ResumedSession: Codable, Sendable, Equatable {
        /// Absent when the session was in no room.
        package var room: RoomEntry?
        /// The room whose lobby the session waits in.
        package var waiting: String?
        package var subscribed: [UInt32]
        package var published: [ResumedStream]
        package var gaps: [StreamGap]
        /// The audio session; absent: there is none.
        package var session: SessionState?
        /// The stream that has the mix; absent: it gets none.
        package var mix: MixInfo?

        package init(room: RoomEntry?, subscribed: [UInt32], published: [ResumedStream], gaps: [StreamGap]) {
            self.room = room
            self.subscribed = subscribed
            self.published = published
            self.gaps = gaps
        }
    }

    package struct ResumedStream: Codable, Sendable, Equatable {
        package var stream: UInt32
        /// The spatial layer; absent: the stream has only one. A stream in layers has an entry for each.
        package var layer: Int?
        /// The last frame of it that the relay has; absent: none.
        package var sequence: UInt32?

        package init(stream: UInt32, layer: Int? = nil, sequence: UInt32?) {
            self.stream = stream
            self.layer = layer
            self.sequence = sequence
        }
    }
}
