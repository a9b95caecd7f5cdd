import RelayRooms
import Signalling

/// A session in a room as its host, and who else is there.
final class RoomTalk {
    /// Where somebody is looked for.
    enum Place {
        case room
        case lobby
    }

    /// A room as scripts get it.
    struct Report: Encodable {
        var room: String
        var locked: Bool
        var participants: [RelayMessage.Participant]
        var waiting: [RelayMessage.Participant]
        var streams: [RelayMessage.StreamInfo]
    }

    let room: String
    let conversation: ClientConversation
    /// In the room but for this session.
    private(set) var others: [RelayMessage.Participant]
    private(set) var waiting: [RelayMessage.Participant] = []
    private let entry: RelayMessage.RoomEntry

    init(_ arguments: Arguments) throws {
        guard let room = arguments.operands.first else { throw UsageFault.missingOperand("ROOM") }
        self.room = room
        let connect = try ClientConnect(arguments, defaultName: "operator", role: .host)
        conversation = try ClientConversation(ClientDriver(), connect)
        try conversation.open()
        entry = try conversation.join(connect, room: room) {
            Console.error("waiting in the lobby of \(Console.plain(room)) until a host lets this client in")
        }
        let number = entry.participant
        others = (entry.participants ?? []).filter { $0.participant != number }
        // Who waits is told right behind the answer to the join, so that it is all here with any later answer.
        _ = try conversation.request(.time(.init(clientTime: 0)))
        for message in conversation.news { take(message) }
        conversation.news.removeAll()
    }

    private func take(_ news: RelayMessage) {
        switch news {
        case .participantJoined(let participant): others.append(participant)
        case .participantLeft(let number, _): others.removeAll { $0.participant == number }
        case .lobbyWaiting(let participant): waiting.append(participant)
        case .lobbyLeft(let number): waiting.removeAll { $0.participant == number }
        default: break
        }
    }

    /// Who is meant by a number, a name, the last part of one, or a fingerprint.
    func find(_ text: String, _ place: Place) throws(CommandFailure) -> RelayMessage.Participant {
        let found = RoomTalk.matches(text, among: place == .lobby ? waiting : others)
        let there = place == .lobby ? "in the lobby of" : "in"
        guard let first = found.first else {
            throw CommandFailure(code: .failure, message: "'\(Console.plain(text))' is not \(there) \(Console.plain(room))\(elsewhere(text, place))")
        }
        guard found.count == 1 else {
            let numbers = found.map { "\($0.participant)" }.joined(separator: ", ")
            throw CommandFailure(
                code: .failure, message: "'\(Console.plain(text))' is \(found.count) participants: say which by the number, one of \(numbers)")
        }
        return first
    }

    private func elsewhere(_ text: String, _ place: Place) -> String {
        guard !RoomTalk.matches(text, among: place == .lobby ? others : waiting).isEmpty else { return "" }
        return place == .lobby ? "; it is in the room already" : ", but waits in its lobby"
    }

    static func matches(_ text: String, among participants: [RelayMessage.Participant]) -> [RelayMessage.Participant] {
        if let number = UInt32(text), let found = participants.first(where: { $0.participant == number }) { return [found] }
        let exact = participants.filter { $0.identity?.name == text || $0.identity?.fingerprint == text.lowercased() }
        if !exact.isEmpty { return exact }
        return participants.filter { $0.identity?.name.split(separator: ":").last.map { $0 == text } ?? false }
    }

    /// The verified name, made harmless for a terminal.
    static func name(of participant: RelayMessage.Participant) -> String {
        participant.identity.map { Console.plain($0.name) } ?? "somebody"
    }

    // MARK: Showing

    var report: Report {
        Report(room: room, locked: entry.locked, participants: others, waiting: waiting, streams: entry.streams)
    }

    var table: String {
        let title =
            "\(Console.plain(room)) is \(entry.locked ? "locked" : "open")\(others.isEmpty && waiting.isEmpty ? ", and nobody is in it" : "")\n"
        guard !others.isEmpty || !waiting.isEmpty else { return title }
        let rows = others.map { row($0, "room") } + waiting.map { row($0, "lobby") }
        return title + CAListCommand.columns([["NUMBER", "IN", "ROLE", "MUTED", "AUDIO", "PUBLISHES", "WHO"]] + rows)
    }

    private func row(_ participant: RelayMessage.Participant, _ place: String) -> [String] {
        func list(_ kinds: [StreamKind]) -> String { kinds.isEmpty ? "-" : kinds.map(\.rawValue).joined(separator: ",") }
        let streams = entry.streams.filter { $0.participant == participant.participant }.map(\.kind)
        return [
            "\(participant.participant)", place, participant.role?.rawValue ?? "-", list(participant.muted ?? []), RoomTalk.audio(of: participant),
            list(streams),
            RoomTalk.name(of: participant),
        ]
    }

    /// Whether media flow between it and the relay, as its audio session has it.
    static func audio(of participant: RelayMessage.Participant) -> String {
        let words = [participant.interrupted == true ? "interrupted" : nil, participant.held == true ? "held" : nil].compactMap { $0 }
        return words.isEmpty ? "-" : words.joined(separator: ",")
    }

    /// Leaves, and ends the session. What was to be done is done: a room that has ended meanwhile is left as well.
    func finish() throws -> ExitCode {
        _ = try? conversation.request(.leave)
        try conversation.close()
        return .ok
    }
}
