import AudioEngine
import BenchmarkSupport
import JitterBuffer
import MediaProtocol
import RelayBase

/// A room whose mixer is fed with packets that were encoded before.
struct MixedRoom: ~Copyable {
    private var mixer: RoomMixer
    private let talkers: Int
    private let packets: [[[UInt8]]]
    private var tick = 0

    /// - Parameter isNaive: a mixer that encodes for each listener: each has a gain that is hardly one, and so a mix and an encoder of his own.
    init(participants: Int, talkers: Int, packets: [[[UInt8]]], isNaive: Bool) throws {
        var configuration = MixerConfiguration()
        configuration.tickMilliseconds = 20
        mixer = RoomMixer(configuration)
        self.talkers = talkers
        self.packets = packets
        let description = AudioStreamDescription(codec: .opus, sampleRate: 48_000, channels: 1)
        for id in 1...UInt32(participants) {
            try mixer.addInput(id, participant: id, description)
            try mixer.addOutput(id, MixFormat(participant: id))
            if isNaive { mixer.setGain(output: id, 0.999) }
        }
    }

    var encodes: UInt64 { mixer.encodesTotal }
    var ticks: Int { tick }

    mutating func run(ticks: Int) {
        for _ in 0..<ticks {
            let now = MonotonicInstant.zero.advanced(byMilliseconds: UInt64(tick * 20 + 1_000))
            for talker in 0..<talkers {
                let header = MediaHeader(
                    kind: .audio, stream: StreamID(UInt32(talker + 1)), sequence: UInt32(truncatingIfNeeded: tick),
                    timestamp: UInt32(truncatingIfNeeded: tick * 960))
                let packet = packets[talker % packets.count][tick % packets[0].count]
                _ = mixer.insert(header: header, payload: packet.raw, input: UInt32(talker + 1), now: now)
            }
            mixer.tick(now: now)
            tick += 1
        }
    }
}

/// How many rooms a core mixes in real time, with k + 1 encodes and with one for each listener, in turns.
enum MixerBenchmark {
    private static let rounds = 5

    static func run() throws {
        let packets = try (0..<10).map { try Sound.packets(seed: UInt64($0)) }
        var rows: [[String]] = []
        for (participants, talkers) in [(4, 1), (10, 3), (10, 10), (50, 3), (200, 3)] {
            var shared = try MixedRoom(participants: participants, talkers: talkers, packets: packets, isNaive: false)
            var naive = try MixedRoom(participants: participants, talkers: talkers, packets: packets, isNaive: true)
            shared.run(ticks: 100)
            naive.run(ticks: 100)
            var (ours, theirs): ([Double], [Double]) = ([], [])
            let before = (shared.encodes, naive.encodes)
            let ticks = max(10, 2_000 / participants)
            for _ in 0..<rounds {
                let first = Stopwatch.now()
                shared.run(ticks: ticks)
                let middle = Stopwatch.now()
                naive.run(ticks: ticks)
                ours.append(Double(middle - first) / Double(ticks))
                theirs.append(Double(Stopwatch.now() - middle) / Double(ticks))
            }
            let (our, their) = (Samples.median(ours), Samples.median(theirs))
            let all = Double(rounds * ticks)
            rows.append([
                "\(participants), \(talkers) talk", Text.fixed(Double(shared.encodes - before.0) / all, 2), Text.fixed(our / 1_000, 0),
                Text.fixed(20e6 / our, 1), Text.fixed(20e6 / our * Double(participants), 0), Text.fixed(Double(naive.encodes - before.1) / all, 2),
                Text.fixed(their / 1_000, 0), Text.fixed(20e6 / their, 1), Text.fixed(their / our, 2),
            ])
        }
        Text.out("\nMixer, ticks of 20 ms, k = 3, Opus in and out, 32 kbit/s mono")
        Text.out(
            Text.table(
                [
                    "participants", "encodes a tick", "µs a tick", "rooms a core", "participants a core", "naive: encodes", "µs a tick",
                    "rooms a core",
                    "naive ÷ ours",
                ], rows))
    }
}
