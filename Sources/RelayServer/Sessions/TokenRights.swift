import JOSE
import RelayRooms
import Signalling

/// The private claim `segue` (RFC 7519 §4.3): what a token says of rooms.
///
/// `{"rooms": [{"room": "ward-*", "roles": ["speaker"], "publish": ["audio"]}]}`, where `publish` is optional and means all kinds when absent.
enum TokenRights {
    static let claim = "segue"
    static let rulesMax = 64

    /// - Parameter claims: a claims set that was verified.
    /// - Returns: the rules in their order; none without the claim. Members that are not known are passed over.
    static func rules(in claims: [UInt8]) throws(TokenRefusal) -> [Principal.TokenRule] {
        guard let members = try? StrictJSON(parsing: claims).object else { throw .rights }
        guard let claim = members[TokenRights.claim] else { return [] }
        guard let rights = claim.object else { throw .rights }
        guard let list = rights["rooms"] else { return [] }
        guard let values = list.array, values.count <= rulesMax else { throw .rights }
        var rules: [Principal.TokenRule] = []
        for value in values { rules.append(try rule(value)) }
        return rules
    }

    private static func rule(_ value: StrictJSON) throws(TokenRefusal) -> Principal.TokenRule {
        guard let members = value.object, let room = members["room"]?.string.flatMap(RoomPattern.init) else { throw .rights }
        let roles = try words(members["roles"], as: Role.self)
        var publish = PublishKinds.all
        if let kinds = members["publish"] { publish = PublishKinds(try words(kinds, as: StreamKind.self).map { PublishKinds(Lane($0)) }) }
        guard let rule = Principal.TokenRule(rooms: room, roles: roles, publish: publish) else { throw .rights }
        return rule
    }

    private static func words<Word: RawRepresentable<String>>(_ value: StrictJSON?, as: Word.Type) throws(TokenRefusal) -> [Word] {
        guard let values = value?.array else { throw .rights }
        let words = values.compactMap { $0.string.flatMap(Word.init(rawValue:)) }
        guard words.count == values.count else { throw .rights }
        return words
    }
}
