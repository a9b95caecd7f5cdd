import JitterBuffer
import MediaProtocol
import RelayBase
import Testing

@Suite("A buffer of sound")
struct AudioJitterBufferTests {
    @Test("timestamps of pulled sound advance by exactly the frames asked, whatever happens")
    func timestamps() {
        var bench = Bench()
        bench.pull(3)
        bench.play(0..<20, leavingOut: [5, 6, 11])
        bench.pull(40)
        bench.buffer.reset()
        bench.play(100..<120)
        for (place, outcome) in bench.outcomes.enumerated() { #expect(outcome.timestamp == UInt32(place * 480)) }
        #expect(bench.buffer.statistics.samplesPlayed == UInt64(bench.outcomes.count * 480))
    }

    @Test("packets play in order, each once, over the wrap of both counters")
    func order() {
        var bench = Bench()
        for step in 0..<60 as Range<UInt32> {
            let sequence = UInt32.max - 20 &+ step
            bench.offer(sequence, timestamp: (UInt32.max - 20 * 960) &+ step &* 960, value: Float(step) / 1000)
            bench.pull(2)
        }
        #expect(bench.played == Array(0...bench.played.count - 1) && bench.played.count >= 55)
        #expect(bench.buffer.statistics.concealedSamples == 0)
    }

    @Test("packets that overtook one another within the delay play in order")
    func reordering() {
        var bench = Bench()
        for sequence in stride(from: 0 as UInt32, to: 60, by: 2) {
            bench.offer(sequence + 1)
            bench.offer(sequence)
            bench.pull(4)
        }
        #expect(zip(bench.played, bench.played.dropFirst()).allSatisfy { $0 < $1 })
        #expect(bench.buffer.statistics.concealedSamples <= 960)
        #expect(bench.buffer.statistics.late == 0)
    }

    @Test("the same packet twice is a duplicate, before and after it played; one that was concealed is late")
    func duplicatesAndLate() {
        var bench = Bench()
        bench.play(0..<10, leavingOut: [4])
        #expect(bench.offer(9) == .duplicate)
        bench.pull(30)
        #expect(bench.offer(9) == .duplicate)
        #expect(bench.offer(3) == .duplicate)
        #expect(bench.offer(4) == .late)
        #expect(bench.buffer.statistics.duplicates == 3)
        #expect(bench.buffer.statistics.late == 1)
    }

    @Test("a lost packet is concealed for as long as it was, and what follows is not moved")
    func loss() {
        var bench = Bench()
        bench.play(0..<100)
        let before = bench.buffer.delayMilliseconds(now: bench.instant)
        bench.play(100..<150, leavingOut: [110])
        #expect((480...960).contains(bench.buffer.statistics.concealedSamples))
        #expect(bench.buffer.statistics.concealmentEvents == 1)
        #expect(bench.buffer.statistics.interruptions == 0)
        let after = bench.buffer.delayMilliseconds(now: bench.instant)
        #expect(abs((after ?? 0) - (before ?? 0)) <= 10)
    }

    @Test("where the next packet carries the lost one, nothing is concealed")
    func redundancy() {
        var bench = Bench()
        bench.play(0..<50, leavingOut: [20, 30], redundant: 960)
        #expect(bench.buffer.statistics.concealedSamples == 0)
        #expect(bench.buffer.statistics.recovered == 2)
        #expect(bench.played.contains(20) && bench.played.contains(30))
    }

    @Test("the decoder's own concealment is preferred")
    func decoderConceals() {
        var bench = Bench(concealed: 0.777)
        bench.play(0..<30, leavingOut: [20])
        #expect(bench.values.contains(0.777))
    }

    @Test("a damaged packet is as a lost one, and counted")
    func damaged() {
        var bench = Bench()
        bench.play(0..<20)
        bench.offer(20, isDamaged: true)
        bench.pull(2)
        bench.play(21..<40)
        #expect(bench.buffer.statistics.malformed == 1)
        #expect(bench.buffer.statistics.concealmentEvents == 1)
        #expect((480...960).contains(bench.buffer.statistics.concealedSamples))
    }

    @Test("nothing can be made of it: malformed", arguments: [0, -1, -9_000])
    func malformed(count: Int) {
        var bench = Bench()
        #expect(bench.offer(0, count: count) == .malformed)
        #expect(bench.buffer.statistics.malformed == 1)
    }

    @Test("frames of 2.5 to 120 ms play whole", arguments: [120, 240, 480, 960, 1_920, 2_880, 4_800, 5_760])
    func sizes(count: Int) {
        var bench = Bench()
        var sequence: UInt32 = 0
        for pull in 0..<400 {
            while Int(sequence) * count <= pull * 480 {
                bench.offer(sequence, timestamp: sequence &* UInt32(count), count: count, value: 0.25)
                sequence += 1
            }
            bench.pull()
        }
        #expect(bench.buffer.statistics.concealedSamples == 0)
        #expect(bench.buffer.statistics.packetsInserted == UInt64(sequence))
        #expect(bench.outcomes.suffix(300).allSatisfy { $0.isAudible })
    }

    @Test("sizes that change from packet to packet")
    func mixedSizes() {
        var bench = Bench()
        var (sequence, place): (UInt32, Int) = (0, 0)
        let counts = [120, 960, 480, 2_880, 240, 1_920, 5_760]
        for pull in 0..<600 {
            while place <= pull * 480 {
                let count = counts[Int(sequence) % counts.count]
                bench.offer(sequence, timestamp: UInt32(place), count: count, value: 0.25)
                place += count
                sequence += 1
            }
            bench.pull()
        }
        #expect(bench.buffer.statistics.concealedSamples == 0)
    }

    @Test("silence that is announced is no loss, however long", arguments: [100, 1_000, 5_000])
    func announcedSilence(milliseconds: UInt32) {
        var bench = Bench()
        bench.play(0..<20)
        bench.offer(20, isSilence: true)
        bench.pull(Int(milliseconds) / 10 + 2)
        let gap = milliseconds * 48
        for sequence in 21..<60 as Range<UInt32> {
            bench.offer(sequence, timestamp: sequence * 960 + gap)
            bench.pull(2)
        }
        #expect(bench.buffer.statistics.concealedSamples == 0)
        #expect(bench.outcomes.contains { $0.decision == .comfortNoise && !$0.isAudible })
        #expect(bench.played.suffix(30).allSatisfy { $0 >= 21 })
    }

    @Test("a packet of silence that plays nothing ends the sound before it")
    func emptySilence() {
        var bench = Bench()
        bench.play(0..<20)
        #expect(bench.offer(20, count: 0, isSilence: true) == .stored)
        bench.pull(50)
        #expect(bench.buffer.statistics.concealedSamples == 0)
    }

    @Test("timestamps that jump where no sequence number is missing are silence, though nobody said so")
    func unannouncedSilence() {
        var configuration = JitterConfiguration()
        configuration.pinnedDelayMilliseconds = 300
        var bench = Bench(configuration)
        bench.play(0..<50)
        bench.pull(20)
        for sequence in 50..<80 as Range<UInt32> {
            bench.offer(sequence, timestamp: sequence * 960 + 9_600)
            bench.pull(2)
        }
        // The packet was there before its time: what lies between is silence, not concealment.
        #expect(bench.buffer.statistics.concealedSamples == 0)
        #expect((15...25).contains(bench.outcomes.filter { $0.decision == .comfortNoise }.count))
    }

    @Test(
        "a discontinuity begins anew at the live edge, wherever its counters are",
        arguments: [(1_000, 5), (70, 0xFFFF_0000), (3, 5_000_000), (0xFFFF_FFF0, 0x8000_0000)] as [(UInt32, UInt32)])
    func discontinuity(sequence: UInt32, timestamp: UInt32) {
        var bench = Bench()
        bench.play(0..<50)
        bench.pull(100)
        for step in 0..<50 as Range<UInt32> {
            bench.offer(sequence &+ step, timestamp: timestamp &+ step &* 960, value: 0.5 + Float(step) / 1000, isDiscontinuity: step == 0)
            bench.pull(2)
        }
        let new = bench.played.filter { $0 >= 500 }
        #expect(new.first == 500 && new.count >= 45)
        let delay = bench.buffer.delayMilliseconds(now: bench.instant) ?? 1000
        #expect(delay <= bench.buffer.targetMilliseconds + 20)
    }

    @Test("counters that begin anew without a word do the same", arguments: [(5, 9_000_000), (3_000_000_000, 1)] as [(UInt32, UInt32)])
    func restart(sequence: UInt32, timestamp: UInt32) {
        var bench = Bench()
        for step in 0..<50 as Range<UInt32> {
            bench.offer(10_000 + step, timestamp: 500_000_000 + step * 960)
            bench.pull(2)
        }
        for step in 0..<100 as Range<UInt32> {
            bench.offer(sequence &+ step, timestamp: timestamp &+ step &* 960, value: 0.5)
            bench.pull(2)
        }
        #expect(bench.outcomes.suffix(100).allSatisfy { $0.isAudible })
        #expect((bench.buffer.delayMilliseconds(now: bench.instant) ?? 1000) <= bench.buffer.targetMilliseconds + 20)
    }

    @Test("a burst beyond the bounds flushes the oldest, never all")
    func bounds() {
        var configuration = JitterConfiguration()
        configuration.packetsMax = 40
        var bench = Bench(configuration)
        var outcomes: [InsertOutcome] = []
        for sequence in 0..<100 as Range<UInt32> { outcomes.append(bench.offer(sequence)) }
        #expect(outcomes.prefix(40).allSatisfy { $0 == .stored })
        #expect(outcomes.suffix(60).allSatisfy { $0 == .storedFlushingOldest })
        #expect(bench.buffer.statistics.discarded == 60)
        #expect(bench.buffer.levelMilliseconds == 800)
        bench.pull(50)
        #expect(bench.played.last == 99)
    }

    @Test("a flush plays out what is there and begins anew with what comes then")
    func flush() {
        var bench = Bench()
        bench.play(0..<20)
        for sequence in 20..<25 as Range<UInt32> { bench.offer(sequence) }
        bench.buffer.flush()
        bench.pull(30)
        #expect(bench.played.last == 24)
        #expect(bench.outcomes.last?.decision == .wait)
        #expect(bench.buffer.statistics.discarded == 0)
        #expect(bench.buffer.statistics.concealedSamples == 0)
        bench.play(500..<540)
        #expect(bench.played.last ?? 0 >= 530)
    }

    @Test("frames that come while a flush plays out are after it")
    func flushAndGoOn() {
        var bench = Bench()
        bench.play(0..<20)
        for sequence in 20..<25 as Range<UInt32> { bench.offer(sequence) }
        bench.buffer.flush()
        bench.play(700..<740)
        let played = bench.played
        #expect(played.contains(24) && played.contains(700))
        #expect(zip(played, played.dropFirst()).allSatisfy { $0 < $1 })
    }

    @Test("a reset is silent at once, counts what it drops, and keeps what was learnt")
    func reset() {
        var bench = Bench()
        bench.play(0..<100)
        for sequence in 100..<110 as Range<UInt32> { bench.offer(sequence) }
        let target = bench.buffer.targetMilliseconds
        bench.buffer.reset()
        bench.pull()
        #expect(bench.outcomes.last?.decision == .wait && bench.values.last == 0)
        #expect((10...13).contains(bench.buffer.statistics.discarded))
        #expect(bench.buffer.targetMilliseconds == target)
        #expect(bench.buffer.levelMilliseconds == 0)
        bench.play(5_000..<5_050)
        #expect(bench.played.last == 49)
    }

    @Test("a stream that just ends is concealed for ten seconds at most, and counts as one interruption")
    func end() {
        var bench = Bench()
        bench.play(0..<50)
        bench.pull(1_500)
        #expect(bench.outcomes.last?.decision == .wait)
        #expect(bench.buffer.statistics.interruptions == 1)
        #expect((9_900...10_100).contains(bench.buffer.statistics.interruptionMilliseconds))
        let counters = bench.buffer.statistics
        #expect(counters.silentConcealedSamples > counters.concealedSamples * 9 / 10)
        bench.play(600..<650)
        #expect(bench.outcomes.last?.isAudible == true)
    }

    @Test("what it plays of a steady stream is what was sent, bit for bit")
    func transparent() {
        let trace = TracePattern.steady(seconds: 10)
        var configuration = JitterConfiguration()
        configuration.pinnedDelayMilliseconds = 40
        let playback = Playback.play(trace, configuration, sound: .tone(440), isKeepingSamples: true, tailMilliseconds: 0)
        let start = (playback.decisions.firstIndex { $0 == .normal } ?? 0) * 480
        var payload = [Int16](repeating: 0, count: playback.samples.count - start)
        Playback.fill(&payload, .tone(440), first: 0, channels: 1, rate: 48_000)
        // After the first milliseconds, which come in from silence.
        for place in 480..<payload.count where playback.samples[start + place] != Float(payload[place]) / 32_768 {
            Issue.record(
                "sample \(place) differs: \(playback.samples[start + place - 2...start + place + 2]) \(payload[place - 2...place + 2]) \(start) \(playback.statistics)"
            )
            break
        }
    }

    @Test("a measurement is neither stretched nor filled with noise")
    func measurement() {
        var configuration = JitterConfiguration()
        configuration.isMeasurement = true
        let playback = Playback.play(TracePattern.stalls(everySeconds: 5, milliseconds: 300...500), configuration, sound: .tone(440))
        #expect(playback.statistics.removedByAccelerate == 0 && playback.statistics.insertedByExpand == 0)
        #expect(playback.decisions.allSatisfy { $0 == .normal || $0 == .conceal || $0 == .wait })
    }
}

@Suite("Several packets in a frame")
struct PacketTableTests {
    static func bytes(_ value: some FixedWidthInteger) -> [UInt8] {
        (0..<value.bitWidth / 8).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }

