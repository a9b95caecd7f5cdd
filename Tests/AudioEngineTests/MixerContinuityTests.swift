import JitterBuffer
import MediaProtocol
import RelayBase
import Testing

@testable import AudioEngine

@Suite("What listeners hear is whole")
struct MixerContinuityTests {
    /// Like a voice that begins: silence, then a syllable that is there within some milliseconds.
    private static func onset(at place: Int, count: Int, from start: Int) -> [Float] {
        let voice = TestSound.voice(pitch: 140, amplitude: 0.5, count: count, from: start - place)
        return (0..<count).map { index in
            let since = start + index - place
            return since < 0 ? 0 : voice[index] * min(1, Float(since) / 48)
        }
    }

    @Test(
        "a first syllable keeps its energy from its first 20 ms on, wherever in a tick it begins", arguments: [0, 100, 240, 481, 700, 959], [10, 20])
    func onsets(offset: Int, tick: Int) throws {
        var room = TestRoom(tick: tick)
        try room.addTalker(1, isMeasurement: true)
        try room.addListener(2, bitsPerSecond: 256_000)
        let place = 48_000 + offset
        var spoken: [Float] = []
        room.run(ticks: 2_000 / tick) { _, start, count in
            let samples = Self.onset(at: place, count: count, from: start)
            spoken += samples
            return samples
        }
        // Where it begins in what is heard: the delay is that of buffer and mixer, and the same for all of it.
        let heard = room.heard(2)
        let (said, came) = (spoken.firstIndex { abs($0) > 0.01 }, heard.firstIndex { abs($0) > 0.01 })
        let delay = try #require(came) - #require(said)
        func energy(_ samples: [Float], _ range: Range<Int>) -> Double { TestSound.meanSquare(samples[range]) }
        let first = energy(heard, place + delay..<place + delay + 960) / energy(spoken, place..<place + 960)
        let second = energy(heard, place + delay + 960..<place + delay + 1_920) / energy(spoken, place + 960..<place + 1_920)
        #expect((0.9...1.1).contains(first), "\(first) of the first 20 ms")
        #expect((0.9...1.1).contains(second), "\(second) of the next")
    }

    @Test("a listener who goes to an encoder of his own and back hears no step", arguments: [10, 20])
    func switching(tick: Int) throws {
        var room = TestRoom(tick: tick)
        try room.addTalker(1)
        try room.addTalker(2)
        for id: UInt32 in 2...3 { try room.addListener(id, bitsPerSecond: 64_000) }
        // 2 murmurs now and then, which takes him to an encoder of his own; he and 3 hear 1's tone all the time.
        room.run(ticks: 6_000 / tick) { id, start, count in
            if id == 1 { return TestSound.sine(440, amplitude: 0.3, count: count, from: start) }
            return start / 48_000 % 2 == 1 ? TestSound.noise(amplitude: 0.01, count: count, seed: UInt64(start)) : [Float](repeating: 0, count: count)
        }
        let own = room.encodeCounts.filter { $0 == 2 }.count
        #expect(own > 3_000 / tick && own < 5_000 / tick)
        let heard = Array(room.heard(2).dropFirst(24_000))
        // The sine's own greatest step is 0.0173.
        let step = TestSound.greatestStep(heard)
        #expect(step < 0.021, "\(step)")
        for start in stride(from: 0, to: heard.count - 960, by: 480) {
            let level = TestSound.amplitude(of: 440, in: heard[start..<start + 960])
            #expect((0.28...0.32).contains(level), "\(level) at \(start)")
        }
        let warmUps = room.mixer.warmUpsTotal
        #expect(warmUps <= 10)
    }

    @Test("removed and added again while talking: no step, and heard again at once", arguments: [10, 20])
    func removal(tick: Int) throws {
        var room = TestRoom(tick: tick)
        try room.addTalker(1)
        try room.addListener(2)
        let tone = { (_: UInt32, start: Int, count: Int) -> [Float]? in TestSound.sine(440, amplitude: 0.3, count: count, from: start) }
        room.run(ticks: 1_000 / tick, tone)
        for _ in 0..<5 {
            room.mixer.removeInput(1)
            try room.mixer.addInput(1, participant: 1, TestRoom.pcm, profile: .lowLatency)
            room.run(ticks: 600 / tick, tone)
        }
        room.mixer.resetInput(1)
        room.run(ticks: 600 / tick, tone)
        let heard = room.heard(2).dropFirst(24_000)
        #expect(TestSound.greatestStep(heard) < 0.03)
        #expect((0.28...0.32).contains(TestSound.amplitude(of: 440, in: heard.suffix(9_600))))
        let inputs = room.mixer.inputCount
        #expect(inputs == 1)
    }

