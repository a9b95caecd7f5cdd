/// What the relay says unasked, one case for each such case of ``RelayMessage``; the raw value is the message's `type`.
package enum EventKind: String, CaseIterable, Sendable {
    case participantJoined = "participant.joined"
    case participantLeft = "participant.left"
    case participantChanged = "participant.changed"
    case streamPublished = "stream.published"
    case streamEnded = "stream.ended"
    case speakers
    case streamForwarded = "stream.forwarded"
    case streamGap = "stream.gap"
    case streamReport = "stream.report"
    case keyFrameRequested = "keyframe.requested"
    case layersWanted = "layers.wanted"
    case congested
    case recovered
    case keepAlive = "keepalive"
    case goAway = "goaway"
    case goAwayCancelled = "goaway.cancelled"
    case roomLocked = "room.locked"
    case roomRemoved = "room.removed"
    case roomAdmitted = "room.admitted"
    case lobbyWaiting = "lobby.waiting"
    case lobbyLeft = "lobby.left"
    case pairRequested = "pair.requested"
    case pairMade = "pair.made"
    case pairDeclined = "pair.declined"
    case pairWithdrawn = "pair.withdrawn"
    case pairRevoked = "pair.revoked"
    case sessionChanged = "session.changed"
    case interruptionBegan = "interruption.began"
    case interruptionEnded = "interruption.ended"
    case duckBegan = "duck.began"
    case duckEnded = "duck.ended"
    case silenceSecondaryAudioBegin = "silenceSecondaryAudio.begin"
    case silenceSecondaryAudioEnd = "silenceSecondaryAudio.end"
    case mediaServicesWereLost = "mediaServices.wereLost"
    case mediaServicesWereReset = "mediaServices.wereReset"
    case routeChanged = "route.changed"
    case streamStopped = "stream.stopped"
    case streamState = "stream.state"
    case formatWanted = "format.wanted"
    case streamUnmixed = "stream.unmixed"
    case participantInterrupted = "participant.interrupted"
    case participantHeld = "participant.held"
    case participantRoute = "participant.route"
    case participantMode = "participant.mode"

    /// Exhaustive: a message that is not described does not compile. `nil` for answers, which belong to their requests.
    package init?(_ message: RelayMessage) {
        switch message {
        case .welcome, .ok, .error: return nil
        case .participantJoined: self = .participantJoined
        case .participantLeft: self = .participantLeft
        case .participantChanged: self = .participantChanged
        case .streamPublished: self = .streamPublished
        case .streamEnded: self = .streamEnded
        case .speakers: self = .speakers
        case .streamForwarded: self = .streamForwarded
        case .streamGap: self = .streamGap
        case .streamReport: self = .streamReport
        case .keyFrameRequested: self = .keyFrameRequested
        case .layersWanted: self = .layersWanted
        case .congested: self = .congested
        case .recovered: self = .recovered
        case .keepAlive: self = .keepAlive
        case .goAway: self = .goAway
        case .goAwayCancelled: self = .goAwayCancelled
        case .roomLocked: self = .roomLocked
        case .roomRemoved: self = .roomRemoved
        case .roomAdmitted: self = .roomAdmitted
        case .lobbyWaiting: self = .lobbyWaiting
        case .lobbyLeft: self = .lobbyLeft
        case .pairRequested: self = .pairRequested
        case .pairMade: self = .pairMade
        case .pairDeclined: self = .pairDeclined
        case .pairWithdrawn: self = .pairWithdrawn
        case .pairRevoked: self = .pairRevoked
        case .sessionChanged: self = .sessionChanged
        case .interruptionBegan: self = .interruptionBegan
        case .interruptionEnded: self = .interruptionEnded
        case .duckBegan: self = .duckBegan
        case .duckEnded: self = .duckEnded
        case .silenceSecondaryAudioBegin: self = .silenceSecondaryAudioBegin
        case .silenceSecondaryAudioEnd: self = .silenceSecondaryAudioEnd
        case .mediaServicesWereLost: self = .mediaServicesWereLost
        case .mediaServicesWereReset: self = .mediaServicesWereReset
        case .routeChanged: self = .routeChanged
        case .streamStopped: self = .streamStopped
        case .streamState: self = .streamState
        case .formatWanted: self = .formatWanted
        case .streamUnmixed: self = .streamUnmixed
        case .participantInterrupted: self = .participantInterrupted
        case .participantHeld: self = .participantHeld
        case .participantRoute: self = .participantRoute
        case .participantMode: self = .participantMode
        }
    }

    package var description: EventDescription {
        switch self {
        case .participantJoined: .participantJoined
        case .participantLeft: .participantLeft
        case .participantChanged: .participantChanged
        case .streamPublished: .streamPublished
        case .streamEnded: .streamEnded
        case .speakers: .speakers
        case .streamForwarded: .streamForwarded
        case .streamGap: .streamGap
        case .streamReport: .streamReport
        case .keyFrameRequested: .keyFrameRequested
        case .layersWanted: .layersWanted
        case .congested: .congested
        case .recovered: .recovered
        case .keepAlive: .keepAlive
        case .goAway: .goAway
        case .goAwayCancelled: .goAwayCancelled
        case .roomLocked: .roomLocked
        case .roomRemoved: .roomRemoved
        case .roomAdmitted: .roomAdmitted
        case .lobbyWaiting: .lobbyWaiting
        case .lobbyLeft: .lobbyLeft
        case .pairRequested: .pairRequested
        case .pairMade: .pairMade
        case .pairDeclined: .pairDeclined
        case .pairWithdrawn: .pairWithdrawn
        case .pairRevoked: .pairRevoked
        case .sessionChanged: .sessionChanged
        case .interruptionBegan: .interruptionBegan
        case .interruptionEnded: .interruptionEnded
        case .duckBegan: .duckBegan
        case .duckEnded: .duckEnded
        case .silenceSecondaryAudioBegin: .silenceSecondaryAudioBegin
        case .silenceSecondaryAudioEnd: .silenceSecondaryAudioEnd
        case .mediaServicesWereLost: .mediaServicesWereLost
        case .mediaServicesWereReset: .mediaServicesWereReset
        case .routeChanged: .routeChanged
        case .streamStopped: .streamStopped
        case .streamState: .streamState
        case .formatWanted: .formatWanted
        case .streamUnmixed: .streamUnmixed
        case .participantInterrupted: .participantInterrupted
        case .participantHeld: .participantHeld
        case .participantRoute: .participantRoute
        case .participantMode: .participantMode
        }
    }
}

/// An event, as the document says it.
package struct EventDescription: Sendable {
    /// A sentence.
    let summary: String
    /// Besides `type`.
    let members: [SchemaMember]
    /// Whole messages, as they go over the wire.
    package let examples: [String]

    init(_ summary: String, _ members: [SchemaMember] = [], _ examples: String...) {
        self.summary = summary
        self.members = members
        self.examples = examples
    }
}
