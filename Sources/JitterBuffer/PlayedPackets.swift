/// The packets that were played last: what comes and is among them came twice, and is not late.
struct PlayedPackets: Sendable {
    private static var countMax: Int { 64 }

    private var sequences = Array(repeating: UInt32(0), count: PlayedPackets.countMax)
    private var places = Array(repeating: Int64.min, count: PlayedPackets.countMax)
    private var next = 0

    mutating func append(sequence: UInt32, ticks: Int64) {
        sequences[next] = sequence
        places[next] = ticks
        next = next + 1 < Self.countMax ? next + 1 : 0
    }

    func contains(sequence: UInt32, ticks: Int64) -> Bool {
        for place in 0..<Self.countMax where places[place] == ticks && sequences[place] == sequence { return true }
        return false
    }
}
