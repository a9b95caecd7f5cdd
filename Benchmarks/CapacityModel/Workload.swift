/// Streams of one kind in a room: how many there are at a time, what they send, who gets them.
package struct StreamClass: Sendable, Equatable {
    package var name: String
    /// That send at a time.
    package var active: Double
    package var framesPerSecond: Double
    /// A whole message, its 16-byte header included.
    package var bytesPerFrame: Double
    /// Subscribers of each.
    package var receiversEach: Double

    package init(_ name: String, active: Double, framesPerSecond: Double, bytesPerFrame: Double, receiversEach: Double) {
        self.name = name
        self.active = active
        self.framesPerSecond = framesPerSecond
        self.bytesPerFrame = bytesPerFrame
        self.receiversEach = receiversEach
    }

    /// Opus at 57.6 kbit/s in frames of 20 ms: 144 bytes and the header.
    static func audio(active: Double, receiversEach: Double) -> StreamClass {
        StreamClass("audio", active: active, framesPerSecond: 50, bytesPerFrame: 160, receiversEach: receiversEach)
    }

    static func video(_ name: String, kilobitsPerSecond: Double, framesPerSecond: Double, active: Double, receiversEach: Double) -> StreamClass {
        StreamClass(
            name, active: active, framesPerSecond: framesPerSecond, bytesPerFrame: kilobitsPerSecond * 125 / framesPerSecond + 16,
            receiversEach: receiversEach)
    }
}

/// A room as people use it, or an audience that grows with what there is.
package struct Workload: Sendable, Equatable {
    package var name: String
    package var text: String
    /// Sessions in one room.
    package var members: Double
    package var streams: [StreamClass]
    /// One room that is as large as it can be: its listeners are counted, not rooms.
    package var isOneRoom = false

    package init(_ name: String, _ text: String, members: Double, streams: [StreamClass], isOneRoom: Bool = false) {
        self.name = name
        self.text = text
        self.members = members
        self.streams = streams
        self.isOneRoom = isOneRoom
    }

    /// Frames that publishers send in a second.
    package var framesIn: Double { streams.reduce(0) { $0 + $1.active * $1.framesPerSecond } }
    package var bytesIn: Double { streams.reduce(0) { $0 + $1.active * $1.framesPerSecond * $1.bytesPerFrame } }
    /// Frames that subscribers get in a second, all together.
    package var framesOut: Double { streams.reduce(0) { $0 + $1.active * $1.framesPerSecond * $1.receiversEach } }
    package var bytesOut: Double { streams.reduce(0) { $0 + $1.active * $1.framesPerSecond * $1.bytesPerFrame * $1.receiversEach } }

    /// The rooms of the sizing table.
    package static let all: [Workload] = [
        Workload("call", "two, both microphones open", members: 2, streams: [.audio(active: 2, receiversEach: 1)]),
        Workload("conference of 10", "all ten microphones open", members: 10, streams: [.audio(active: 10, receiversEach: 9)]),
        Workload("conference of 50", "four speak at a time, the silent send nothing", members: 50, streams: [.audio(active: 4, receiversEach: 49)]),
        Workload(
            "video grid of 9", "audio: two at a time; video of each in 1.2 Mbit/s and 150 kbit/s; everybody sees one large, seven small", members: 9,
            streams: [
                .audio(active: 2, receiversEach: 8),
                .video("large", kilobitsPerSecond: 1_200, framesPerSecond: 30, active: 9, receiversEach: 1),
                .video("small", kilobitsPerSecond: 150, framesPerSecond: 15, active: 9, receiversEach: 7),
            ]),
        .audience("talk", "one microphone, everybody else listens", [.audio(active: 1, receiversEach: 1)]),
        .audience(
            "webinar", "three microphones, one picture of 1.5 Mbit/s",
            [.audio(active: 3, receiversEach: 1), .video("picture", kilobitsPerSecond: 1_500, framesPerSecond: 30, active: 1, receiversEach: 1)]),
        Workload("idle", "connected, in a room, silent", members: 1, streams: []),
    ]

    /// One listener of a room whose publishers are counted apart: the unit that such a room grows by.
    static func audience(_ name: String, _ text: String, _ streams: [StreamClass]) -> Workload {
        Workload(name, text, members: 1, streams: streams, isOneRoom: true)
    }
}
