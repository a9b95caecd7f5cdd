/// What one listener hears: in which format, and with which gains.
struct MixOutput {
    /// A gain of one of the inputs.
    struct InputGain {
        let input: UInt32
        var ramp: MixRamp
        var pan: Float

        func isUnity(at clock: UInt64) -> Bool { pan == 0 && ramp.isUnity(at: clock) }
    }

    let id: UInt32
    var format: MixFormat
    /// Of everything: ducking.
    var ramp = MixRamp(1)
    /// Sorted by input. Gains that are 1 and stay so are not kept.
    private(set) var gains: [InputGain] = []
    /// The place of its class among the mixer's.
    var mixClass: Int
    /// The place of its own encoder in its class; `nil` while it hears the shared mix.
    var own: Int?
    /// Its own mix is needed in this tick, or, until encoders are assigned, was in the one before.
    var neededOwn = false
    /// It has not heard the shared encoder's last packet.
    var isNew = true
    /// Its packet among those of the last tick; `nil` before the first.
    var place: Int?

    init(_ id: UInt32, _ format: MixFormat, mixClass: Int) {
        self.id = id
        self.format = format
        self.mixClass = mixClass
    }

    /// In this tick, once encoders have been assigned.
    var hearsShared: Bool { own == nil && !neededOwn }

    /// Where the gain of an input is, or would be.
    private func index(of input: UInt32) -> Int {
        var range = 0..<gains.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            if gains[middle].input < input { range = middle + 1..<range.upperBound } else { range = range.lowerBound..<middle }
        }
        return range.lowerBound
    }

    func gain(of input: UInt32) -> InputGain? {
        guard !gains.isEmpty else { return nil }
        let index = index(of: input)
        return index < gains.count && gains[index].input == input ? gains[index] : nil
    }

    mutating func set(_ gain: InputGain, at clock: UInt64) {
        let index = index(of: gain.input)
        let isThere = index < gains.count && gains[index].input == gain.input
        switch (isThere, gain.isUnity(at: clock)) {
        case (true, true): gains.remove(at: index)
        case (true, false): gains[index] = gain
        case (false, true): break
        case (false, false): gains.insert(gain, at: index)
        }
    }

    mutating func removeGain(of input: UInt32) { gains.removeAll { $0.input == input } }

    /// Whether it must not hear the shared mix.
    func needsOwn(_ contributions: [MixContribution], clock: UInt64) -> Bool {
        let isPlain = format.isMeasurement || ramp.isUnity(at: clock)
        for contribution in contributions {
            if contribution.participant == format.participant { return true }
            if !format.isMeasurement, let gain = gain(of: contribution.input), !gain.isUnity(at: clock) { return true }
        }
        // A mix of nobody is the same at any gain.
        return !isPlain && !contributions.isEmpty
    }
}
