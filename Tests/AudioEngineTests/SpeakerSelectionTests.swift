import RelayBase
import Testing

@testable import AudioEngine

@Suite("Choosing who is heard")
struct SpeakerSelectionTests {
    private static func run(_ selection: inout SpeakerSelection, ticks: Int, _ level: (_ place: Int, _ tick: Int) -> Float, places: Int) -> [Set<Int>]
    {
        (0..<ticks).map { tick in
            for place in 0..<places { selection.observe(place, decibels: level(place, tick), milliseconds: 20) }
            selection.choose(milliseconds: 20)
            return Set(selection.chosen)
        }
    }

    private static func make(_ places: Int, speakers: Int) -> SpeakerSelection {
        var selection = SpeakerSelection(speakersMax: speakers)
        for place in 0..<places { selection.add(place) }
        return selection
    }

    @Test("the loudest are chosen, in the very tick in which they are heard first")
    func loudest() {
        var selection = Self.make(10, speakers: 3)
        let chosen = Self.run(&selection, ticks: 50, { place, _ in -10 - 4 * Float(place) }, places: 10)
        #expect(chosen.allSatisfy { $0 == [0, 1, 2] })
    }

    @Test("a place that is free goes to whoever becomes audible, at once")
    func attack() {
        var selection = Self.make(4, speakers: 3)
        let chosen = Self.run(&selection, ticks: 20, { place, tick in place == 0 || place == 1 && tick >= 10 ? -40 : -127 }, places: 4)
        #expect(chosen[9] == [0] && chosen[10] == [0, 1])
    }

    @Test("who pauses keeps his place for 400 ms")
    func hangover() {
        var selection = Self.make(2, speakers: 1)
        let chosen = Self.run(&selection, ticks: 60, { place, tick in place == 0 && tick < 10 ? -20 : -127 }, places: 2)
        #expect(chosen[29] == [0] && chosen[31].isEmpty)
    }

    @Test("between two equals who talk at once, nothing goes to and fro")
    func noFlapping() {
        var selection = Self.make(4, speakers: 3)
        var random = SeededGenerator(seed: 3)
        var syllables = (0..<4).map { _ in Float(-20) }
        let chosen = Self.run(
            &selection, ticks: 1_500,
            { place, tick in
                // Each syllable of 200 ms has a loudness of its own, and every fourth is a pause.
                if tick % 10 == place * 2 { syllables[place] = (tick / 10 + place) % 4 == 0 ? -70 : Float.random(in: -23 ... -17, using: &random) }
                return syllables[place]
            }, places: 4)
        let changes = zip(chosen, chosen.dropFirst()).filter { $0 != $1 }.count
        #expect(changes <= 30, "\(changes) changes in 30 s")
    }

    @Test("who is much louder comes in at once even when all places are taken, and the softest goes")
    func replaced() {
        var selection = Self.make(4, speakers: 3)
        let chosen = Self.run(&selection, ticks: 80, { place, tick in place == 3 ? (tick < 60 ? -127 : -10) : -20 - Float(place) }, places: 4)
        #expect(chosen[59] == [0, 1, 2] && chosen[60] == [0, 1, 3])
    }

    @Test(
        "who has fallen to the noise of his room gives way within 200 ms to whoever speaks, however loud he was",
        arguments: [-9, -20, -40] as [Float], [0, 5, 15, 50])
    func noise(newcomer: Float, pauseTicks: Int) throws {
        var selection = Self.make(4, speakers: 3)
        let begins = 100 + pauseTicks
        let chosen = Self.run(
            &selection, ticks: 300, { place, tick in place == 3 ? (tick < begins ? -127 : newcomer) : tick < 100 ? -3 : -50 - Float(place) },
            places: 4)
        let heard = try #require(chosen.firstIndex { $0.contains(3) })
        #expect(heard <= max(begins, 100 + SpeakerSelection.pauseMilliseconds / 20))
        #expect(chosen[heard...].allSatisfy { $0.contains(3) && $0.count == 3 })
    }

    @Test("noise takes nobody's place: neither a speaker's between two words, nor that of other noise")
    func noiseStaysOut() {
        var selection = Self.make(4, speakers: 3)
        let chosen = Self.run(
            &selection, ticks: 500, { place, tick in place == 3 ? -45 : tick % 20 < 12 ? -20 : -48 }, places: 4)
        #expect(chosen.dropFirst(1).allSatisfy { $0 == [0, 1, 2] })
    }

    @Test("the same loudness does not come in while all places are taken")
    func equal() {
        var selection = Self.make(4, speakers: 3)
        let chosen = Self.run(&selection, ticks: 200, { place, tick in place == 3 && tick < 10 ? -127 : -20 }, places: 4)
        #expect(chosen.allSatisfy { $0 == [0, 1, 2] })
    }

    @Test("removed and silenced places are nobody's, and unknown ones are ignored")
    func removed() {
        var selection = Self.make(2, speakers: 3)
        _ = Self.run(&selection, ticks: 5, { _, _ in -20 }, places: 2)
        selection.remove(0)
        selection.silence(1)
        selection.remove(99)
        selection.silence(-1)
        selection.observe(0, decibels: 0, milliseconds: 20)
        #expect(selection.chosen.isEmpty && !selection.isChosen(-1))
        selection.choose(milliseconds: 20)
        #expect(selection.chosen.isEmpty)
        selection.add(0)
        selection.observe(0, decibels: -20, milliseconds: 20)
        selection.choose(milliseconds: 20)
        #expect(selection.chosen == [0])
    }
}