    static func table(_ entries: [(Int64, UInt32, UInt32)]) -> [UInt8] { entries.flatMap { bytes($0.0) + bytes($0.1) + bytes($0.2) } }

    static func insert(_ bench: inout Bench, sequence: UInt32, timestamp: UInt32, payload: [Float], table: [UInt8]) -> InsertOutcome {
        let header = MediaHeader(kind: .audio, stream: StreamID(1), sequence: sequence, timestamp: timestamp)
        return bench.buffer.insertFrame(
            header: header, payload: unsafe payload.span.bytes, packetTable: PacketTable(unsafe table.span.bytes), now: bench.instant)
    }

    @Test("play one after the other; their number of frames comes from the table or from themselves", arguments: [0, 960] as [UInt32])
    func table(frames: UInt32) {
        var bench = Bench()
        for step in 0..<20 as Range<UInt32> {
            let payload = (0..<3).flatMap { NumberDecoder.payload(960, Float(step * 3 + $0) / 1000) }
            let table = Self.table([(0, frames, 20), (20, frames, 20), (40, frames, 20)])
            #expect(Self.insert(&bench, sequence: step, timestamp: step * 2_880, payload: payload, table: table) == .stored)
            bench.pull(6)
        }
        #expect(bench.played == Array(0...(bench.played.last ?? 0)) && bench.played.count >= 54)
        #expect(bench.buffer.statistics.concealedSamples == 0)
        #expect(bench.buffer.statistics.packetsInserted == 60)
    }

    @Test(
        "a table that points outside, or makes much of little, is malformed",
        arguments: [[(50, 0, 20)], [(-1, 0, 20)], [(0, 0, 60), (0, 0, 60)], [(Int64.max, 0, 1)], [(0, 0, UInt32.max)]] as [[(Int64, UInt32, UInt32)]])
    func hostile(entries: [(Int64, UInt32, UInt32)]) {
        var bench = Bench()
        let payload = (0..<3).flatMap { NumberDecoder.payload(960, Float($0) / 1000) }
        let outcome = Self.insert(&bench, sequence: 0, timestamp: 0, payload: payload, table: Self.table(entries))
        #expect(outcome == .malformed)
        #expect(bench.buffer.statistics.malformed >= 1)
    }
}
