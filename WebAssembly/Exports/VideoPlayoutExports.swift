import MediaProtocol
import RelayBase

// The video buffer's C interface; as the audio buffer's.

private func playout(_ handle: UnsafeMutableRawPointer) -> UnsafeMutablePointer<VideoPlayout> {
    unsafe handle.assumingMemoryBound(to: VideoPlayout.self)
}

/// - Returns: a handle; `nil` when a value is out of range.
@_expose(wasm, "segue_video_create")
@_cdecl("segue_video_create")
public func videoCreate(timescale: Int32, profile: Int32, framesMax: Int32, bytesMax: Int32) -> UnsafeMutableRawPointer? {
    guard timescale > 0, framesMax > 0, bytesMax > 0, (0...2).contains(profile), let profile = JitterProfile(rawValue: UInt8(profile)) else {
        return nil
    }
    var configuration = VideoPlayoutConfiguration()
    configuration.timescale = Int(timescale)
    configuration.profile = profile
    configuration.framesMax = Int(framesMax)
    configuration.bytesMax = Int(bytesMax)
    let place = UnsafeMutablePointer<VideoPlayout>.allocate(capacity: 1)
    unsafe place.initialize(to: VideoPlayout(configuration))
    return UnsafeMutableRawPointer(place)
}

@_expose(wasm, "segue_video_destroy")
@_cdecl("segue_video_destroy")
public func videoDestroy(_ handle: UnsafeMutableRawPointer) {
    unsafe playout(handle).deinitialize(count: 1)
    unsafe playout(handle).deallocate()
}

/// - Parameter frame: a whole media frame, header and extensions included.
/// - Returns: as `segue_jitter_insert`.
@_expose(wasm, "segue_video_insert")
@_cdecl("segue_video_insert")
public func videoInsert(_ handle: UnsafeMutableRawPointer, frame: UnsafeRawPointer, byteCount: Int32, now: Double) -> Int32 {
    let bytes = unsafe RawSpan(_unsafeStart: frame, byteCount: Int(max(byteCount, 0)))
    return unsafe playout(handle).pointee.insert(bytes, now: instant(now)).code
}

/// - Parameters:
///   - audioTimescale: 0: there is no sound; else `audioTimestamp` is heard at `heardAt`.
///   - result: two numbers are written: the frame's address and its length, valid until the next call.
/// - Returns: when the frame is to be shown, in microseconds; −1: to be decoded only; −2: nothing is due.
@_expose(wasm, "segue_video_release")
@_cdecl("segue_video_release")
public func videoRelease(
    _ handle: UnsafeMutableRawPointer, audioTimestamp: UInt32, audioTimescale: Int32, heardAt: Double, result: UnsafeMutablePointer<UInt>, now: Double
) -> Double {
    let clock = audioTimescale > 0 ? AudioClock(timestamp: audioTimestamp, timescale: Int(audioTimescale), heardAt: instant(heardAt)) : nil
    let release = unsafe playout(handle).pointee.release(now: instant(now), audio: clock)
    if release == .nothing { return -2 }
    unsafe playout(handle).pointee.released.withUnsafeBytes { bytes in
        unsafe result[0] = UInt(bitPattern: bytes.baseAddress)
        unsafe result[1] = UInt(bytes.count)
    }
    return switch release {
    case .nothing: -2
    case .decodeOnly: -1
    case .show(let at): Double(at.nanoseconds / 1_000)
    }
}

/// - Returns: whether a key frame should be asked for.
@_expose(wasm, "segue_video_needs_key")
@_cdecl("segue_video_needs_key")
public func videoNeedsKey(_ handle: UnsafeMutableRawPointer) -> Int32 {
    unsafe playout(handle).pointee.needsKeyFrame ? 1 : 0
}

@_expose(wasm, "segue_video_reset")
@_cdecl("segue_video_reset")
public func videoReset(_ handle: UnsafeMutableRawPointer) {
    unsafe playout(handle).pointee.reset()
}

/// Writes the statistics in the order of ``VideoPlayoutStatistics``.
///
/// - Parameter numbers: room for 32.
/// - Returns: how many there are.
@_expose(wasm, "segue_video_statistics")
@_cdecl("segue_video_statistics")
public func videoStatistics(_ handle: UnsafeMutableRawPointer, numbers: UnsafeMutablePointer<Double>) -> Int32 {
    let statistics = unsafe playout(handle).pointee.statistics
    var writer = unsafe NumberWriter(numbers)
    statistics.write(to: &writer)
    return writer.count
}
