import FoundationEssentials
import HTTPProtocol
import RelayRooms
import Signalling

/// What the admin API says, as JSON: sorted members, so that the same state always gives the same bytes.
enum AdminJSON {
    private struct RoomList: Encodable {
        let rooms: [AdminRoom]
        let next: String?
    }

    private struct SessionList: Encodable {
        let sessions: [AdminSession]
        let next: String?
    }

    private struct ParticipantList: Encodable {
        let participants: [AdminParticipant]
        let next: String?
    }

    private struct StreamList: Encodable {
        let streams: [AdminStream]
        let next: String?
    }

    private struct GrantList: Encodable {
        let grants: [AdminGrant]
        let next: String?
    }

    static func answer(_ status: HTTPStatus, _ value: some Encodable) -> HTTPAnswer {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Numbers that JSON cannot say are refused on their way in.
        guard let data = try? encoder.encode(value) else { return .problem(.internalServerError, "The answer cannot be said in JSON.") }
        return HTTPAnswer(status, json: Array(data))
    }

    static func rooms(_ found: [AdminRoom], _ page: AdminPage?) -> HTTPAnswer {
        let (part, next) = cut(found, page, by: \.name)
        return answer(.ok, RoomList(rooms: part, next: next))
    }

    static func sessions(_ found: [AdminSession], _ page: AdminPage?) -> HTTPAnswer {
        let (part, next) = cut(found, page, by: \.session)
        return answer(.ok, SessionList(sessions: part, next: next))
    }

    static func participants(_ found: [AdminParticipant], _ page: AdminPage?) -> HTTPAnswer {
        let (part, next) = cut(found, page, by: \.participant)
        return answer(.ok, ParticipantList(participants: part, next: next.map { "\($0)" }))
    }

    static func streams(_ found: [AdminStream], _ page: AdminPage?) -> HTTPAnswer {
        let (part, next) = cut(found, page, by: \.info.stream)
        return answer(.ok, StreamList(streams: part, next: next.map { "\($0)" }))
    }

    static func grants(_ found: [PairGrant], _ page: AdminPage?) -> HTTPAnswer {
        let (part, next) = cut(found, page, by: \.id)
        return answer(.ok, GrantList(grants: part.map(AdminGrant.init), next: next))
    }

    /// One page out of the parts of several loops, and the key behind which the next begins, if there is more.
    private static func cut<Element, Key: Comparable>(
        _ found: [Element], _ page: AdminPage?, by key: (Element) -> Key
    ) -> (part: [Element], next: Key?) {
        let sorted = found.sorted { key($0) < key($1) }
        let part = Array(sorted.prefix(page?.limit ?? AdminPage.limitDefault))
        return (part, sorted.count > part.count ? part.last.map(key) : nil)
    }
}
