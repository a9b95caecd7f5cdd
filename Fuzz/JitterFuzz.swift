// libFuzzer target for the jitter buffer: what packets say of themselves, and when they come and are asked for, is anything. Compiled in one module with the
// sources of RelayBase, MediaProtocol and JitterBuffer.
//
// The bytes are a script of steps. Besides not trapping: output is finite, timestamps of what is pulled advance by exactly what was asked, the bounds hold, and
// every packet that was offered is accounted for.

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzJitter(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var script = unsafe Script(bytes: UnsafeRawBufferPointer(start: start, count: count))
    var configuration = JitterConfiguration()
    let traits = script.byte()
    configuration.sampleRate = [8_000, 16_000, 48_000, 48_000][Int(traits & 3)]
    configuration.channels = traits & 4 == 0 ? 1 : 2
    configuration.timescale = [48_000, 1_000, 90_000, 1, Int(script.word()), 0, -5, 44_100][Int(traits >> 3 & 7)]
    configuration.profile = JitterProfile(rawValue: traits >> 6 & 3) ?? .balanced
    configuration.packetsMax = Int(script.byte()) - 4
    configuration.bytesMax = Int(script.byte()) * 64
    configuration.isMeasurement = script.byte() & 7 == 0
    fuzzAudio(&script, configuration)
    script.rewind()
    fuzzPaced(&script, configuration)
    return 0
}

@safe
private struct Script {
    private let bytes: UnsafeRawBufferPointer
    private var place = 0

    init(bytes: UnsafeRawBufferPointer) {
        unsafe self.bytes = bytes
    }

    var isAtEnd: Bool { unsafe place >= bytes.count }

    mutating func byte() -> UInt8 {
        guard !isAtEnd else { return 0 }
        defer { place += 1 }
        return unsafe bytes[place]
    }

    mutating func word() -> UInt32 { (0..<4).reduce(0) { word, _ in word << 8 | UInt32(byte()) } }

    mutating func rewind() { place = 0 }
}

/// What a script's steps keep between them.
private struct Sender {
    var sequence: UInt32 = 0
    var timestamp: UInt32 = 0
    var now: UInt64 = 1_000_000_000

    /// Mostly what goes on; now and then anything.
    mutating func next(_ script: inout Script, _ traits: UInt8) -> JitterPacket {
        switch traits & 7 {
        case 0: sequence = script.word()
        case 1: timestamp = script.word()
        case 2: sequence &-= UInt32(script.byte())
        case 3: timestamp &-= UInt32(script.byte()) &* 960
        case 4: timestamp &+= UInt32(script.byte()) &* 4_800
        default:
            sequence &+= 1
            timestamp &+= 960
        }
        return JitterPacket(sequence: sequence, timestamp: timestamp, isDiscontinuity: traits & 0x18 == 0x18, isSilence: traits & 0x60 == 0x60)
    }

    mutating func wait(_ script: inout Script) {
        let byte = UInt64(script.byte())
        now += byte < 200 ? byte * 500_000 : (byte - 199) * 400_000_000
    }

    var instant: MonotonicInstant { MonotonicInstant(nanoseconds: now) }
}

/// A byte is a sample; the first says whether it is damaged, conceals itself, or carries the one before.
private struct FuzzDecoder: ~Copyable, JitterDecoder {
    let sampleRate: Int
    let channels: Int

    private func first(_ payload: RawSpan) -> UInt8 { payload.byteCount > 0 ? unsafe payload.unsafeLoad(as: UInt8.self) : 0 }
    private func fill(_ samples: inout MutableSpan<Float>, _ count: Int, _ value: Float) -> Int {
        precondition(count * channels <= samples.count, "room for what was asked for")
        for place in 0..<count * channels { samples[place] = value }
        return count
    }

