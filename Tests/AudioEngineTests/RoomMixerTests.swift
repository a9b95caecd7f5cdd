import JitterBuffer
import MediaProtocol
import RelayBase
import Testing

@testable import AudioEngine

@Suite("Mixing a room")
struct RoomMixerTests {
    @Test("a tone is heard at its level by everybody but who makes it", arguments: [10, 20])
    func selfExclusion(tick: Int) throws {
        var room = TestRoom(tick: tick)
        for id: UInt32 in 1...3 { try room.addListener(id) }
        try room.addTalker(1)
        try room.addTalker(2)
        room.run(ticks: 3_000 / tick) { id, start, count in TestSound.sine(id == 1 ? 440 : 1_000, amplitude: 0.2, count: count, from: start) }
        func level(_ hertz: Double, _ listener: UInt32) -> Double { TestSound.amplitude(of: hertz, in: room.heard(listener).suffix(48_000)) }
        // Encoders keep a tone's level within a few tenths of a dB.
        #expect((0.19...0.21).contains(level(440, 2)) && (0.19...0.21).contains(level(440, 3)))
        #expect((0.19...0.21).contains(level(1_000, 1)) && (0.19...0.21).contains(level(1_000, 3)))
        #expect(20 * log10(level(440, 1) / level(440, 3)) < -60, "1 does not hear himself")
        #expect(20 * log10(level(1_000, 2) / level(1_000, 3)) < -60)
    }

    @Test("who speaks while he comes into the mix, or into another format, does not hear himself either", arguments: [10, 20])
    func selfExclusionAtEntry(tick: Int) throws {
        var room = TestRoom(tick: tick)
        try room.addTalker(1)
        try room.addListener(2)
        func speak(_ ticks: Int) { room.run(ticks: ticks) { _, start, count in TestSound.sine(440, amplitude: 0.5, count: count, from: start) } }
        speak(50)
        try room.addListener(1)
        speak(5)
        for bandwidth in [AudioBandwidth.wideband, .fullband, .narrowband] {
            try room.mixer.setFormat(
                output: 1, MixFormat(participant: 1, bandwidth: bandwidth, channels: 1, bitsPerSecond: 64_000, isMeasurement: false))
            speak(5)
        }
        #expect(TestSound.amplitude(of: 440, in: room.heard(2).suffix(4_800)) > 0.45)
        let peak = room.heard(1).map(\.magnitude).max() ?? 1
        #expect(peak < 0.000_5, "he hears himself at \(peak)")
    }

    private func log10(_ value: Double) -> Double { TestSound.decibels(value * value) / 20 }

    @Test("k + 1 encodes for N listeners", arguments: [10, 20])
    func encodes(tick: Int) throws {
        var room = TestRoom(tick: tick, speakers: 3)
        for id: UInt32 in 1...40 { try room.addListener(id) }
        for id: UInt32 in 1...10 { try room.addTalker(id) }
        room.run(ticks: 100) { id, start, count in
            TestSound.sine(200 * Double(id), amplitude: id <= 3 ? 0.2 : 0.02, count: count, from: start)
        }
        let counts = room.encodeCounts
        let speakers = room.mixer.speakers.map(\.input)
        #expect(counts.suffix(80).allSatisfy { $0 == 4 })
        #expect(speakers.sorted() == [1, 2, 3])
        let shared = Set((4...40).map { room.mixer.encode(of: $0) })
        #expect(shared.count == 1)
    }

    @Test("two formats are two shared encodes, and a narrowband one has nothing above 4 kHz")
    func bandwidths() throws {
        var room = TestRoom()
        try room.addTalker(1)
        try room.addListener(2, bandwidth: .narrowband, bitsPerSecond: 24_000)
        try room.addListener(3, bandwidth: .wideband, bitsPerSecond: 24_000)
        try room.addListener(4, bitsPerSecond: 96_000)
        room.run(ticks: 100) { _, start, count in
            zip(TestSound.sine(1_000, amplitude: 0.1, count: count, from: start), TestSound.noise(amplitude: 0.2, count: count, seed: UInt64(start)))
                .map(+)
        }
        let encodes = room.encodeCounts.last
        #expect(encodes == 3)
        // Energy in bands, by tones across them.
        func energy(_ listener: UInt32, _ band: StrideThrough<Double>) -> Double {
            let sound = Array(room.heard(listener).suffix(24_000))
            return band.map { TestSound.amplitude(of: $0, in: sound) }.reduce(0) { $0 + $1 * $1 }
        }
        let (above4, above8) = (stride(from: 4_400.0, through: 7_600, by: 160), stride(from: 8_600.0, through: 15_000, by: 320))
        let reference = energy(4, above4)
        #expect(energy(2, above4) < reference * 1e-4)
        #expect(energy(3, above4) > reference * 0.1)
        #expect(energy(3, above8) < energy(4, above8) * 1e-4)
        let tocs = [2, 3, 4].map { room.listeners[$0]?.toc ?? 0 }
        #expect((16...19).contains(tocs[0] >> 3) && (20...23).contains(tocs[1] >> 3) && (28...31).contains(tocs[2] >> 3))
    }

