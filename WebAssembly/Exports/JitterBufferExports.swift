import MediaProtocol
import RelayBase

// The audio buffer's C interface. A handle is the address of a buffer that was created and not yet destroyed. Times are microseconds on any clock that does not go
// back, as numbers that JavaScript has. Nothing allocates but `create`.

private typealias RawJitterBuffer = AudioJitterBuffer<RawSampleDecoder>

private func buffer(_ handle: UnsafeMutableRawPointer) -> UnsafeMutablePointer<RawJitterBuffer> {
    unsafe handle.assumingMemoryBound(to: RawJitterBuffer.self)
}

/// Of what is no time, the beginning.
func instant(_ microseconds: Double) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: microseconds >= 0 && microseconds < 9e15 ? UInt64(microseconds) &* 1_000 : 0)
}

/// - Parameters:
///   - profile: 0 low latency, 1 balanced, 2 smooth.
///   - format: 0 Int16, 1 Float32.
/// - Returns: a handle; `nil` when a value is out of range.
@_expose(wasm, "segue_jitter_create")
@_cdecl("segue_jitter_create")
public func jitterCreate(sampleRate: Int32, channels: Int32, timescale: Int32, profile: Int32, format: Int32) -> UnsafeMutableRawPointer? {
    guard (8_000...48_000).contains(sampleRate), (1...2).contains(channels), timescale > 0, (0...2).contains(profile),
        let format = RawSampleDecoder.Format(rawValue: format), let profile = JitterProfile(rawValue: UInt8(profile))
    else { return nil }
    var configuration = JitterConfiguration()
    configuration.sampleRate = Int(sampleRate)
    configuration.channels = Int(channels)
    configuration.timescale = Int(timescale)
    configuration.profile = profile
    // Samples take more room than what a codec makes of them: five seconds.
    configuration.bytesMax = Int(sampleRate) * Int(channels) * 5 * (format == .int16 ? 2 : 4)
    let place = UnsafeMutablePointer<RawJitterBuffer>.allocate(capacity: 1)
    unsafe place.initialize(
        to: AudioJitterBuffer(
            configuration, decoder: RawSampleDecoder(sampleRate: Int(sampleRate), channels: Int(channels), format: format)))
    return UnsafeMutableRawPointer(place)
}

@_expose(wasm, "segue_jitter_destroy")
@_cdecl("segue_jitter_destroy")
public func jitterDestroy(_ handle: UnsafeMutableRawPointer) {
    unsafe buffer(handle).deinitialize(count: 1)
    unsafe buffer(handle).deallocate()
}

/// - Parameter pinnedDelay: milliseconds; below 0: none.
@_expose(wasm, "segue_jitter_configure")
@_cdecl("segue_jitter_configure")
public func jitterConfigure(
    _ handle: UnsafeMutableRawPointer, profile: Int32, delayMin: Int32, delayMax: Int32, pinnedDelay: Int32, isMeasurement: Int32
) {
    var configuration = unsafe buffer(handle).pointee.configuration
    configuration.profile = JitterProfile(rawValue: UInt8(clamping: profile)) ?? configuration.profile
    configuration.delayMillisecondsMin = Int(max(delayMin, 0))
    configuration.delayMillisecondsMax = Int(max(delayMax, 0))
    configuration.pinnedDelayMilliseconds = pinnedDelay < 0 ? nil : Int(pinnedDelay)
    configuration.isMeasurement = isMeasurement != 0
    unsafe buffer(handle).pointee.configure(configuration)
}

/// - Parameter flags: of the media frame (``MediaFlags``); *discontinuity* and *silence* matter.
/// - Returns: 0 stored, 1 duplicate, 2 late, 3 malformed, 4 stored while the oldest went.
@_expose(wasm, "segue_jitter_insert")
@_cdecl("segue_jitter_insert")
public func jitterInsert(
    _ handle: UnsafeMutableRawPointer, sequence: UInt32, timestamp: UInt32, flags: UInt32, payload: UnsafeRawPointer, byteCount: Int32,
    now: Double
) -> Int32 {
    let flags = MediaFlags(rawValue: UInt8(truncatingIfNeeded: flags))
    let packet = JitterPacket(
        sequence: sequence, timestamp: timestamp, isDiscontinuity: flags.contains(.discontinuity), isSilence: flags.contains(.silence))
    let bytes = unsafe RawSpan(_unsafeStart: payload, byteCount: Int(max(byteCount, 0)))
    return unsafe buffer(handle).pointee.insert(packet, payload: bytes, now: instant(now)).code
}

/// - Parameter samples: room for 10 ms, which are written.
/// - Returns: the decision (the order of ``PlayoutDecision``), and 256 more when a packet is to be heard.
@_expose(wasm, "segue_jitter_pull")
@_cdecl("segue_jitter_pull")
public func jitterPull(
    _ handle: UnsafeMutableRawPointer, samples: UnsafeMutablePointer<Float>, mediaTimestamp: UnsafeMutablePointer<UInt32>?, now: Double
) -> Int32 {
    let configuration = unsafe buffer(handle).pointee.configuration
    var span = unsafe MutableSpan(_unsafeStart: samples, count: configuration.sampleRate / 100 * configuration.channels)
    let outcome = unsafe buffer(handle).pointee.pull(into: &span, now: instant(now))
    if let mediaTimestamp = unsafe mediaTimestamp { unsafe mediaTimestamp.pointee = outcome.mediaTimestamp }
    return Int32(outcome.decision.rawValue) | (outcome.isAudible ? 256 : 0)
}

@_expose(wasm, "segue_jitter_flush")
@_cdecl("segue_jitter_flush")
public func jitterFlush(_ handle: UnsafeMutableRawPointer) {
    unsafe buffer(handle).pointee.flush()
}

@_expose(wasm, "segue_jitter_reset")
@_cdecl("segue_jitter_reset")
public func jitterReset(_ handle: UnsafeMutableRawPointer) {
    unsafe buffer(handle).pointee.reset()
}

/// Writes the statistics in the order of ``JitterStatistics``.
///
/// - Parameter numbers: room for 32.
/// - Returns: how many there are.
@_expose(wasm, "segue_jitter_statistics")
@_cdecl("segue_jitter_statistics")
public func jitterStatistics(_ handle: UnsafeMutableRawPointer, numbers: UnsafeMutablePointer<Double>) -> Int32 {
    let statistics = unsafe buffer(handle).pointee.statistics
    var writer = unsafe NumberWriter(numbers)
    statistics.write(to: &writer)
    return writer.count
}

extension InsertOutcome {
    var code: Int32 {
        switch self {
        case .stored: 0
        case .duplicate: 1
        case .late: 2
        case .malformed: 3
        case .storedFlushingOldest: 4
        }
    }
}

/// Memory for payloads and samples.
@_expose(wasm, "segue_allocate")
@_cdecl("segue_allocate")
public func allocate(byteCount: Int32) -> UnsafeMutableRawPointer? {
    guard (1...1 << 26).contains(byteCount) else { return nil }
    return UnsafeMutableRawPointer.allocate(byteCount: Int(byteCount), alignment: 16)
}

@_expose(wasm, "segue_free")
@_cdecl("segue_free")
public func deallocate(_ bytes: UnsafeMutableRawPointer) {
    unsafe bytes.deallocate()
}
