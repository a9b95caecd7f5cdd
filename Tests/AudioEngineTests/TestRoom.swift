import JitterBuffer
import MediaProtocol
import RelayBase

@testable import AudioEngine

/// A room in virtual time: talkers that send, a mixer, and listeners that decode what they get.
struct TestRoom: ~Copyable {
    struct Talker {
        var description: AudioStreamDescription
        var sequence: UInt32 = 100
        var timestamp: UInt32 = 0
    }

    var mixer: RoomMixer
    var now = MonotonicInstant(nanoseconds: 1_000_000_000)
    var talkers: [UInt32: Talker] = [:]
    var listeners: [UInt32: Listener] = [:]
    private(set) var encodeCounts: [Int] = []

    final class Listener {
        var decoder: OpusFrameDecoder
        var heard: [Float] = []
        var silences = 0
        var toc: UInt8 = 0
        var bytes = 0

        init(channels: Int) throws { decoder = try OpusFrameDecoder(sampleRate: 48_000, channels: channels) }
    }

    init(tick: Int = 20, speakers: Int = 3, seed: UInt64 = 1) {
        var configuration = MixerConfiguration()
        configuration.tickMilliseconds = tick
        configuration.speakersMax = speakers
        configuration.seed = seed
        mixer = RoomMixer(configuration)
    }

    static let pcm = AudioStreamDescription(codec: .pcmS16, sampleRate: 48_000, channels: 1)

    mutating func addTalker(
        _ id: UInt32, participant: UInt32? = nil, _ description: AudioStreamDescription = TestRoom.pcm, profile: JitterProfile = .lowLatency,
        isMeasurement: Bool = false
    ) throws {
        try mixer.addInput(id, participant: participant ?? id, description, profile: profile, isMeasurement: isMeasurement)
        talkers[id] = Talker(description: description)
    }

    /// Listeners have their participant's number.
    mutating func addListener(
        _ id: UInt32, participant: UInt32? = nil, bandwidth: AudioBandwidth = .fullband, channels: Int = 1, bitsPerSecond: Int = 128_000,
        isMeasurement: Bool = false
    ) throws {
        let format = MixFormat(
            participant: participant ?? id, bandwidth: bandwidth, channels: channels, bitsPerSecond: bitsPerSecond, isMeasurement: isMeasurement)
        try mixer.addOutput(id, format)
        listeners[id] = try Listener(channels: channels)
    }

    /// Sends one packet, and counts its duration on.
    @discardableResult
    mutating func send(_ id: UInt32, payload: [UInt8], duration: UInt32, isSilence: Bool = false) -> InsertOutcome? {
        guard let talker = talkers[id] else { return nil }
        let header = MediaHeader(
            kind: .audio, flags: isSilence ? [.silence] : [], stream: StreamID(id), sequence: talker.sequence, timestamp: talker.timestamp)
        talkers[id]?.sequence &+= 1
        talkers[id]?.timestamp &+= duration
        return mixer.insert(header: header, payload: payload.raw, input: id, now: now)
    }

    /// Sends 16-bit samples at 48 kHz.
    @discardableResult
    mutating func say(_ id: UInt32, _ samples: [Float]) -> InsertOutcome? {
        let channels = Int(talkers[id]?.description.channels ?? 1)
        return send(id, payload: Packets.encode(.s16, samples), duration: UInt32(samples.count / channels))
    }

    /// One tick of the mixer; everybody decodes.
    mutating func tick() {
        mixer.tick(now: now)
        encodeCounts.append(mixer.encodeCount)
        for (id, listener) in listeners {
            guard let place = mixer.encode(of: id) else { continue }
            listen(listener, place)
        }
        now = now.advanced(byMilliseconds: UInt64(mixer.configuration.tickMilliseconds))
    }

    private borrowing func listen(_ listener: Listener, _ place: Int) {
        let bytes = mixer.encoded(place)
        var samples = [Float](repeating: 0, count: 5_760 * listener.decoder.channels)
        var room = samples.mutableSpan
        let count = listener.decoder.decode(bytes, into: &room)
        listener.heard += samples.prefix(count * listener.decoder.channels)
        listener.toc = bytes.byteCount > 0 ? unsafe bytes.unsafeLoad(fromByteOffset: 0, as: UInt8.self) : 0
        listener.bytes += bytes.byteCount
        if mixer.packet(place).isSilence { listener.silences += 1 }
    }

    /// Talkers send what `sound` gives them for each tick; `nil`: nothing.
    mutating func run(ticks: Int, _ sound: (_ talker: UInt32, _ start: Int, _ count: Int) -> [Float]?) {
        let count = mixer.configuration.tickMilliseconds * 48
        for _ in 0..<ticks {
            for id in talkers.keys.sorted() {
                guard let talker = talkers[id] else { continue }
                let start = Int(talker.timestamp)
                if let samples = sound(id, start, count) { say(id, samples) } else { talkers[id]?.timestamp &+= UInt32(count) }
            }
            tick()
        }
    }

    func heard(_ id: UInt32) -> [Float] { listeners[id]?.heard ?? [] }
}
