/// What is known of a queued frame beside its bytes.
package struct QueuedFrame: Sendable, Equatable {
    /// Media time, in units of the stream's timescale.
    package var timestamp: UInt32
    /// How long it plays, in the same units.
    package var duration: UInt32
    /// Takes effect when the frame plays.
    package var parameters: ParameterChange?

    package init(timestamp: UInt32, duration: UInt32, parameters: ParameterChange? = nil) {
        self.timestamp = timestamp
        self.duration = duration
        self.parameters = parameters
    }
}

/// What became of a queue's frames. Each that entered ends in exactly one of the other two: `entered − played − dropped` are queued.
package struct FrameReturns: Sendable, Equatable {
    package var entered: UInt64 = 0
    package var played: UInt64 = 0
    package var dropped: UInt64 = 0

    package init(entered: UInt64 = 0, played: UInt64 = 0, dropped: UInt64 = 0) {
        self.entered = entered
        self.played = played
        self.dropped = dropped
    }
}

/// A stream's frames between those who bring and those who play them: a bounded queue over buffers that belong to the stream and are used again.
///
/// One thread brings and plays, as with everything that a loop owns. The pool has at least three buffers and grows while it has to, up to one for each
/// frame that may be queued; from then on nothing is allocated.
@safe
package struct FrameQueue: ~Copyable {
    package static let buffersMin = 3

    package enum Outcome: Sendable, Equatable {
        case queued
        /// As many frames are queued as may be: the frame is the caller's still.
        case full
        /// The frame has more bytes than a buffer may have.
        case tooLarge
    }

    private struct Place {
        var frame: QueuedFrame
        var buffer: Int
        var byteCount: Int
    }

    package let framesMax: Int
    package let frameBytesMax: Int
    package let ticksPerSecond: UInt32
    package private(set) var returns = FrameReturns()
    /// How often memory was taken for the pool, the first three buffers not counted.
    package private(set) var poolGrowth = 0

    private var buffers: [UnsafeMutableRawBufferPointer]
    private var free: [Int] = []
    private var places: [Place]
    private var first = 0
    private var count = 0
    private var queuedTicks: UInt64 = 0

    /// - Parameters:
    ///   - framesMax: at least ``buffersMin``.
    ///   - bufferBytes: what a buffer has at first; it grows when a frame is longer.
    ///   - ticksPerSecond: of the stream's timestamps.
    package init(framesMax: Int, bufferBytes: Int, frameBytesMax: Int, ticksPerSecond: UInt32) {
        precondition(framesMax >= FrameQueue.buffersMin && bufferBytes > 0 && bufferBytes <= frameBytesMax && ticksPerSecond > 0, "a queue's bounds")
        self.framesMax = framesMax
        self.frameBytesMax = frameBytesMax
        self.ticksPerSecond = ticksPerSecond
        let empty = Place(frame: QueuedFrame(timestamp: 0, duration: 0), buffer: 0, byteCount: 0)
        places = Array(repeating: empty, count: framesMax)
        unsafe buffers = []
        unsafe buffers.reserveCapacity(framesMax)
        free.reserveCapacity(framesMax)
        for index in 0..<FrameQueue.buffersMin {
            unsafe buffers.append(.allocate(byteCount: bufferBytes, alignment: 16))
            free.append(index)
        }
    }

    deinit {
        for index in unsafe buffers.indices { unsafe buffers[index].deallocate() }
    }

    package var isEmpty: Bool { count == 0 }

    package var level: QueueLevel {
        QueueLevel(
            head: returns.played &+ returns.dropped, tail: returns.entered,
            milliseconds: Double(queuedTicks) * 1_000 / Double(ticksPerSecond))
    }

    /// Copies a frame in.
    package mutating func append(_ bytes: RawSpan, _ frame: QueuedFrame) -> Outcome {
        guard bytes.byteCount <= frameBytesMax else { return .tooLarge }
        guard count < framesMax else { return .full }
        let buffer = takeBuffer(for: bytes.byteCount)
        unsafe bytes.withUnsafeBytes { unsafe buffers[buffer].copyMemory(from: $0) }
        places[(first + count) % framesMax] = Place(frame: frame, buffer: buffer, byteCount: bytes.byteCount)
        count += 1
        queuedTicks += UInt64(frame.duration)
        returns.entered &+= 1
        return .queued
    }

    /// The frame that plays next.
    package var next: QueuedFrame? { count > 0 ? places[first].frame : nil }

    /// The bytes of ``next``; none when the queue is empty.
    package var nextBytes: RawSpan {
        @_lifetime(borrow self)
        get {
            let place = places[first]
            let bytes = unsafe UnsafeRawBufferPointer(rebasing: buffers[place.buffer][..<(count > 0 ? place.byteCount : 0)])
            let span = unsafe RawSpan(_unsafeBytes: bytes)
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// ``next`` was played: its buffer is free again. Answers false when there was none.
    @discardableResult
    package mutating func finishNext() -> Bool {
        guard removeNext() else { return false }
        returns.played &+= 1
        return true
    }

    /// Drops everything that is queued, each frame counted once. Answers how many.
    @discardableResult
    package mutating func dropAll() -> Int {
        let dropped = count
        while removeNext() { returns.dropped &+= 1 }
        return dropped
    }

    private mutating func removeNext() -> Bool {
        guard count > 0 else { return false }
        let place = places[first]
        free.append(place.buffer)
        queuedTicks -= UInt64(place.frame.duration)
        first = (first + 1) % framesMax
        count -= 1
        return true
    }

    private mutating func takeBuffer(for byteCount: Int) -> Int {
        guard let buffer = free.popLast() else {
            // As many buffers as places at most: each place that is taken holds one, and one place is free.
            let size = unsafe max(byteCount, buffers[0].count)
            unsafe buffers.append(.allocate(byteCount: size, alignment: 16))
            poolGrowth += 1
            return unsafe buffers.count - 1
        }
        if unsafe buffers[buffer].count < byteCount {
            let size = unsafe min(max(byteCount, buffers[buffer].count * 2), frameBytesMax)
            unsafe buffers[buffer].deallocate()
            unsafe buffers[buffer] = .allocate(byteCount: size, alignment: 16)
            poolGrowth += 1
        }
        return buffer
    }
}
