// libFuzzer target for streams of an audio session: any order of intentions, frames and parameters leaves every frame accounted exactly once, and what
// plays is what the transport says. Compiled in one module with the sources of RelayBase and AudioSession.
//
// Input: the first byte is the watermark, then one byte for each step, with what the step takes from the bytes behind it.

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzStreams(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var bytes = unsafe UnsafeBufferPointer(start: start, count: count)[...]
    func next() -> UInt8 { unsafe bytes.popFirst() ?? 0 }
    var transport = StreamTransport(watermarkMilliseconds: Double(next() % 4) * 20)
    var queue = FrameQueue(framesMax: 8, bufferBytes: 4, frameBytesMax: 64, ticksPerSecond: 48_000)
    var parameters = StreamParameters()
    var isOpen = false
    var actions: [TransportAction] = []
    while unsafe !bytes.isEmpty {
        let step = next()
        switch step % 16 {
        case 0: _ = transport.intend(.start(at: nil))
        case 1: _ = transport.intend(.start(at: UInt32(next())))
        case 2: _ = transport.intend(.prime)
        case 3: _ = transport.intend(.pause)
        case 4: _ = transport.intend(.stopImmediately)
        case 5: _ = transport.intend(.stopDraining)
        case 6: _ = transport.intend(.flush)
        case 7: _ = transport.intend(.reset)
        case 8...11 where isOpen:
            let frame = [UInt8](repeating: step, count: Int(next()) % 80)
            let volume = Float(bitPattern: UInt32(step) << 23)
            let change = try? ParameterChange(volume: volume, rampMilliseconds: Double(step))
            let outcome = unsafe frame.withUnsafeBytes {
                unsafe queue.append(RawSpan(_unsafeBytes: $0), QueuedFrame(timestamp: 0, duration: 960, parameters: change))
            }
            precondition((outcome == .tooLarge) == (frame.count > 64))
        case 12...14 where transport.state == .playing:
            if let change = queue.next?.parameters { parameters.apply(change, sampleRate: 48_000) }
            precondition(queue.nextBytes.byteCount <= 64)
            queue.finishNext()
        default: break
        }
        actions.removeAll(keepingCapacity: true)
        transport.advance(queue.level, into: &actions)
        for action in actions {
            switch action {
            case .open: isOpen = true
            case .close: isOpen = false
            case .drop: queue.dropAll()
            case .run, .hold, .resetDecoder, .primed, .state: break
            }
        }
        check(transport, queue, isOpen)
    }
    precondition((0...1).contains(parameters.gain))
    return 0
}

private func check(_ transport: StreamTransport, _ queue: borrowing FrameQueue, _ isOpen: Bool) {
    let level = queue.level
    precondition(level.tail - level.head == level.frames && level.frames <= 8, "every frame is accounted once")
    precondition(queue.isEmpty == (level.milliseconds == 0))
    if transport.state == .stopped { precondition(queue.isEmpty && !isOpen, "nothing is left of what was stopped") }
}
