import RelayBase
import RelayRooms
import Signalling

extension NodeMessage {
    /// What another node is told of a message between loops; `nil`: it concerns this process alone.
    init?(_ message: LoopMessage) {
        switch message {
        case .join(let request): self = .join(request)
        case .leave(let room, let participant, let reason): self = .leave(room, participant, reason: reason)
        case .publish(let request): self = .publish(request)
        case .unpublish(let room, let participant, let requester, let id, let stream):
            self = .unpublish(room, participant, requester: requester, requestID: id, stream: stream)
        case .moderate(let request): self = .moderate(request)
        case .review(let room, let participant, let before, let admission): self = .review(room, participant, roleBefore: before, admission)
        case .present(let room, let participant, let presentation): self = .present(room, participant, presentation)
        case .speech(let room, let loop, let streams): self = .speech(room, from: Place(wrappedValue: loop), streams)
        case .withdraw(let room, let participant, let streams): self = .withdraw(room, participant, streams: streams)
        case .describe(let room, let participant, let claim): self = .describe(room, participant, for: claim)
        case .joined(let token, let id, let result): self = .joined(token: token, requestID: id, result.value, result.refusal)
        case .published(let address, let id, let room, let result, _): self = .published(address, requestID: id, room, result.value, result.refusal)
        case .unpublished(let token, let id, let result): self = .unpublished(token: token, requestID: id, result.value, result.refusal)
        case .waiting(let token, let id, let place): self = .waiting(token: token, requestID: id, place)
        case .admitted(let token, let joined): self = .admitted(token: token, joined)
        case .removed(let token, let room, let participant, let reason): self = .removed(token: token, room, participant, reason)
        case .memberEvent(let token, let room, let participant, let text): self = .memberEvent(token: token, room, participant, JSONText(text))
        case .described(let claim, let joined): self = .described(claim, joined)
        case .roomEvent(let room, let text, let except): self = .roomEvent(room, JSONText(text), except: except)
        case .presence(let room, let change, let text, let except): self = .presence(room, change, JSONText(text), except: except)
        case .streamAdded(let room, let entry, let text): self = .streamAdded(room, entry, JSONText(text))
        case .streamEnded(let room, let stream, let text, let isForced): self = .streamEnded(room, stream: stream, JSONText(text), isForced: isForced)
        case .memberChanged(let room, let participant, let role, let muted, let text):
            self = .memberChanged(room, participant, role: role, muted: muted, JSONText(text))
        case .memberPresented(let room, let participant, let isHeld, let text):
            self = .memberPresented(room, participant, isHeld: isHeld, JSONText(text))
        case .speakers(let room, let recent, let text): self = .speakers(room, recent: recent, JSONText(text))
        case .roomEnded(let room, let reason): self = .roomEnded(room, reason)
        case .interest(let room, let stream, let interest, let layers, let audio, let isWanted, _):
            self = .interest(room, stream: stream, interest, layers: layers, audio: audio, isWanted: isWanted)
        case .keyFrameWanted(let room, let stream, let spatial): self = .keyFrameWanted(room, stream: stream, spatial: spatial)
        case .reception(let room, let stream, let loop, let aggregate):
            self = .reception(room, stream: stream, from: Place(wrappedValue: loop), aggregate)
        case .ladder(let room, let stream, let ladder): self = .ladder(room, stream: stream, ladder)
        case .toSession(let token, .answer(let id, let result)): self = .answer(token: token, requestID: id, result.value, result.refusal)
        case .toSession(let token, .event(let text)): self = .event(token: token, JSONText(text))
        case .cluster(let mail): self = .cluster(mail)
        default: return nil
        }
    }