    @Test("a listener's format changes while he listens, and back, without a gap")
    func formatChange() throws {
        var room = TestRoom()
        try room.addTalker(1)
        try room.addListener(2)
        let tone = { (_: UInt32, start: Int, count: Int) -> [Float]? in TestSound.sine(1_000, amplitude: 0.3, count: count, from: start) }
        room.run(ticks: 50, tone)
        try room.mixer.setFormat(output: 2, MixFormat(participant: 2, bandwidth: .narrowband, channels: 1, bitsPerSecond: 24_000))
        room.run(ticks: 50, tone)
        let narrow = room.listeners[2]?.toc ?? 0
        try room.mixer.setFormat(output: 2, MixFormat(participant: 2, bitsPerSecond: 128_000))
        room.run(ticks: 50, tone)
        let wide = room.listeners[2]?.toc ?? 0
        #expect((16...19).contains(narrow >> 3) && (28...31).contains(wide >> 3))
        let heard = room.heard(2)
        for start in stride(from: 24_000, to: heard.count, by: 480) {
            #expect(TestSound.decibels(TestSound.meanSquare(heard[start..<start + 480])) > -16, "at \(start)")
        }
        let formats = room.mixer.formatCount
        #expect(formats == 1)
    }

    @Test("8 talkers at full scale: nothing clips, and nobody hears a step", arguments: [1, 2])
    func noClipping(channels: Int) throws {
        var room = TestRoom(speakers: 8)
        for id: UInt32 in 1...8 { try room.addTalker(id) }
        try room.addListener(20, channels: channels, bitsPerSecond: 256_000)
        room.run(ticks: 100) { id, start, count in TestSound.sine(300 + 37 * Double(id), amplitude: 1, count: count, from: start) }
        let heard = Array(room.heard(20).dropFirst(9_600 * channels))
        #expect(heard.map(abs).max() ?? 2 <= 1)
        #expect(TestSound.meanSquare(heard) > 0.05)
        let left = stride(from: 0, to: heard.count, by: channels).map { heard[$0] }
        // The fastest of the sines at full scale makes steps of 0.078.
        #expect(TestSound.greatestStep(left) < 0.12)
    }

