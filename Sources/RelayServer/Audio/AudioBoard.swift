import JitterBuffer
import RelayRooms

/// What a worker has counted.
struct AudioCounters: Sendable {
    var framesReceived: UInt64 = 0
    /// Of streams that send more frames than any codec makes.
    var framesRefused: UInt64 = 0
    /// Encrypted between the ends, where they were to be decoded.
    var framesEncrypted: UInt64 = 0
    var framesReleased: UInt64 = 0
    /// Found the ring to a loop full.
    var framesLost: UInt64 = 0
    var ticks: UInt64 = 0
    /// Ticks that began more than a tick too late.
    var deadlineMisses: UInt64 = 0
    /// Ticks left out because the worker was too far behind.
    var ticksShed: UInt64 = 0
    var encodes: UInt64 = 0
    /// Gains that were not given for want of encoders.
    var gainsRefused: UInt64 = 0
    var busyNanoseconds: UInt64 = 0
    /// Of buffers that are no more.
    var departed = BufferTotals()

    mutating func add(_ other: AudioCounters) {
        framesReceived &+= other.framesReceived
        framesRefused &+= other.framesRefused
        framesEncrypted &+= other.framesEncrypted
        framesReleased &+= other.framesReleased
        framesLost &+= other.framesLost
        ticks &+= other.ticks
        deadlineMisses &+= other.deadlineMisses
        ticksShed &+= other.ticksShed
        encodes &+= other.encodes
        gainsRefused &+= other.gainsRefused
        busyNanoseconds &+= other.busyNanoseconds
        departed.add(other.departed)
    }
}

/// Sums over buffers.
struct BufferTotals: Sendable {
    var inserted: UInt64 = 0
    var late: UInt64 = 0
    var duplicates: UInt64 = 0
    var malformed: UInt64 = 0
    var discarded: UInt64 = 0
    var samplesPlayed: UInt64 = 0
    var concealedSamples: UInt64 = 0
    var concealmentEvents: UInt64 = 0
    var interruptions: UInt64 = 0
    var removedByAccelerate: UInt64 = 0
    var insertedByExpand: UInt64 = 0

    init() {}

    init(_ statistics: JitterStatistics) {
        inserted = statistics.packetsInserted
        late = statistics.late
        duplicates = statistics.duplicates
        malformed = statistics.malformed
        discarded = statistics.discarded
        samplesPlayed = statistics.samplesPlayed
        concealedSamples = statistics.concealedSamples
        concealmentEvents = statistics.concealmentEvents
        interruptions = statistics.interruptions
        removedByAccelerate = statistics.removedByAccelerate
        insertedByExpand = statistics.insertedByExpand
    }

    mutating func add(_ statistics: JitterStatistics) { add(BufferTotals(statistics)) }

    mutating func add(_ other: BufferTotals) {
        inserted &+= other.inserted
        late &+= other.late
        duplicates &+= other.duplicates
        malformed &+= other.malformed
        discarded &+= other.discarded
        samplesPlayed &+= other.samplesPlayed
        concealedSamples &+= other.concealedSamples
        concealmentEvents &+= other.concealmentEvents
        interruptions &+= other.interruptions
        removedByAccelerate &+= other.removedByAccelerate
        insertedByExpand &+= other.insertedByExpand
    }
}

/// One buffer: of which stream, and what for.
struct AudioBufferName: Sendable {
    let room: RoomNumber
    let stream: UInt32
    /// `nil`: for the mix.
    let paced: PacedVariant?

    init(_ room: RoomNumber, _ stream: UInt32, paced: PacedVariant?) {
        self.room = room
        self.stream = stream
        self.paced = paced
    }
}

/// What a worker has and has counted.
struct AudioSnapshot: Sendable {
    var counters = AudioCounters()
    var totals = BufferTotals()
    var buffers: [(name: AudioBufferName, statistics: JitterStatistics)] = []
    var mixes = 0
    var mixOutputs = 0

    init(counters: AudioCounters = AudioCounters()) {
        self.counters = counters
        totals = counters.departed
    }

    mutating func add(_ statistics: JitterStatistics, _ name: AudioBufferName) {
        totals.add(statistics)
        buffers.append((name, statistics))
    }

    var pacedBuffers: Int { buffers.count { $0.name.paced != nil } }
}
