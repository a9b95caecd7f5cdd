extension RelayMessage {
    /// Who speaks in a room.
    package struct Speakers: Codable, Sendable, Equatable {
        /// Loudest first; empty: nobody.
        package var speakers: [Speaker]

        package init(speakers: [Speaker]) {
            self.speakers = speakers
        }
    }

    package struct Speaker: Codable, Sendable, Equatable {
        package var participant: UInt32
        /// The stream of audio that it speaks in.
        package var stream: UInt32
        /// dBov: −127 to 0.
        package var level: Int

        package init(participant: UInt32, stream: UInt32, level: Int) {
            self.participant = participant
            self.stream = stream
            self.level = level
        }
    }

    /// Which streams of video a subscriber with `lastN` is forwarded.
    package struct StreamsForwarded: Codable, Sendable, Equatable {
        package var streams: [UInt32]

        package init(streams: [UInt32]) {
            self.streams = streams
        }
    }
}
