/// What writes into the queue's room, apart from the buffer: a span into one of its parts must not live while another part is touched.
enum QueueKernels {
    /// - Parameter room: samples per channel to reserve: at least 120 ms.
    /// - Returns: what was made of the oldest packet, not yet committed.
    static func decode<Decoder: JitterDecoder & ~Copyable>(
        _ store: borrowing PacketStore, by decoder: inout Decoder, into queue: inout SampleQueue, room: Int, countMax: Int
    ) -> Int {
        var samples = queue.reserve(room)
        return min(decoder.decode(store.payload(0), into: &samples), countMax)
    }

    static func decodeRedundancy<Decoder: JitterDecoder & ~Copyable>(
        _ store: borrowing PacketStore, by decoder: inout Decoder, count: Int, into queue: inout SampleQueue, room: Int, countMax: Int
    ) -> Int {
        var samples = queue.reserve(room)
        return min(decoder.decodeRedundancy(of: store.payload(0), sampleCount: count, into: &samples), countMax)
    }

    /// Commits `count` samples per channel that were decoded, joined to the concealment before them.
    static func commit(_ count: Int, joinedTo expansion: inout ExpandConcealment, in queue: inout SampleQueue, room: Int) {
        guard expansion.isConcealing else { return queue.commit(count) }
        var samples = queue.reserve(room)
        let merged = expansion.merge(&samples, count: count)
        queue.commit(count + merged)
    }

    /// The concealment goes on from what was played last.
    static func begin(_ expansion: inout ExpandConcealment, after queue: borrowing SampleQueue) {
        guard !expansion.isConcealing else { return }
        var none = MutableSpan<Float>()
        expansion.conceal(history: queue.last(expansion.historyCount), count: 0, into: &none)
    }

    static func conceal<Decoder: JitterDecoder & ~Copyable>(
        _ count: Int, by decoder: inout Decoder, into queue: inout SampleQueue, room: Int
    ) -> Int {
        var samples = queue.reserve(room)
        return min(decoder.conceal(sampleCount: count, into: &samples), room)
    }

    /// - Parameter noise: added, where there may be any.
    static func conceal(
        _ count: Int, by expansion: inout ExpandConcealment, over noise: inout ComfortNoise, isNoisy: Bool, into queue: inout SampleQueue, room: Int
    ) {
        begin(&expansion, after: queue)
        var samples = queue.reserve(room)
        expansion.conceal(history: Span(), count: count, into: &samples)
        if isNoisy { noise.add(to: &samples, count: count) }
    }

    static func generate(_ count: Int, by noise: inout ComfortNoise, into queue: inout SampleQueue, room: Int) {
        var samples = queue.reserve(room)
        noise.generate(into: &samples, count: count)
    }

    static func silence(_ count: Int, into queue: inout SampleQueue) {
        let all = count * queue.channels
        var samples = queue.reserve(count)
        for place in 0..<all { samples[place] = 0 }
        queue.commit(count)
    }

    /// The first `count` samples per channel that wait come in from silence.
    static func fadeIn(_ queue: inout SampleQueue, count: Int) {
        let channels = queue.channels
        var samples = queue.waiting()
        for place in 0..<count * channels { samples[place] *= Crossfade.weight(place / channels, of: count) }
    }

    static func isQuiet(_ count: Int, behind queue: inout SampleQueue, power: Float) -> Bool {
        let first = queue.count * queue.channels
        let all = count * queue.channels
        let samples = queue.waiting(more: count)
        return StretchKernels.energy(samples.span, first, count: all) < power * Float(all)
    }

    static func accelerate(_ queue: inout SampleQueue, by stretch: inout TimeStretch, isFast: Bool, most: Int) -> Int {
        let count = queue.count
        var samples = queue.waiting()
        let removed = stretch.accelerate(&samples, count: count, isFast: isFast, removingAtMost: most)
        queue.resize(to: count - removed)
        return removed
    }

    static func expand(_ queue: inout SampleQueue, by stretch: inout TimeStretch, most: Int) -> Int {
        let count = queue.count
        let room = stretch.insertedMax
        var samples = queue.waiting(more: room)
        let inserted = stretch.preemptiveExpand(&samples, count: count, insertingAtMost: most)
        queue.resize(to: count + inserted)
        return inserted
    }
}
