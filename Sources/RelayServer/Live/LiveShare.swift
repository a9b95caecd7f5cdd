import RelayBase

/// What one loop says for an overview: its counters, and of what is its own the most that anybody looks at.
struct LiveShare: Sendable {
    /// Which of the desk's questions it answers.
    var round: UInt64 = 0
    var at = MonotonicInstant.zero
    var counters = LoopCounters()
    /// The largest that the loop is home to.
    var rooms: [AdminRoom] = []
    /// Clients' that end soonest; on one loop the relay's own, too.
    var certificates: [LiveCertificate] = []

    static let roomsMax = 20
    static let clientCertificatesMax = 20
    /// A client's certificate that lasts longer is nobody's concern yet.
    static let clientCertificateSeconds: Int64 = 30 * 86_400

    /// The largest rooms: by participants, then streams, then name, so that the list stands still.
    static func largest(_ rooms: some Sequence<AdminRoom>) -> [AdminRoom] {
        Array(rooms.sorted { ($1.participants, $1.streams, $0.name) < ($0.participants, $0.streams, $1.name) }.prefix(roomsMax))
    }

    /// The soonest to end.
    static func soonest(_ certificates: some Sequence<LiveCertificate>) -> [LiveCertificate] {
        Array(certificates.sorted { ($0.notAfter, $0.name) < ($1.notAfter, $1.name) }.prefix(clientCertificatesMax))
    }
}

/// A certificate, and when it ends.
struct LiveCertificate: Encodable, Sendable, Hashable {
    enum Part: String, Encodable, Sendable {
        case server
        case authority
        case client
    }

    let what: Part
    let name: String
    /// Milliseconds since 1970-01-01T00:00Z.
    let notAfter: Double
    /// The session of a client that has one.
    var session: String?
}

/// What all loops have said at one time, and what the process has used.
struct LiveSurvey: Sendable {
    var shares: [LiveShare]
    var at: MonotonicInstant
    var processorNanoseconds: UInt64
}
