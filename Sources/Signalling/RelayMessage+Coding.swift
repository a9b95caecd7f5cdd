import FoundationEssentials

extension RelayMessage {
    /// Decodes what a relay said: for clients. An unknown `type` answers `nil`: newer relays may say more.
    package static func decode(_ bytes: [UInt8]) throws -> RelayMessage? {
        let decoder = JSONDecoder()
        let data = Data(bytes)
        let head = try decoder.decode(Head.self, from: data)
        switch head.type {
        case "welcome": return .welcome(id: head.id ?? 0, try decoder.decode(Welcome.self, from: data))
        case "ok": return .ok(id: head.id ?? 0, try decoder.decode(Answer.self, from: data))
        case "error": return .error(id: head.id, try decoder.decode(Refusal.self, from: data))
        case "participant.joined": return .participantJoined(try decoder.decode(Participant.self, from: data))
        case "participant.left":
            let event = try decoder.decode(Left.self, from: data)
            return .participantLeft(participant: event.participant, reason: event.reason)
        case "stream.published": return .streamPublished(try decoder.decode(StreamInfo.self, from: data))
        case "stream.ended": return .streamEnded(stream: try decoder.decode(ClientRequest.StreamReference.self, from: data).stream)
        case "speakers": return .speakers(try decoder.decode(Speakers.self, from: data))
        case "stream.forwarded": return .streamForwarded(try decoder.decode(StreamsForwarded.self, from: data))
        case "keyframe.requested":
            let event = try decoder.decode(KeyFrameNeed.self, from: data)
            return .keyFrameRequested(stream: event.stream, layer: event.layer)
        case "goaway":
            let event = try decoder.decode(Away.self, from: data)
            return .goAway(deadlineMilliseconds: event.deadlineMilliseconds, reason: event.reason, node: event.node)
        case "goaway.cancelled": return .goAwayCancelled
        case "participant.changed": return .participantChanged(try decoder.decode(ParticipantState.self, from: data))
        case "room.locked": return .roomLocked(try decoder.decode(Lock.self, from: data))
        case "room.removed": return .roomRemoved(try decoder.decode(RoomRemoval.self, from: data))
        case "room.admitted": return .roomAdmitted(try decoder.decode(RoomEntry.self, from: data))
        case "lobby.waiting": return .lobbyWaiting(try decoder.decode(Participant.self, from: data))
        case "lobby.left": return .lobbyLeft(participant: try decoder.decode(ClientRequest.ParticipantReference.self, from: data).participant)
        case "pair.requested": return .pairRequested(try decoder.decode(PairInvitation.self, from: data))
        case "pair.made": return .pairMade(try decoder.decode(PairMade.self, from: data))
        case "pair.declined": return .pairDeclined(request: try decoder.decode(ClientRequest.PairRequestReference.self, from: data).request)
        case "pair.withdrawn": return .pairWithdrawn(try decoder.decode(PairWithdrawal.self, from: data))
        case "pair.revoked": return .pairRevoked(try decoder.decode(PairRevocation.self, from: data))
        case "congested": return .congested(try decoder.decode(Congestion.self, from: data))
        case "recovered": return .recovered(try decoder.decode(Congestion.self, from: data))
        case "layers.wanted": return .layersWanted(try decoder.decode(LayersWanted.self, from: data))
        case "stream.gap": return .streamGap(try decoder.decode(StreamGap.self, from: data))
        case "stream.report": return .streamReport(try decoder.decode(StreamQuality.self, from: data))
        case "keepalive": return .keepAlive
        default: return try audioSession(head.type, data, decoder)
        }
    }

    private static func audioSession(_ type: String, _ data: Data, _ decoder: JSONDecoder) throws -> RelayMessage? {
        switch type {
        case "session.changed": .sessionChanged(try decoder.decode(SessionChange.self, from: data))
        case "interruption.began": .interruptionBegan(try decoder.decode(InterruptionBegan.self, from: data))
        case "interruption.ended": .interruptionEnded(try decoder.decode(InterruptionEnded.self, from: data))
        case "duck.began": .duckBegan(try decoder.decode(Duck.self, from: data))
        case "duck.ended": .duckEnded(try decoder.decode(Duck.self, from: data))
        case "silenceSecondaryAudio.begin": .silenceSecondaryAudioBegin
        case "silenceSecondaryAudio.end": .silenceSecondaryAudioEnd
        case "mediaServices.wereLost": .mediaServicesWereLost
        case "mediaServices.wereReset": .mediaServicesWereReset
        case "route.changed": .routeChanged(try decoder.decode(RouteNotice.self, from: data))
        case "stream.stopped": .streamStopped(try decoder.decode(StreamStopped.self, from: data))
        case "stream.state": .streamState(try decoder.decode(StreamPlayback.self, from: data))
        case "stream.unmixed": .streamUnmixed(try decoder.decode(StreamUnmixed.self, from: data))
        case "format.wanted": .formatWanted(try decoder.decode(FormatWanted.self, from: data))
        case "participant.interrupted": .participantInterrupted(try decoder.decode(ParticipantInterrupted.self, from: data))
        case "participant.held": .participantHeld(try decoder.decode(ParticipantHeld.self, from: data))
        case "participant.route": .participantRoute(try decoder.decode(ParticipantRoute.self, from: data))
        case "participant.mode": .participantMode(try decoder.decode(ParticipantMode.self, from: data))
        default: nil
        }
    }

    private struct Head: Codable {
        var type: String
        var id: UInt64?
    }

    private struct Left: Codable {
        var participant: UInt32
        var reason: LeaveReason
    }

    private struct KeyFrameNeed: Codable {
        var stream: UInt32
        var layer: Int?
    }