    @Test("the loudest three of ten are heard, the others are not")
    func loudest() throws {
        var room = TestRoom(speakers: 3)
        for id: UInt32 in 1...10 { try room.addTalker(id) }
        try room.addListener(20)
        room.run(ticks: 150) { id, start, count in
            TestSound.sine(300 * Double(id), amplitude: 0.01 * Float(id), count: count, from: start)
        }
        let speakers = room.mixer.speakers.map(\.input).sorted()
        #expect(speakers == [8, 9, 10])
        let heard = Array(room.heard(20).suffix(48_000))
        for id in 1...10 {
            let level = TestSound.amplitude(of: 300 * Double(id), in: heard)
            if id >= 8 { #expect(level > 0.009 * Double(id)) } else { #expect(level < 0.002, "\(id)") }
        }
    }

    @Test("silence costs no encodes, is flagged, and sound after it is whole")
    func silence() throws {
        var room = TestRoom()
        try room.addTalker(1)
        try room.addListener(2)
        let tone = { (_: UInt32, start: Int, count: Int) -> [Float]? in TestSound.sine(440, amplitude: 0.3, count: count, from: start) }
        room.run(ticks: 50, tone)
        let before = room.mixer.encodesTotal
        room.run(ticks: 20) { _, _, count in [Float](repeating: 0, count: count) }
        let settled = room.mixer.encodesTotal
        room.run(ticks: 100) { _, _, count in [Float](repeating: 0, count: count) }
        let (place, after, silences) = (room.mixer.encode(of: 2), room.mixer.encodesTotal, room.listeners[2]?.silences ?? 0)
        let packet = room.mixer.packet(place ?? 0)
        #expect(after == settled && settled > before)
        #expect(packet.isSilence && packet.level == .silent && silences >= 100)
        let quiet = room.heard(2).suffix(48_000)
        #expect(TestSound.decibels(TestSound.meanSquare(quiet)) < -90)
        room.run(ticks: 50, tone)
        #expect((0.28...0.32).contains(TestSound.amplitude(of: 440, in: room.heard(2).suffix(24_000))))
    }

    @Test("sequence and timestamp go on by one tick, in every encode alike", arguments: [(10, UInt32(480)), (20, 960)])
    func continuity(tick: Int, ticks: UInt32) throws {
        var room = TestRoom(tick: tick, seed: 7)
        try room.addTalker(1)
        try room.addListener(2)
        room.tick()
        var (sequence, timestamp) = (room.mixer.sequence, room.mixer.timestamp)
        for _ in 0..<10 {
            room.tick()
            let next = (room.mixer.sequence, room.mixer.timestamp)
            #expect(next.0 == sequence &+ 1 && next.1 == timestamp &+ ticks)
            (sequence, timestamp) = next
        }
    }

    @Test("bounds: inputs, outputs and formats; numbers that are taken or unknown")
    func bounds() throws {
        var configuration = MixerConfiguration()
        configuration.inputsMax = 20
        configuration.outputsMax = 5
        configuration.formatsMax = 2
        var mixer = RoomMixer(configuration)
        for id: UInt32 in 1...20 { try mixer.addInput(id, participant: id, TestRoom.pcm) }
        func fault(_ act: (inout RoomMixer) throws(AudioFault) -> Void, _ mixer: inout RoomMixer) -> AudioFault? {
            do { try act(&mixer) } catch { return error }
            return nil
        }
        let faults = [
            fault({ (mixer: inout RoomMixer) throws(AudioFault) in try mixer.addInput(21, participant: 1, TestRoom.pcm) }, &mixer),
            fault({ (mixer: inout RoomMixer) throws(AudioFault) in try mixer.addInput(20, participant: 1, TestRoom.pcm) }, &mixer),
            fault({ (mixer: inout RoomMixer) throws(AudioFault) in try mixer.setFormat(output: 9, MixFormat()) }, &mixer),
            fault({ (mixer: inout RoomMixer) throws(AudioFault) in try mixer.addOutput(1, MixFormat(channels: 3)) }, &mixer),
            fault({ (mixer: inout RoomMixer) throws(AudioFault) in try mixer.addOutput(1, MixFormat(bitsPerSecond: 0)) }, &mixer),
        ]
        #expect(faults == [.limit, .taken, .unknown, .channels, .settings])
        try mixer.addOutput(1, MixFormat())
        try mixer.addOutput(2, MixFormat(channels: 2))
        let third = fault({ (mixer: inout RoomMixer) throws(AudioFault) in try mixer.addOutput(3, MixFormat(bandwidth: .narrowband)) }, &mixer)
        let again = fault({ (mixer: inout RoomMixer) throws(AudioFault) in try mixer.addOutput(1, MixFormat()) }, &mixer)
        #expect(third == .limit && again == .taken)
        mixer.removeOutput(2)
        try mixer.addOutput(3, MixFormat(bandwidth: .narrowband))
        mixer.removeInput(7)
        try mixer.addInput(21, participant: 1, TestRoom.pcm)
        let unknown = mixer.insert(
            header: MediaHeader(kind: .audio, stream: StreamID(7), sequence: 1, timestamp: 1), payload: [UInt8]().raw, input: 7, now: .zero)
        #expect(unknown == nil)
        let counts = (mixer.inputCount, mixer.outputCount, mixer.formatCount)
        #expect(counts == (20, 2, 2))
    }

    @Test("1,000 inputs, most of them silent, and the 1,001st is refused")
    func manyInputs() throws {
        var room = TestRoom()
        for id: UInt32 in 1...1_000 { try room.addTalker(id) }
        #expect(throws: AudioFault.limit) { try room.addTalker(1_001) }
        room.talkers.removeAll()
        room.talkers[500] = TestRoom.Talker(description: TestRoom.pcm)
        try room.addListener(2_000)
        room.run(ticks: 30) { _, start, count in TestSound.sine(440, amplitude: 0.3, count: count, from: start) }
        #expect(TestSound.amplitude(of: 440, in: room.heard(2_000).suffix(9_600)) > 0.28)
    }

    @Test("hostile payloads cost their own input only", arguments: [AudioCodec.opus, .pcmu, .pcma, .pcmS16])
    func hostile(codec: AudioCodec) throws {
        var room = TestRoom()
        try room.addTalker(1)
        try room.addTalker(2, AudioStreamDescription(codec: codec, sampleRate: codec == .opus ? 48_000 : 8_000, channels: 2))
        try room.addListener(3)
        room.talkers[2] = nil
        var random = SeededGenerator(seed: 9)
        for tick in 0..<150 {
            room.say(1, TestSound.sine(440, amplitude: 0.2, count: 960, from: tick * 960))
            for _ in 0..<20 {
                let payload = (0..<Int.random(in: 0...2_000, using: &random)).map { _ in UInt8.random(in: .min ... .max, using: &random) }
                let header = MediaHeader(
                    kind: .audio, flags: MediaFlags(rawValue: UInt8.random(in: .min ... .max, using: &random) & 0x1F), stream: StreamID(2),
                    sequence: UInt32.random(in: .min ... .max, using: &random), timestamp: UInt32.random(in: .min ... .max, using: &random))
                _ = room.mixer.insert(header: header, payload: payload.raw, input: 2, now: room.now)
                // And as whole frames, where they are any.
                guard let parsed = try? MediaHeader(parsing: payload.raw),
                    let extensions = try? MediaExtensions(frame: payload.raw, flags: parsed.flags)
                else { continue }
                _ = room.mixer.insert(
                    header: parsed, payload: extensions.payload(of: payload.raw), packetTable: extensions.table(of: payload.raw), input: 2,
                    now: room.now)
            }
            room.tick()
        }
        #expect(room.heard(3).allSatisfy { abs($0) <= 1 })
        let (level, own) = (TestSound.amplitude(of: 440, in: room.heard(3).suffix(48_000)), room.mixer.statistics(of: 1))
        // The noise may be so loud that the limiter takes the tone down.
        #expect(level > 0.02)
        #expect(own?.malformed == 0 && own?.discarded == 0)
    }
}
