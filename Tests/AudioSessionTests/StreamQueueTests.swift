import AudioSession
import RelayBase
import Testing

@Suite("Frame queue")
struct StreamQueueTests {
    private static func queue(framesMax: Int = 8, bufferBytes: Int = 16) -> FrameQueue {
        FrameQueue(framesMax: framesMax, bufferBytes: bufferBytes, frameBytesMax: 64, ticksPerSecond: 48_000)
    }

    private static func append(_ queue: inout FrameQueue, _ number: Int, bytes: Int = 8, parameters: ParameterChange? = nil) -> FrameQueue.Outcome {
        let content = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: bytes)
        return unsafe queue.append(content.span.bytes, QueuedFrame(timestamp: UInt32(number) * 960, duration: 960, parameters: parameters))
    }

    private static func bytes(_ queue: borrowing FrameQueue) -> [UInt8] {
        let span = queue.nextBytes
        return (0..<span.byteCount).map { unsafe span.unsafeLoad(fromByteOffset: $0, as: UInt8.self) }
    }

    @Test("§6 frames go out as they came in, each returned once")
    func order() {
        var queue = Self.queue()
        for number in 1...5 { #expect(Self.append(&queue, number, bytes: number) == .queued) }
        #expect(queue.level == QueueLevel(head: 0, tail: 5, milliseconds: 100))
        for number in 1...3 {
            #expect(queue.next?.timestamp == UInt32(number) * 960)
            #expect(Self.bytes(queue) == [UInt8](repeating: UInt8(number), count: number))
            #expect(queue.finishNext() == true)
        }
        #expect(queue.dropAll() == 2)
        #expect(queue.dropAll() == 0)
        #expect(queue.finishNext() == false)
        #expect(queue.next == nil && Self.bytes(queue).isEmpty)
        #expect(queue.returns == FrameReturns(entered: 5, played: 3, dropped: 2))
        #expect(queue.level == QueueLevel(head: 5, tail: 5, milliseconds: 0))
    }

    @Test("§6 the queue is bounded: a frame too many or too long is not taken, and not counted")
    func bounds() {
        var queue = Self.queue(framesMax: 3)
        #expect(Self.append(&queue, 0, bytes: 65) == .tooLarge)
        for number in 0..<3 { #expect(Self.append(&queue, number, bytes: number == 1 ? 0 : 64) == .queued) }
        #expect(Self.append(&queue, 3) == .full)
        #expect(queue.returns.entered == 3)
    }

    @Test("§6 buffers are pooled, at least three: up to three frames at once take no memory, and in steady use nothing is allocated")
    func pooled() {
        var queue = Self.queue(framesMax: 64)
        for number in 0..<1_000 {
            for frame in 0..<3 { #expect(Self.append(&queue, number + frame) == .queued) }
            for _ in 0..<3 { queue.finishNext() }
        }
        #expect(queue.poolGrowth == 0)
        for number in 0..<10 { #expect(Self.append(&queue, number, bytes: 40) == .queued) }
        let grown = queue.poolGrowth
        #expect(grown > 0)
        queue.dropAll()
        for number in 0..<1_000 {
            for frame in 0..<10 { #expect(Self.append(&queue, number + frame, bytes: 40) == .queued) }
            for _ in 0..<10 { queue.finishNext() }
        }
        #expect(queue.poolGrowth <= grown + 3, "steady use: only the first buffers may still have been short")
        let settled = queue.poolGrowth
        for number in 0..<1_000 {
            #expect(Self.append(&queue, number, bytes: number % 41) == .queued)
            queue.finishNext()
        }
        #expect(queue.poolGrowth == settled)
    }

    @Test("§6 parameters that come with a frame take effect when that frame plays, those of the stream at once")
    func parametersPerFrame() throws {
        var queue = Self.queue()
        var parameters = StreamParameters()
        for number in 0..<3 {
            let change = number == 1 ? try ParameterChange(volume: 0.5, rate: 2) : nil
            #expect(Self.append(&queue, number, bytes: 4, parameters: change) == .queued)
        }
        var volumes: [Float] = []
        while let frame = queue.next {
            if let change = frame.parameters { parameters.apply(change, sampleRate: 48_000) }
            volumes.append(parameters.gain)
            queue.finishNext()
        }
        #expect(volumes == [1, 0.5, 0.5])
        #expect(parameters.rate == 2)
        parameters.apply(try ParameterChange(pan: -1), sampleRate: 48_000)
        #expect(parameters.pan == -1 && parameters.volume == 0.5 && parameters.rate == 2, "what is not said stays")
    }
}