    private struct Away: Codable {
        var deadlineMilliseconds: UInt64
        var reason: String
        var node: String?
    }
}

extension RelayMessage: Encodable {
    package func encode(to encoder: any Encoder) throws {
        switch self {
        case .welcome(let id, let body): try RelayMessage.write(encoder, "welcome", id: id, body)
        case .ok(let id, let body): try RelayMessage.write(encoder, "ok", id: id, body)
        case .error(let id, let body): try RelayMessage.write(encoder, "error", id: id, body)
        case .participantJoined(let body): try RelayMessage.write(encoder, "participant.joined", id: nil, body)
        case .participantLeft(let participant, let reason):
            try RelayMessage.write(encoder, "participant.left", id: nil, Left(participant: participant, reason: reason))
        case .streamPublished(let body): try RelayMessage.write(encoder, "stream.published", id: nil, body)
        case .streamEnded(let stream): try RelayMessage.write(encoder, "stream.ended", id: nil, ClientRequest.StreamReference(stream: stream))
        case .speakers(let body): try RelayMessage.write(encoder, "speakers", id: nil, body)
        case .streamForwarded(let body): try RelayMessage.write(encoder, "stream.forwarded", id: nil, body)
        case .keyFrameRequested(let stream, let layer):
            try RelayMessage.write(encoder, "keyframe.requested", id: nil, KeyFrameNeed(stream: stream, layer: layer))
        case .goAwayCancelled: try Head(type: "goaway.cancelled", id: nil).encode(to: encoder)
        case .goAway(let deadline, let reason, let node):
            try RelayMessage.write(encoder, "goaway", id: nil, Away(deadlineMilliseconds: deadline, reason: reason, node: node))
        case .participantChanged(let body): try RelayMessage.write(encoder, "participant.changed", id: nil, body)
        case .roomLocked(let body): try RelayMessage.write(encoder, "room.locked", id: nil, body)
        case .roomRemoved(let body): try RelayMessage.write(encoder, "room.removed", id: nil, body)
        case .roomAdmitted(let body): try RelayMessage.write(encoder, "room.admitted", id: nil, body)
        case .lobbyWaiting(let body): try RelayMessage.write(encoder, "lobby.waiting", id: nil, body)
        case .lobbyLeft(let participant):
            try RelayMessage.write(encoder, "lobby.left", id: nil, ClientRequest.ParticipantReference(participant: participant))
        case .pairRequested(let body): try RelayMessage.write(encoder, "pair.requested", id: nil, body)
        case .pairMade(let body): try RelayMessage.write(encoder, "pair.made", id: nil, body)
        case .pairDeclined(let request):
            try RelayMessage.write(encoder, "pair.declined", id: nil, ClientRequest.PairRequestReference(request: request))
        case .pairWithdrawn(let body): try RelayMessage.write(encoder, "pair.withdrawn", id: nil, body)
        case .pairRevoked(let body): try RelayMessage.write(encoder, "pair.revoked", id: nil, body)
        case .congested(let body): try RelayMessage.write(encoder, "congested", id: nil, body)
        case .recovered(let body): try RelayMessage.write(encoder, "recovered", id: nil, body)
        case .layersWanted(let body): try RelayMessage.write(encoder, "layers.wanted", id: nil, body)
        case .streamGap(let body): try RelayMessage.write(encoder, "stream.gap", id: nil, body)
        case .streamReport(let body): try RelayMessage.write(encoder, "stream.report", id: nil, body)
        case .keepAlive: try Head(type: "keepalive", id: nil).encode(to: encoder)
        case .sessionChanged(let body): try RelayMessage.write(encoder, "session.changed", id: nil, body)
        case .interruptionBegan(let body): try RelayMessage.write(encoder, "interruption.began", id: nil, body)
        case .interruptionEnded(let body): try RelayMessage.write(encoder, "interruption.ended", id: nil, body)
        case .duckBegan(let body): try RelayMessage.write(encoder, "duck.began", id: nil, body)
        case .duckEnded(let body): try RelayMessage.write(encoder, "duck.ended", id: nil, body)
        case .silenceSecondaryAudioBegin: try Head(type: "silenceSecondaryAudio.begin", id: nil).encode(to: encoder)
        case .silenceSecondaryAudioEnd: try Head(type: "silenceSecondaryAudio.end", id: nil).encode(to: encoder)
        case .mediaServicesWereLost: try Head(type: "mediaServices.wereLost", id: nil).encode(to: encoder)
        case .mediaServicesWereReset: try Head(type: "mediaServices.wereReset", id: nil).encode(to: encoder)
        case .routeChanged(let body): try RelayMessage.write(encoder, "route.changed", id: nil, body)
        case .streamStopped(let body): try RelayMessage.write(encoder, "stream.stopped", id: nil, body)
        case .streamState(let body): try RelayMessage.write(encoder, "stream.state", id: nil, body)
        case .streamUnmixed(let body): try RelayMessage.write(encoder, "stream.unmixed", id: nil, body)
        case .formatWanted(let body): try RelayMessage.write(encoder, "format.wanted", id: nil, body)
        case .participantInterrupted(let body): try RelayMessage.write(encoder, "participant.interrupted", id: nil, body)
        case .participantHeld(let body): try RelayMessage.write(encoder, "participant.held", id: nil, body)
        case .participantRoute(let body): try RelayMessage.write(encoder, "participant.route", id: nil, body)
        case .participantMode(let body): try RelayMessage.write(encoder, "participant.mode", id: nil, body)
        }
    }

    private static func write<Body: Encodable>(_ encoder: any Encoder, _ type: String, id: UInt64?, _ body: Body) throws {
        try Head(type: type, id: id).encode(to: encoder)
        try body.encode(to: encoder)
    }
}
