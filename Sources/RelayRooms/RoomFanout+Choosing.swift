package import RelayBase

extension RoomFanout {
    /// Begins streams for a subscriber, each with the layer that is chosen for it beside the streams that it has already; those change as they would at any look.
    ///
    /// - Parameters:
    ///   - new: none of them is subscribed to; may be empty.
    ///   - wishes: of the new ones.
    ///   - priority: of any stream.
    package mutating func subscribe(
        _ subscriber: Int, to new: [StreamSlot], _ wishes: LayerWishes, choosing chooser: inout LayerChooser, _ view: BandwidthView,
        now: MonotonicInstant, priority: (StreamSlot) -> Int
    ) {
        let video = new.filter { streams[$0.index].lane == .video }
        var choices: [LayerChoice] = []
        if hasLayers {
            let known = videoStreams(subscriber, priority: priority)
            let added = video.map { LayerChooser.Stream(slot: $0, priority: priority($0), wishes: wishes, ladder: streams[$0.index].ladder) }
            choices = chooser.look(known + added, view, reservedBitsPerSecond: reservedBitsPerSecond(subscriber), now: now)
            for (stream, choice) in zip(known, choices) { setLayerTarget(subscriber, stream.slot, choice, now: now) }
            choices.removeFirst(known.count)
        }
        for slot in new {
            let place = video.firstIndex(of: slot)
            let choice = place.flatMap { $0 < choices.count ? choices[$0] : nil } ?? LayerChoice(spatial: 0)
            subscribe(subscriber, slot, choice, now: now)
            setLayerWishes(subscriber, slot, wishes)
        }
    }

    /// What is wanted of a stream in the layers that it has.
    package func layers(_ wanted: LayerSet, of slot: StreamSlot) -> [LayerChoice] {
        (0..<LayerChoice.layersMax).compactMap { spatial in
            wanted[spatial].map { LayerChoice(spatial: spatial, temporal: min($0, highestTemporal(slot, spatial))) }
        }
    }
}
