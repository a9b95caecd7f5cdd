import JitterBuffer
import RelayRooms

/// A jitter buffer of a stream at the relay, as administrators see it.
struct AdminBuffer: Codable, Sendable, Equatable {
    /// `paced` or `mixed`.
    let delivery: String
    /// Of paced delivery: what was wished of it.
    let latePolicy: String?
    let profile: String?
    let pinnedMilliseconds: Int?
    let targetMilliseconds: UInt32
    let levelMilliseconds: UInt32
    let packets: UInt64
    let late: UInt64
    let duplicates: UInt64
    let malformed: UInt64
    let discarded: UInt64
    let recovered: UInt64
    /// Of the samples that were played, 0 to 1.
    let concealedShare: Double
    let acceleratedShare: Double
    let expandedShare: Double
    let concealments: UInt64
    /// Concealments of 150 ms and more, and their length together.
    let interruptions: UInt64
    let interruptionMilliseconds: UInt64
    /// The publisher's clock against the relay's; positive: it is faster.
    let driftPPM: Double

    init(_ name: AudioBufferName, _ statistics: JitterStatistics) {
        delivery = name.paced == nil ? "mixed" : "paced"
        latePolicy = name.paced.map { $0.conceals ? "conceal" : "drop" }
        profile = name.paced.map { "\($0.profile)" }
        pinnedMilliseconds = name.paced?.pinnedMilliseconds
        targetMilliseconds = statistics.targetMilliseconds
        levelMilliseconds = statistics.levelMilliseconds
        packets = statistics.packetsInserted
        late = statistics.late
        duplicates = statistics.duplicates
        malformed = statistics.malformed
        discarded = statistics.discarded
        recovered = statistics.recovered
        concealedShare = AdminBuffer.share(statistics.concealedSamples, statistics.samplesPlayed)
        acceleratedShare = AdminBuffer.share(statistics.removedByAccelerate, statistics.samplesPlayed)
        expandedShare = AdminBuffer.share(statistics.insertedByExpand, statistics.samplesPlayed)
        concealments = statistics.concealmentEvents
        interruptions = statistics.interruptions
        interruptionMilliseconds = statistics.interruptionMilliseconds
        driftPPM = (Double(statistics.driftPartsPerMillion) * 10).rounded() / 10
    }

    private static func share(_ part: UInt64, _ whole: UInt64) -> Double {
        whole == 0 ? 0 : min(1, (Double(part) / Double(whole) * 1_000_000).rounded() / 1_000_000)
    }
}

extension AudioBoard {
    /// The buffers of a room's streams, as they were up to a quarter of a second ago.
    func buffers(of room: RoomNumber) -> [UInt32: [AdminBuffer]] {
        var buffers: [UInt32: [AdminBuffer]] = [:]
        for worker in snapshot() {
            for (name, statistics) in worker.buffers where name.room == room {
                buffers[name.stream, default: []].append(AdminBuffer(name, statistics))
            }
        }
        return buffers
    }
}
