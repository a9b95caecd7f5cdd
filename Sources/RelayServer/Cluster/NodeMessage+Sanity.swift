import RelayRooms
import Signalling

/// What other nodes say is not clients' word, and they show certificates; a number that makes no sense is no message all the same, so that one node's fault stays one
/// node's.
extension NodeMessage {
    var isSane: Bool {
        switch self {
        case .speech(_, _, let streams): streams.allSatisfy { (-127...0).contains($0.level) }
        case .ladder(_, _, let options): options.allSatisfy(\.isSane)
        case .reception(_, _, _, let aggregate): aggregate.isSane
        case .keyFrameWanted(_, _, let spatial): (0..<LayerChoice.layersMax).contains(spatial)
        case .interest(_, _, _, let layers, _, _): layers.isSane
        case .joined(_, _, let joined, _), .described(_, let joined): joined?.streams.allSatisfy(\.info.isSane) ?? true
        case .admitted(_, let joined): joined.streams.allSatisfy(\.info.isSane)
        case .streamAdded(_, let entry, _): entry.info.isSane
        case .publish(let request): request.body.layersFault == nil && request.body.description?.memberOutOfRange == nil
        case .cluster(let mail): mail.isSane
        case .join, .leave, .unpublish, .moderate, .review, .present, .withdraw, .describe, .published, .unpublished, .waiting, .removed,
            .memberEvent,
            .answer, .event, .roomEvent, .presence, .streamEnded, .memberChanged, .memberPresented, .speakers, .roomEnded:
            true
        }
    }
}

extension ClusterMail {
    fileprivate var isSane: Bool {
        switch self {
        case .replica(let room, _), .standing(let room, _), .handOver(let room, _, _): room.isSane
        case .roll(_, _, _, let entries, _): entries.allSatisfy(\.isSane)
        case .adopt(let adoption): adoption.entry.isSane
        case .released(_, let record): record?.place?.entry.isSane ?? true
        case .homeMoved, .memberMoved, .askHome, .probe, .release, .renewImports: true
        // What only threads of one node say to each other.
        case .numbered, .lease, .nodesGone, .reconnected, .restore, .surrender, .surrendered, .announceHome, .opened, .dropped, .began, .offer,
            .giveRooms,
            .emptied, .letGo, .moved, .ticket, .ticketEnded, .claim, .claimed:
            false
        }
    }

    /// Whether a loop may be told it by another node; everything else is for gateways.
    var isForLoops: Bool {
        switch self {
        case .homeMoved, .roll, .memberMoved, .release, .renewImports: true
        default: false
        }
    }
}

extension SessionRecord {
    var isSane: Bool { place?.entry.isSane ?? true }
}

extension RollEntry {
    fileprivate var isSane: Bool { streams.allSatisfy(\.description.isSane) }
}

extension Rooms.Room {
    fileprivate var isSane: Bool { streams.allSatisfy(\.description.isSane) && streams.count <= RoomFanout.streamsMax }
}

extension RelayMessage.StreamInfo {
    fileprivate var isSane: Bool {
        let body = ClientRequest.Publish(kind: kind, codec: codec, description: description, source: source, layers: layers, priority: priority)
        return body.layersFault == nil && description?.memberOutOfRange == nil
    }
}
