package import RelayBase

/// Somebody who speaks in a room.
package struct ActiveSpeaker: Hashable, Sendable, Codable {
    package let participant: ParticipantID
    package let stream: UInt32
    /// dBov, −127 to 0: as it was when the speakers changed.
    package let level: Int
}

/// Who speaks in a room, at its home: what the loops report of their streams, in an order that does not flicker.
///
/// Pure. Whoever is louder than another by a margin goes before them; until then everybody keeps the place that they have.
package struct ActiveSpeakers: Sendable {
    /// Loudest first, as the room was told last.
    package private(set) var current: [ActiveSpeaker] = []
    /// Who spoke last: those who speak now, in their order, then the others. At most ``recentMax``.
    package private(set) var recent: [ParticipantID] = []
    /// Of each loop that has reported, its last report.
    private var reports: [(loop: Int, streams: [SpeakingStream])] = []
    private var announcedAt: MonotonicInstant?

    /// As many as a subscriber may ask for, and one: itself is among them.
    package static let recentMax = 65
    /// So many dB louder one has to be to go before another.
    package static let margin = 6
    /// Between two changes, and so at most five of them a second.
    package static let changeMillisecondsMin: UInt64 = 200

    package init() {}

    /// What became of a look.
    package enum Look: Sendable, Equatable {
        case unchanged
        /// ``current`` is new: the room is to be told.
        case changed
        /// There is a change, which the room may hear of then.
        case early(MonotonicInstant)
    }

    /// A loop says who speaks in the streams that come in there: all of them, or the loudest.
    package mutating func report(from loop: Int, _ streams: [SpeakingStream]) {
        if let place = reports.firstIndex(where: { $0.loop == loop }) {
            reports[place].streams = streams
        } else {
            reports.append((loop, streams))
        }
    }

    package mutating func forget(_ participant: ParticipantID) {
        recent.removeAll { $0 == participant }
    }

    /// - Parameters:
    ///   - most: how many there may be.
    ///   - pause: milliseconds between two changes at least.
    ///   - publisher: whose stream it is; `nil`: nobody is heard in it.
    package mutating func look(
        now: MonotonicInstant, most: Int, pause: UInt64 = changeMillisecondsMin, publisher: (UInt32) -> ParticipantID?
    ) -> Look {
        let next = next(most: most, publisher)
        guard !next.elementsEqual(current, by: { $0.stream == $1.stream }) else { return .unchanged }
        if let announcedAt {
            let due = announcedAt.advanced(byMilliseconds: pause)
            if now < due { return .early(due) }
        }
        announcedAt = now
        current = next
        var order: [ParticipantID] = []
        for speaker in next where !order.contains(speaker.participant) { order.append(speaker.participant) }
        recent = Array((order + recent.filter { !order.contains($0) }).prefix(ActiveSpeakers.recentMax))
        return .changed
    }

    private func next(most: Int, _ publisher: (UInt32) -> ParticipantID?) -> [ActiveSpeaker] {
        var heard: [SpeakingStream] = []
        for report in reports {
            for one in report.streams where !heard.contains(where: { $0.stream == one.stream }) { heard.append(one) }
        }
        heard.sort(by: SpeakingStream.isLouder)
        // Those of before keep their order; the others follow.
        let known = current.compactMap { speaker in heard.first { $0.stream == speaker.stream } }
        let new = heard.filter { one in !known.contains { $0.stream == one.stream } }
        var next = (known + new).compactMap { one in
            publisher(one.stream).map { ActiveSpeaker(participant: $0, stream: one.stream, level: one.level) }
        }
        for place in next.indices.dropFirst() {
            var place = place
            while place > 0, next[place].level >= next[place - 1].level + ActiveSpeakers.margin {
                next.swapAt(place, place - 1)
                place -= 1
            }
        }
        return Array(next.prefix(most))
    }
}
