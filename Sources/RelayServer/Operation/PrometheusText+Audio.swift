/// What the relay does with sound itself: paced and mixed delivery.
extension PrometheusText {
    mutating func audio(_ workers: [AudioSnapshot]) {
        var counters = AudioCounters()
        var totals = BufferTotals()
        var buffers: [String: UInt64] = ["paced": 0, "mixed": 0]
        var mixes = 0
        var listeners = 0
        for worker in workers {
            counters.add(worker.counters)
            totals.add(worker.totals)
            let paced = worker.pacedBuffers
            buffers["paced", default: 0] += UInt64(paced)
            buffers["mixed", default: 0] += UInt64(worker.buffers.count - paced)
            mixes += worker.mixes
            listeners += worker.mixOutputs
        }
        byLabel("segue_audio_buffers", "gauge", "Jitter buffers of streams, by what they are for.", "delivery", buffers)
        single("segue_audio_mixes", "gauge", "Rooms that are mixed.", Double(mixes))
        single("segue_audio_mix_listeners", "gauge", "Sessions that get a mix.", Double(listeners))
        single("segue_audio_frames_received_total", "counter", "Frames that came to jitter buffers.", Double(counters.framesReceived))
        byLabel(
            "segue_audio_frames_refused_total", "counter", "Frames that did not go into one.", "reason",
            ["flood": counters.framesRefused, "encrypted": counters.framesEncrypted])
        byLabel(
            "segue_audio_packets_total", "counter", "What became of packets in jitter buffers.", "outcome",
            [
                "stored": totals.inserted &- totals.late &- totals.duplicates &- totals.malformed, "late": totals.late,
                "duplicate": totals.duplicates, "malformed": totals.malformed,
                "discarded": totals.discarded,
            ])
        single("segue_audio_frames_released_total", "counter", "Frames that paced delivery gave out.", Double(counters.framesReleased))
        single("segue_audio_frames_lost_total", "counter", "Frames that found the ring to a loop full.", Double(counters.framesLost))
        byLabel(
            "segue_audio_samples_total", "counter", "Samples that were played from jitter buffers, and of those what was made or taken away.", "kind",
            [
                "played": totals.samplesPlayed, "concealed": totals.concealedSamples, "accelerated": totals.removedByAccelerate,
                "expanded": totals.insertedByExpand,
            ])
        single("segue_audio_concealments_total", "counter", "Times that a jitter buffer began to conceal.", Double(totals.concealmentEvents))
        single("segue_audio_interruptions_total", "counter", "Concealments of 150 ms and more.", Double(totals.interruptions))
        single(
            "segue_audio_gains_refused_total", "counter", "Gains of listeners that were not given because mixPersonalMax others have some.",
            Double(counters.gainsRefused))
        single("segue_audio_encodes_total", "counter", "Frames that were encoded.", Double(counters.encodes))
        single("segue_audio_ticks_total", "counter", "Ticks of mixes and of buffers that conceal.", Double(counters.ticks))
        single(
            "segue_audio_deadline_misses_total", "counter", "Of those, ticks that began more than a tick too late.", Double(counters.deadlineMisses))
        single(
            "segue_audio_ticks_shed_total", "counter", "Ticks that were left out because a worker was too far behind.", Double(counters.ticksShed))
        single(
            "segue_audio_busy_seconds_total", "counter", "Time that the threads for sound spent working.", Double(counters.busyNanoseconds) / 1e9)
    }
}
