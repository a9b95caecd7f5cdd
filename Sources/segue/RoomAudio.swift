import Signalling

/// Who in a room is interrupted or held and what for their audio sessions are, as it was told last, so that a change is told once, whether an event or a list of the participants brings it. Pure.
struct RoomAudio {
    /// Something to be told of a participant: with its name before it, a sentence.
    struct Word: Equatable {
        var participant: UInt32
        var event: String
        var sentence: String
        var fields: [String: String]
    }

    private struct State: Equatable {
        var isInterrupted = false
        var isHeld = false
        /// What its audio session is for; `nil`: it has none.
        var purpose: Purpose?
    }

    private struct Purpose: Equatable {
        let category: String
        let mode: String
    }

    /// Of those of whom there is something to tell.
    private var states: [UInt32: State] = [:]

    mutating func remove(_ participant: UInt32) {
        states[participant] = nil
    }

    /// Events of other kinds, and those that change nothing, are nothing to be told.
    mutating func take(_ news: RelayMessage) -> Word? {
        switch news {
        case .participantInterrupted(let body): interrupted(body.participant, body.interrupted, reason: body.reason)
        case .participantHeld(let body): held(body.participant, body.held)
        case .participantRoute(let body): Self.route(body.participant, body.inputs, body.outputs)
        case .participantMode(let body): purpose(body.participant, body.category, mode: body.mode)
        default: nil
        }
    }

    /// A participant as a list of them has it, when the room is entered or seen again.
    mutating func take(_ participant: RelayMessage.Participant) -> [Word] {
        [
            interrupted(participant.participant, participant.interrupted ?? false, reason: nil),
            held(participant.participant, participant.held ?? false),
            participant.category.flatMap { purpose(participant.participant, $0, mode: participant.mode ?? "default") },
        ].compactMap { $0 }
    }

    private mutating func interrupted(_ participant: UInt32, _ isInterrupted: Bool, reason: String?) -> Word? {
        guard states[participant, default: State()].isInterrupted != isInterrupted else { return nil }
        states[participant, default: State()].isInterrupted = isInterrupted
        forgetIfNothing(participant)
        var fields = ["interrupted": "\(isInterrupted)"]
        if isInterrupted { fields["reason"] = reason }
        let sentence = isInterrupted ? "is interrupted\(reason.map { " (\($0))" } ?? "")" : "is interrupted no more"
        return Word(participant: participant, event: "interrupted", sentence: sentence, fields: fields)
    }

    private mutating func held(_ participant: UInt32, _ isHeld: Bool) -> Word? {
        guard states[participant, default: State()].isHeld != isHeld else { return nil }
        states[participant, default: State()].isHeld = isHeld
        forgetIfNothing(participant)
        let sentence = isHeld ? "is held: nothing goes to it or comes from it" : "is held no more"
        return Word(participant: participant, event: "held", sentence: sentence, fields: ["held": "\(isHeld)"])
    }

    /// Modes are words of the protocol, or of a relay that has more of them.
    private mutating func purpose(_ participant: UInt32, _ category: String, mode: String) -> Word? {
        let purpose = Purpose(category: category, mode: mode)
        guard states[participant, default: State()].purpose != purpose else { return nil }
        states[participant, default: State()].purpose = purpose
        let sentence = "has an audio session: \(category)\(mode == "default" ? "" : ", \(mode)")"
        return Word(participant: participant, event: "mode", sentence: sentence, fields: ["category": category, "mode": mode])
    }

    private mutating func forgetIfNothing(_ participant: UInt32) {
        if states[participant] == State() { states[participant] = nil }
    }

    private static func route(_ participant: UInt32, _ inputs: [AudioPort], _ outputs: [AudioPort]) -> Word {
        func types(_ ports: [AudioPort]) -> String { ports.map(\.type).joined(separator: ", ") }
        let ways = [("hears through", outputs), ("talks through", inputs)].filter { !$0.1.isEmpty }.map { "\($0.0) \(types($0.1))" }
        return Word(
            participant: participant, event: "route", sentence: ways.isEmpty ? "has no audio route" : ways.joined(separator: ", "),
            fields: ["inputs": types(inputs), "outputs": types(outputs)])
    }
}
