import MediaProtocol
package import RelayBase

/// How much media of a stream a subscriber was given, by the timestamps of the frames: each plays until the next one begins.
///
/// What was dropped, and what was never sent, is not among it: across a gap only the frame before it counts, for as long as its neighbours.
struct PlayedMedia {
    /// Longer steps are gaps, in which nothing plays.
    static let gapMilliseconds: UInt64 = 500

    /// 0: nobody asked for it.
    private(set) var ticksPerSecond: UInt32 = 0
    private var ticks: UInt64 = 0
    /// Of the last frame, as long as it is taken to play.
    private var frameTicks: UInt32 = 0
    private var timestamp: UInt32?
    /// When the last frame was given; `nil`: none since the stream began or went on.
    private(set) var givenAt: MonotonicInstant?

    var isCounted: Bool { ticksPerSecond > 0 }
    var seconds: Double { ticksPerSecond > 0 ? Double(ticks &+ UInt64(frameTicks)) / Double(ticksPerSecond) : 0 }

    init() {}

    /// - Parameter givenAt: when the last frame before that was given.
    init(ticksPerSecond: UInt32, givenAt: MonotonicInstant?) {
        precondition(ticksPerSecond > 0, "a timescale")
        self.ticksPerSecond = ticksPerSecond
        self.givenAt = givenAt
    }

    mutating func give(_ header: MediaHeader, now: MonotonicInstant) {
        givenAt = now
        guard let last = timestamp, last != header.timestamp else {
            // The same time: another layer of the picture.
            timestamp = header.timestamp
            return
        }
        timestamp = header.timestamp
        let step = header.timestamp &- last
        let isNeighbour = UInt64(step) * 1_000 <= UInt64(ticksPerSecond) * PlayedMedia.gapMilliseconds
        if isNeighbour, !header.flags.contains(.discontinuity) {
            ticks &+= UInt64(step)
            frameTicks = step
        } else {
            ticks &+= UInt64(frameTicks)
            frameTicks = 0
        }
    }

    /// What comes next does not follow what came last.
    mutating func breakOff() {
        ticks &+= UInt64(frameTicks)
        frameTicks = 0
        timestamp = nil
    }

    /// Nothing more is given until the stream goes on.
    mutating func stop() {
        breakOff()
        givenAt = nil
    }

    /// It was not held, but only emptied: it flows as it did.
    mutating func goOn(from before: PlayedMedia) { givenAt = before.givenAt }

    /// Whether media flows: without a frame for ``gapMilliseconds`` the stream waits.
    func isFlowing(_ now: MonotonicInstant) -> Bool {
        givenAt.map { now.milliseconds(since: $0) <= PlayedMedia.gapMilliseconds } ?? false
    }
}

extension RoomFanout {
    /// Counts from here on what a subscriber is given of a stream. It costs that lane of that subscriber the copying of many frames as one.
    ///
    /// - Parameter ticksPerSecond: of the stream's timestamps, more than 0.
    package mutating func countPlayed(_ subscriber: Int, _ slot: StreamSlot, ticksPerSecond: UInt32, now: MonotonicInstant) {
        guard isSubscribed(subscriber, slot), !subscribers[subscriber].interests[slot.index].played.isCounted else { return }
        var last: MonotonicInstant?
        if !subscribers[subscriber].interests[slot.index].isHeld {
            let choice = subscribers[subscriber].interests[slot.index].layer
            if !choice.isNone { last = streams[slot.index].layers[choice.spatial].meter.lastArrival }
        }
        subscribers[subscriber].interests[slot.index].played = PlayedMedia(ticksPerSecond: ticksPerSecond, givenAt: last)
        subscribers[subscriber][streams[slot.index].lane].countedStreams += 1
    }

    /// What a subscriber was given of a stream since ``countPlayed(_:_:ticksPerSecond:now:)``: seconds of media, and whether more of it comes.
    package func played(_ subscriber: Int, _ slot: StreamSlot, now: MonotonicInstant) -> (seconds: Double, isFlowing: Bool) {
        guard isSubscribed(subscriber, slot) else { return (0, false) }
        let played = subscribers[subscriber].interests[slot.index].played
        return (played.seconds, played.isFlowing(now))
    }

    /// An entry of the log is given to a subscriber.
    mutating func countGiven(_ subscriber: Int, _ lane: Lane, _ entry: LaneEntry, _ now: MonotonicInstant) {
        guard subscribers[subscriber].interests[entry.slot.index].played.isCounted, !entry.traits.contains(.configuration) else { return }
        let frame = unsafe MessageFraming.payload(ofMessage: self[lane].bytes(at: entry.offset, count: entry.byteCount))
        guard let header = try? unsafe MediaHeader(parsing: frame) else { return }
        subscribers[subscriber].interests[entry.slot.index].played.give(header, now: now)
    }

    /// The first message of what a late joiner is owed is given to a subscriber.
    mutating func countGivenPrelude(_ subscriber: Int, _ lane: Lane, _ now: MonotonicInstant) {
        let frame = unsafe MessageFraming.payload(ofMessage: subscribers[subscriber][lane].prelude.readable)
        guard let header = try? unsafe MediaHeader(parsing: frame), header.kind != .configuration else { return }
        for slot in subscribers[subscriber].interests.indices
        where subscribers[subscriber].interests[slot].played.isCounted && streams[slot].id == header.stream.rawValue {
            subscribers[subscriber].interests[slot].played.give(header, now: now)
            return
        }
    }
}
