/// What active sessions are told of each other: to duck, and to silence secondary audio (§3).
extension IdentitySessions {
    /// Derived from the states as a whole, so that every begin has its end whatever happens.
    mutating func updateHints(into effects: inout [Addressed]) {
        let active = records.filter { $0.state == .active }
        let duckers = active.filter(\.traits.ducks)
        let primaries = active.filter(\.traits.isPrimary)
        for place in records.indices {
            let record = records[place]
            let takesPart = record.state == .active && record.traits.takesPart
            let isDucked = takesPart && duckers.contains { $0.key != record.key }
            if isDucked != record.isDucked {
                records[place].isDucked = isDucked
                let event: SessionEvent =
                    isDucked
                    ? .duckBegan(gainDecibels: limits.duckGainDecibels, rampMilliseconds: limits.duckRampMilliseconds)
                    : .duckEnded(gainDecibels: 0, rampMilliseconds: limits.duckRampMilliseconds)
                effects.append(Addressed(record.key, .event(event)))
            }
            let isSilenced = takesPart && record.traits.mixes && primaries.contains { $0.key != record.key }
            if isSilenced != record.isSecondaryAudioSilenced {
                records[place].isSecondaryAudioSilenced = isSilenced
                effects.append(Addressed(record.key, .event(isSilenced ? .silenceSecondaryAudioBegan : .silenceSecondaryAudioEnded)))
            }
        }
    }
}