    /// The message for a loop here; `nil` for one that contradicts itself.
    var forLoop: LoopMessage? {
        switch self {
        case .join(let request): .join(request)
        case .leave(let room, let participant, let reason): .leave(room, participant, reason: reason)
        case .publish(let request): .publish(request)
        case .unpublish(let room, let participant, let requester, let id, let stream):
            .unpublish(room, participant, requester: requester, requestID: id, stream: stream)
        case .moderate(let request): .moderate(request)
        case .review(let room, let participant, let before, let admission): .review(room, participant, roleBefore: before, admission)
        case .present(let room, let participant, let presentation): .present(room, participant, presentation)
        case .speech(let room, let loop, let streams): .speech(room, from: loop.wrappedValue, streams)
        case .withdraw(let room, let participant, let streams): .withdraw(room, participant, streams: streams)
        case .describe(let room, let participant, let claim): .describe(room, participant, for: claim)
        case .joined(let token, let id, let joined, let refusal):
            Result(joined, refusal).map { .joined(token: token, requestID: id, $0) }
        case .published(let address, let id, let room, let stream, let refusal):
            Result(stream, refusal).map { .published(address, requestID: id, room, $0, via: []) }
        case .unpublished(let token, let id, let stream, let refusal): Result(stream, refusal).map { .unpublished(token: token, requestID: id, $0) }
        case .waiting(let token, let id, let place): .waiting(token: token, requestID: id, place)
        case .admitted(let token, let joined): .admitted(token: token, joined)
        case .removed(let token, let room, let participant, let reason): .removed(token: token, room, participant, reason)
        case .memberEvent(let token, let room, let participant, let text): .memberEvent(token: token, room, participant, message: text.bytes)
        case .described(let claim, let joined): .described(claim, joined)
        case .answer(let token, let id, let answer, let refusal):
            Result(answer, refusal).map { .toSession(token: token, .answer(requestID: id, $0)) }
        case .event(let token, let text): .toSession(token: token, .event(text.bytes))
        case .roomEvent(let room, let text, let except): .roomEvent(room, message: text.bytes, except: except)
        case .presence(let room, let change, let text, let except): .presence(room, change, message: text.bytes, except: except)
        case .streamAdded(let room, let entry, let text): .streamAdded(room, entry, message: text.bytes)
        case .streamEnded(let room, let stream, let text, let isForced): .streamEnded(room, stream: stream, message: text.bytes, isForced: isForced)
        case .memberChanged(let room, let participant, let role, let muted, let text):
            .memberChanged(room, participant, role: role, muted: muted, message: text.bytes)
        case .memberPresented(let room, let participant, let isHeld, let text):
            .memberPresented(room, participant, isHeld: isHeld, message: text.bytes)
        case .speakers(let room, let recent, let text): .speakers(room, recent: recent, message: text.bytes)
        case .roomEnded(let room, let reason): .roomEnded(room, reason)
        case .interest(let room, let stream, let interest, let layers, let audio, let isWanted):
            .interest(room, stream: stream, interest, layers: layers, audio: audio, isWanted: isWanted, imported: nil)
        case .keyFrameWanted(let room, let stream, let spatial):
            (0..<LayerChoice.layersMax).contains(spatial) ? .keyFrameWanted(room, stream: stream, spatial: spatial) : nil
        case .reception(let room, let stream, let loop, let aggregate): .reception(room, stream: stream, from: loop.wrappedValue, aggregate)
        case .ladder(let room, let stream, let ladder): .ladder(room, stream: stream, ladder)
        case .cluster(let mail): mail.isForLoops ? .cluster(mail) : nil
        }
    }

    /// Whom to tell that nobody can be asked; `nil`: nobody waits for an answer.
    var refused: (LoopMessage, to: Int)? {
        switch self {
        case .join(let request):
            (.joined(token: request.address.token, requestID: request.requestID, .failure(.clusterUnavailable)), request.address.loop)
        case .publish(let request):
            (.published(request.address, requestID: request.requestID, request.room, .failure(.clusterUnavailable), via: []), request.address.loop)
        case .unpublish(_, _, let address, let id, _):
            (.unpublished(token: address.token, requestID: id, .failure(.clusterUnavailable)), address.loop)
        case .moderate(let request):
            (
                .toSession(token: request.address.token, .answer(requestID: request.requestID, .failure(.clusterUnavailable))),
                request.address.loop
            )
        case .describe(_, _, let claim): (.described(claim, nil), claim.newcomer.loop)
        default: nil
        }
    }
}

extension Result where Failure == Refusal {
    fileprivate init?(_ value: Success?, _ refusal: Refusal?) {
        if let value {
            self = .success(value)
        } else if let refusal {
            self = .failure(refusal)
        } else {
            return nil
        }
    }

    fileprivate var value: Success? { try? get() }

    fileprivate var refusal: Refusal? {
        guard case .failure(let refusal) = self else { return nil }
        return refusal
    }
}
