/// Chooses who is heard: the loudest, few enough that each is understood, and without going to and fro between equals.
///
/// Places are numbers that the caller gives and uses again. An attack is immediate: who becomes audible is heard from that tick on when a place is free, or when he is louder
/// than somebody who has one. A release is slow: while somebody speaks, loudness counts as it was, falling by 10 dB a second, and who falls silent keeps the place for
/// 400 ms. Who speaks no more, whatever noise still comes from there, defends the place for ``pauseMilliseconds`` and from then on only with that noise.
package struct SpeakerSelection: Sendable {
    /// Quieter than this is silence, in dBov.
    package static let audible: Float = -60
    /// How long somebody who is silent stays chosen.
    package static let hangoverMilliseconds = 400
    /// Longer pauses are not those between syllables: the place is kept, but not defended.
    package static let pauseMilliseconds = 200
    /// So far below one's own loudness is a pause: what is heard then is the background.
    package static let pauseDepth: Float = 25
    /// How fast loudness is forgotten, in dB a second.
    package static let release: Float = 10
    /// The same of what counts at the moment.
    package static let recentRelease: Float = 400
    /// How much louder a newcomer must be than somebody who has been chosen for a while, or who has just come.
    package static let margin: Float = 6
    package static let marginAtFirst: Float = 9
    package static let firstMilliseconds = 1_000

    private struct Voice: Sendable {
        var isThere = false
        var loudness: Float = -127
        /// The loudness of some hundredths of a second.
        var recent: Float = -127
        var silentMilliseconds = Int.max
        var pausedMilliseconds = Int.max
        var isChosen = false
        var chosenMilliseconds = 0

        var isAudible: Bool { silentMilliseconds == 0 && pausedMilliseconds == 0 }
        /// What a newcomer must be louder than.
        var threshold: Float {
            if silentMilliseconds > SpeakerSelection.pauseMilliseconds { return recent }
            if pausedMilliseconds > SpeakerSelection.pauseMilliseconds { return recent + SpeakerSelection.margin }
            return loudness + (chosenMilliseconds < SpeakerSelection.firstMilliseconds ? SpeakerSelection.marginAtFirst : SpeakerSelection.margin)
        }
    }

    package let speakersMax: Int
    private var voices: [Voice] = []
    /// Places of those who are chosen, in no order.
    package private(set) var chosen: [Int] = []

    package init(speakersMax: Int) {
        self.speakersMax = max(speakersMax, 0)
        chosen.reserveCapacity(self.speakersMax + 1)
    }

    /// - Parameter place: dense, 0 upwards.
    package mutating func add(_ place: Int) {
        while voices.count <= place { voices.append(Voice()) }
        voices[place] = Voice(isThere: true)
    }

    package mutating func remove(_ place: Int) {
        silence(place)
        if voices.indices.contains(place) { voices[place].isThere = false }
    }

    /// He is not heard any more, until he is loud again.
    package mutating func silence(_ place: Int) {
        guard voices.indices.contains(place) else { return }
        voices[place].loudness = -127
        voices[place].recent = -127
        voices[place].silentMilliseconds = .max
        voices[place].pausedMilliseconds = .max
        drop(place)
    }

    package func isChosen(_ place: Int) -> Bool { voices.indices.contains(place) && voices[place].isChosen }

    /// Tells how loud somebody is in the coming tick, in dBov; of everybody once, before ``choose(milliseconds:)``.
    package mutating func observe(_ place: Int, decibels: Float, milliseconds: Int) {
        guard voices.indices.contains(place), voices[place].isThere else { return }
        let seconds = Float(milliseconds) / 1_000
        let isSpeaking = decibels >= max(Self.audible, voices[place].loudness - Self.pauseDepth)
        voices[place].loudness = max(decibels, voices[place].loudness - Self.release * seconds, -127)
        voices[place].recent = max(decibels, voices[place].recent - Self.recentRelease * seconds, -127)
        voices[place].silentMilliseconds = decibels >= Self.audible ? 0 : Self.sum(voices[place].silentMilliseconds, milliseconds)
        voices[place].pausedMilliseconds = isSpeaking ? 0 : Self.sum(voices[place].pausedMilliseconds, milliseconds)
    }

    private static func sum(_ duration: Int, _ milliseconds: Int) -> Int {
        duration > .max - milliseconds ? duration : duration + milliseconds
    }

    /// Chooses for the coming tick.
    package mutating func choose(milliseconds: Int) {
        for index in stride(from: chosen.count - 1, through: 0, by: -1) {
            let place = chosen[index]
            voices[place].chosenMilliseconds = min(voices[place].chosenMilliseconds + milliseconds, 1 << 30)
            if voices[place].silentMilliseconds > Self.hangoverMilliseconds { drop(place) }
        }
        while let newcomer = loudestOutside() {
            if chosen.count >= speakersMax {
                guard let weakest = weakestInside(), voices[newcomer].recent > voices[weakest].threshold else { return }
                drop(weakest)
            }
            voices[newcomer].isChosen = true
            voices[newcomer].chosenMilliseconds = 0
            chosen.append(newcomer)
        }
    }

    private mutating func drop(_ place: Int) {
        guard voices[place].isChosen else { return }
        voices[place].isChosen = false
        chosen.removeAll { $0 == place }
    }

    private func loudestOutside() -> Int? {
        var loudest: Int?
        for place in voices.indices where voices[place].isThere && voices[place].isAudible && !voices[place].isChosen {
            if let other = loudest, voices[other].recent >= voices[place].recent { continue }
            loudest = place
        }
        return loudest
    }

    private func weakestInside() -> Int? {
        chosen.min { voices[$0].threshold < voices[$1].threshold }
    }
}
