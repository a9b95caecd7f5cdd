/// Decoded sound that waits to be played, with some of what was played before it: what conceals and stretches looks back at.
///
/// Interleaved; counts are per channel. One block that is allocated once; what is alive slides to its front when the end is reached.
@safe
struct SampleQueue: ~Copyable {
    let channels: Int
    let historyMax: Int
    /// More than that never waits.
    let countMax: Int
    private let block: UnsafeMutableBufferPointer<Float>
    private var read: Int
    private var end: Int

    init(channels: Int, historyMax: Int, countMax: Int) {
        self.channels = channels
        self.historyMax = historyMax
        self.countMax = countMax
        unsafe block = UnsafeMutableBufferPointer.allocate(capacity: (historyMax + 2 * countMax) * channels)
        unsafe block.initialize(repeating: 0)
        read = historyMax
        end = historyMax
    }

    deinit {
        unsafe block.deallocate()
    }

    var count: Int { end - read }
    var room: Int { countMax - count }

    /// Room for `count` behind what waits; ``commit(_:)`` says how much was written.
    ///
    /// - Precondition: `count` is at most ``room``.
    @_lifetime(&self)
    mutating func reserve(_ count: Int) -> MutableSpan<Float> {
        precondition(count >= 0 && count <= room, "room in the queue of samples")
        if unsafe (end + count) * channels > block.count { slide() }
        return span(end, count)
    }

    mutating func commit(_ count: Int) {
        precondition(count >= 0 && count <= room, "room in the queue of samples")
        end += count
    }

    /// What waits, with room for `more` behind it; ``resize(to:)`` says how much there is then.
    @_lifetime(&self)
    mutating func waiting(more: Int = 0) -> MutableSpan<Float> {
        precondition(more >= 0 && more <= room, "room in the queue of samples")
        if unsafe (end + more) * channels > block.count { slide() }
        return span(read, count + more)
    }

    mutating func resize(to count: Int) {
        precondition(count >= 0 && count <= countMax, "room in the queue of samples")
        end = read + count
    }

    /// The last `count` samples of all that there is, played or not.
    @_lifetime(borrow self)
    func last(_ count: Int) -> Span<Float> {
        precondition(count >= 0 && count <= end, "as much as is kept")
        let span = unsafe Span(_unsafeElements: UnsafeBufferPointer(rebasing: block[(end - count) * channels..<end * channels]))
        return unsafe _overrideLifetime(span, borrowing: self)
    }

    /// Moves the first `count` out to `samples`, from place `offset` on.
    mutating func play(_ count: Int, into samples: inout MutableSpan<Float>, at offset: Int) {
        precondition(count >= 0 && count <= self.count && (offset + count) * channels <= samples.count, "samples that wait, and room for them")
        let from = read * channels
        let to = offset * channels
        for place in 0..<count * channels { samples[to + place] = unsafe block[from + place] }
        read += count
    }

    /// Silence was played.
    mutating func removeAll() {
        unsafe block.update(repeating: 0)
        read = historyMax
        end = historyMax
    }

    @_lifetime(&self)
    private mutating func span(_ start: Int, _ count: Int) -> MutableSpan<Float> {
        let pointer = unsafe UnsafeMutableBufferPointer(rebasing: block[start * channels..<(start + count) * channels])
        let span = unsafe MutableSpan(_unsafeElements: pointer)
        return unsafe _overrideLifetime(span, mutating: &self)
    }

    private mutating func slide() {
        let start = read - historyMax
        guard start > 0, let base = unsafe block.baseAddress else { return }
        unsafe base.update(from: base + start * channels, count: (end - start) * channels)
        read -= start
        end -= start
    }
}