    func sampleCount(of payload: RawSpan) -> Int { payload.byteCount * 16 - (first(payload) & 1 == 1 ? 3 : 0) }
    func redundantSampleCount(of payload: RawSpan) -> Int { first(payload) & 2 == 2 ? sampleCount(of: payload) : 0 }
    mutating func decode(_ payload: RawSpan, into samples: inout MutableSpan<Float>) -> Int {
        first(payload) & 12 == 12 ? 0 : fill(&samples, min(sampleCount(of: payload), sampleRate * 12 / 100), Float(first(payload)) / 256)
    }
    mutating func decodeRedundancy(of payload: RawSpan, sampleCount: Int, into samples: inout MutableSpan<Float>) -> Int {
        first(payload) & 16 == 16 ? 0 : fill(&samples, sampleCount, 0.25)
    }
    mutating func conceal(sampleCount: Int, into samples: inout MutableSpan<Float>) -> Int {
        sampleRate == 16_000 ? fill(&samples, sampleCount, 0.1) : 0
    }
    mutating func reset() {}
}

private func fuzzAudio(_ script: inout Script, _ configuration: JitterConfiguration) {
    var configuration = configuration
    var buffer = AudioJitterBuffer(configuration, decoder: FuzzDecoder(sampleRate: configuration.sampleRate, channels: configuration.channels))
    var sender = Sender()
    var samples = [Float](repeating: 0, count: configuration.sampleRate / 100 * configuration.channels)
    let payload = [UInt8](repeating: 0, count: 512)
    var pulls: UInt32 = 0
    var offered: UInt64 = 0
    while !script.isAtEnd {
        let step = script.byte()
        switch step & 15 {
        case 0...6:
            let packet = sender.next(&script, step >> 3 ^ script.byte())
            var bytes = Array(payload.prefix(Int(script.byte()) * 2))
            if !bytes.isEmpty { bytes[0] = script.byte() }
            _ = buffer.insert(packet, payload: unsafe bytes.span.bytes, now: sender.instant)
            offered += 1
        case 7...12:
            for _ in 0...(step >> 6) {
                var span = samples.mutableSpan
                let outcome = buffer.pull(into: &span, now: sender.instant)
                precondition(outcome.timestamp == pulls &* UInt32(configuration.sampleRate / 100), "timestamps advance by what was asked")
                precondition(samples.allSatisfy { $0.isFinite && $0.magnitude < 8 }, "sound is finite")
                pulls &+= 1
                sender.now += 10_000_000
            }
        case 13: sender.wait(&script)
        case 14:
            configuration.pinnedDelayMilliseconds = step & 16 == 0 ? nil : Int(Int8(bitPattern: script.byte())) * 64
            configuration.delayMillisecondsMin = Int(Int8(bitPattern: script.byte())) * 16
            buffer.configure(configuration)
        default: if step & 16 == 0 { buffer.flush() } else { buffer.reset() }
        }
        let statistics = buffer.statistics
        precondition(statistics.packetsInserted == offered && statistics.samplesPlayed == UInt64(pulls) * UInt64(configuration.sampleRate / 100))
        precondition(statistics.duplicates + statistics.late + statistics.malformed + statistics.discarded <= offered, "a packet has one end")
        precondition(buffer.levelMilliseconds <= configuration.bufferedMillisecondsMax + 500, "the bound in time")
    }
}

private func fuzzPaced(_ script: inout Script, _ configuration: JitterConfiguration) {
    var playout = PacedPlayout(configuration)
    var sender = Sender()
    let frame = [UInt8](repeating: 7, count: 300)
    var (offered, released): (UInt64, UInt64) = (0, 0)
    while !script.isAtEnd {
        let step = script.byte()
        switch step & 7 {
        case 0...3:
            let packet = sender.next(&script, step >> 3)
            let bytes = Array(frame.prefix(Int(script.byte()) + 1))
            _ = playout.insert(packet, frame: unsafe bytes.span.bytes, durationTicks: step & 128 == 0 ? 960 : script.word(), now: sender.instant)
            offered += 1
        case 4...5:
            while playout.release(now: sender.instant) {
                released += 1
                precondition(playout.released.byteCount >= 1, "a frame's bytes")
            }
            if let next = playout.nextRelease { precondition(next > sender.instant, "what is due was released") }
        case 6: sender.wait(&script)
        default: if step & 24 == 0 { playout.reset() } else { sender.now += 20_000_000 }
        }
        let statistics = playout.statistics
        precondition(statistics.packetsInserted == offered)
        precondition(
            statistics.duplicates + statistics.late + statistics.malformed + statistics.discarded + released <= offered, "a frame has one end")
    }
}
