/// A machine that runs a relay.
package struct NodeShape: Sendable, Equatable {
    /// Each with a loop of its own.
    package var cores: Double
    package var memoryGiB: Double
    package var egressGigabitsPerSecond: Double

    package init(cores: Double, memoryGiB: Double, egressGigabitsPerSecond: Double) {
        self.cores = cores
        self.memoryGiB = memoryGiB
        self.egressGigabitsPerSecond = egressGigabitsPerSecond
    }

    /// Of the sizing table.
    package static let core = NodeShape(cores: 1, memoryGiB: 2, egressGigabitsPerSecond: 10)
    package static let node = NodeShape(cores: 8, memoryGiB: 16, egressGigabitsPerSecond: 10)
}

/// What the model takes as given. Each is stated beside the table.
package enum Assumption {
    /// Of a core's time; beyond, queues grow long. From this share on a loop holds frames for as long as it may.
    package static let busyShareMax = 0.75
    /// Of memory: the rest is for bursts, the system and page cache.
    package static let memoryShareMax = 0.75
    /// Of the network.
    package static let egressShareMax = 0.75
    /// A client stays that long on average, then another comes, with a whole handshake.
    package static let staySeconds = 600.0
    /// What the kernel holds for a connection whose client reads: socket, epoll entry, small buffers.
    package static let kernelBytesPerConnection = 8_192.0
    /// Each lane of a room that is used keeps that much for sessions that come back, on each loop with members (`replayBytesMax`).
    package static let logBytesPerLane = 262_144.0
    /// Of each video stream a group of pictures is kept for those who join.
    package static let groupOfPicturesSeconds = 2.0
    /// Payload of a TCP segment on an Ethernet with 1,500 bytes, with timestamps.
    package static let segmentBytes = 1_448.0
    /// IPv4, TCP with timestamps, Ethernet with preamble and gap.
    package static let bytesPerPacket = 90.0
    /// WebSocket's header; of frames from 64 KiB on it is longer.
    package static let bytesPerMessage = 4.0
    /// TLS 1.3: header, content type, tag.
    package static let bytesPerRecord = 22.0
    package static let recordBytesMax = 16_384.0

    package static let text = [
        "Cores, memory and network are filled to 75 %. A core is one like that of the machine that the figures were measured on.",
        "Clients stay for ten minutes on average; who comes makes a whole handshake with certificates on both sides.",
        "Audio: Opus, 50 frames a second of 160 bytes with header (57.6 kbit/s). Each frame of a publisher comes by itself.",
        "A busy loop holds frames for `flushHoldMicroseconds`, and what is due to a receiver meanwhile goes in one send.",
        "Members of a room are spread evenly over a node's loops. A frame crosses to each other loop with a subscriber.",
        "Sends cost as much as on the loopback, where the receiver's side of TCP is in the figure; network cards and links take no more.",
        "Memory: the session, 8 KiB in the kernel, 256 KiB per lane and loop of a room with media, 2 s of each video stream.",
        "Rooms smaller than a node stay on one node. One room over many nodes: each node gets each stream once, and the first sends it on to all the others, which costs like one more subscriber and, there, like one more publisher. Segue does not do that yet: this row is what it would cost.",
    ]
}
