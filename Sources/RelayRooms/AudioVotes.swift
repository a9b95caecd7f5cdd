package import RelayBase

/// How many of a stream's subscribers on a loop can play what.
struct AudioVotes {
    private var channels = InlineArray<2, UInt32>(repeating: 0)
    private var bandwidths = InlineArray<5, UInt32>(repeating: 0)

    /// - Parameter bounds: `nil`: a subscriber that is silent.
    mutating func add(_ bounds: WantedFormat?) {
        guard let bounds else { return }
        channels[bounds.channels - 1] += 1
        bandwidths[bounds.bandwidth.number] += 1
    }

    mutating func remove(_ bounds: WantedFormat?) {
        guard let bounds else { return }
        precondition(channels[bounds.channels - 1] > 0 && bandwidths[bounds.bandwidth.number] > 0, "a subscriber left that was not counted")
        channels[bounds.channels - 1] -= 1
        bandwidths[bounds.bandwidth.number] -= 1
    }

    /// `nil`: nobody hears anything.
    var best: WantedFormat? {
        guard let most = (0..<2).last(where: { channels[$0] > 0 }), let widest = (0..<5).last(where: { bandwidths[$0] > 0 }) else { return nil }
        return WantedFormat(channels: most + 1, bandwidth: AudioBandwidth.allCases[widest])
    }
}

extension RoomFanout {
    /// Says what a subscriber's output can play; `nil`: nothing.
    package mutating func setAudioBounds(_ subscriber: Int, _ bounds: WantedFormat?) {
        let before = subscribers[subscriber].audioBounds
        guard bounds != before else { return }
        subscribers[subscriber].audioBounds = bounds
        for slot in subscribers[subscriber].interests.indices
        where isSubscribed(subscriber, StreamSlot(slot)) && !subscribers[subscriber].interests[slot].layer.isNone && streams[slot].lane == .audio {
            streams[slot].hearers.remove(before)
            streams[slot].hearers.add(bounds)
        }
    }

    /// The best that a stream's subscribers here can play; `nil`: none of them hears it.
    package func wantedAudio(_ slot: StreamSlot) -> WantedFormat? {
        streams.isLive(slot.index) ? streams[slot.index].hearers.best : nil
    }

    /// A subscriber of an audio stream begins or ceases to hear it.
    mutating func countHearer(_ subscriber: Int, _ slot: StreamSlot, before: LayerChoice, after: LayerChoice) {
        guard streams[slot.index].lane == .audio, before.isNone != after.isNone else { return }
        let bounds = subscribers[subscriber].audioBounds
        if after.isNone { streams[slot.index].hearers.remove(bounds) } else { streams[slot.index].hearers.add(bounds) }
    }
}