    @Test(
        "accelerate and expand leave a 440 Hz tone's level and phase alone, and a clock that is 500 ppm off adds no delay in 10 minutes",
        arguments: [-500.0, 500])
    func drift(partsPerMillion: Double) throws {
        var room = TestRoom()
        try room.addTalker(1)
        try room.addListener(2)
        // 11 periods: the tone is made once.
        let table = TestSound.sine(440, amplitude: 0.3, count: 1_200)
        var sent = 0
        var levels: [UInt32] = []
        var (lowest, highest, step) = (Double.infinity, 0.0, Float(0))
        for tick in 0..<30_000 {
            let end = UInt64(tick + 1) * 20_000_000
            // By its own clock the sender has come so far.
            while true {
                let due = UInt64(Double(sent) * 20_000_000 / (1 + partsPerMillion / 1e6))
                guard due < end else { break }
                room.now = MonotonicInstant(nanoseconds: 1_000_000_000 + due)
                room.say(1, (0..<960).map { table[(sent * 960 + $0) % 1_200] })
                sent += 1
            }
            room.now = MonotonicInstant(nanoseconds: 1_000_000_000 + end)
            room.tick()
            guard tick % 50 == 49 else { continue }
            if tick > 500 {
                let second = room.heard(2)
                step = max(step, TestSound.greatestStep(second))
                for start in stride(from: 960, to: second.count - 1_920, by: 9_600) {
                    let level = TestSound.amplitude(of: 440, in: second[start..<start + 1_920])
                    (lowest, highest) = (min(lowest, level), max(highest, level))
                }
                levels.append(room.mixer.statistics(of: 1)?.levelMilliseconds ?? 999)
            }
            room.listeners[2]?.heard.removeAll(keepingCapacity: true)
        }
        let told = room.mixer.statistics(of: 1)
        let statistics = try #require(told)
        #expect(abs(Double(statistics.driftPartsPerMillion) - partsPerMillion) < 100)
        #expect(statistics.removedByAccelerate + statistics.insertedByExpand + statistics.concealedSamples > 10_000, "about 0.3 s in ten minutes")
        let (early, late) = (levels.prefix(60), levels.suffix(60))
        #expect((late.max() ?? 999) <= (early.max() ?? 0) + 20, "\(early.max() ?? 0) ms in the first minute, \(late.max() ?? 0) in the last")
        #expect(lowest > 0.27 && highest < 0.33, "\(lowest) to \(highest)")
        #expect(step < 0.0173 * 1.3, "\(step)")
    }

    @Test("Opus streams, two channels, telephones and a slow clock in one mix")
    func everyCodec() throws {
        var room = TestRoom(speakers: 4)
        try room.addTalker(1, AudioStreamDescription(codec: .opus, sampleRate: 48_000, channels: 2))
        try room.addTalker(2, AudioStreamDescription(codec: .pcmu, sampleRate: 8_000, channels: 1))
        try room.addTalker(3, AudioStreamDescription(codec: .pcma, sampleRate: 8_000, channels: 1))
        try room.addTalker(4, AudioStreamDescription(codec: .pcmS16, sampleRate: 44_100, channels: 2))
        try room.addListener(9)
        var encoder = try OpusFrameEncoder(sampleRate: 48_000, channels: 2, OpusSettings(bitsPerSecond: 96_000))
        for tick in 0..<150 {
            room.send(
                1, payload: Packets.encode(&encoder, TestSound.sine(300, amplitude: 0.1, count: 960, channels: 2, from: tick * 960)), duration: 960)
            room.send(
                2, payload: Packets.encode(.mu, TestSound.sine(700, amplitude: 0.1, count: 160, sampleRate: 8_000, from: tick * 160)), duration: 960)
            room.send(
                3, payload: Packets.encode(.a, TestSound.sine(1_100, amplitude: 0.1, count: 160, sampleRate: 8_000, from: tick * 160)), duration: 960)
            room.send(
                4,
                payload: Packets.encode(.s16, TestSound.sine(1_900, amplitude: 0.1, count: 882, sampleRate: 44_100, channels: 2, from: tick * 882)),
                duration: 960)
            room.tick()
        }
        let heard = room.heard(9).suffix(48_000)
        for hertz in [300.0, 700, 1_100, 1_900] { #expect((0.09...0.11).contains(TestSound.amplitude(of: hertz, in: heard)), "\(hertz)") }
        for id: UInt32 in 1...4 {
            let told = room.mixer.statistics(of: id)
            let statistics = try #require(told)
            #expect(statistics.concealedSamples == 0 && statistics.late == 0 && statistics.malformed == 0, "\(id)")
        }
    }

    @Test("frames of samples that play up to a second are taken whole, longer ones refused")
    func longFrames() throws {
        var room = TestRoom()
        try room.addTalker(1, AudioStreamDescription(codec: .pcmS16, sampleRate: 16_000, channels: 1), profile: .smooth)
        try room.addListener(2)
        for second in 0..<4 {
            let outcome = room.send(
                1, payload: Packets.encode(.s16, TestSound.sine(440, amplitude: 0.3, count: 16_000, sampleRate: 16_000, from: second * 16_000)),
                duration: 48_000)
            #expect(outcome == .stored)
            for _ in 0..<50 { room.tick() }
        }
        let refused = room.send(1, payload: [UInt8](repeating: 0, count: 32_002), duration: 48_000)
        #expect(refused == .malformed)
        #expect(TestSound.amplitude(of: 440, in: room.heard(2).suffix(24_000)) > 0.28)
    }
}
