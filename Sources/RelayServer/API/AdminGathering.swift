import HTTPProtocol
import RelayRooms
import Signalling

/// Puts together what the loops found. It is asked of a loop once; the answer is there when all of them have said theirs.
struct AdminGathering {
    let page: AdminPage?
    private(set) var outstanding: Int
    private var rooms: [AdminRoom] = []
    private var sessions: [AdminSession] = []
    private var participants: [AdminParticipant] = []
    private var streams: [AdminStream] = []
    private var hasEnded = false
    /// What the one loop that knows has said.
    private var single: HTTPAnswer?

    init(page: AdminPage?, asked: Int) {
        self.page = page
        outstanding = asked
    }

    static let noRoom = HTTPAnswer.problem(.notFound, "There is no such room.")
    static let nothing = HTTPAnswer.problem(.notFound, "There is no such thing here.")

    /// What a finding leads to.
    enum Next {
        case wait
        /// More is to be asked, of these loops.
        case ask([(loop: Int, AdminQuery)])
        case answer(HTTPAnswer)
    }

    mutating func add(_ finding: AdminFinding) -> Next {
        outstanding -= 1
        switch finding {
        case .rooms(let found): rooms += found
        case .sessions(let found): sessions += found
        case .room(let room): return .answer(room.map { AdminJSON.answer(.ok, $0) } ?? AdminGathering.noRoom)
        case .participants(nil, _), .streams(nil): return .answer(AdminGathering.noRoom)
        case .participants(let found?, let addresses):
            participants = found
            return askForFacts(addresses)
        case .streams(let found?):
            streams = found.streams.map { AdminStream(info: $0, buffers: found.buffers[$0.stream]) }
            return askForReceptions(found)
        case .receptions(let receptions):
            for place in streams.indices {
                if let reception = receptions[streams[place].info.stream] { streams[place].reception = reception }
            }
            if outstanding == 0 { single = AdminJSON.streams(streams, page) }
        case .session(let found): if let found { single = AdminJSON.answer(.ok, found) }
        case .facts(let facts):
            for place in participants.indices {
                if let session = facts[participants[place].participant] { participants[place].add(session) }
            }
            if outstanding == 0 { single = AdminJSON.participants(participants, page) }
        case .ended(let wasThere): hasEnded = hasEnded || wasThere
        }
        return outstanding > 0 ? .wait : .answer(answer(to: finding))
    }

    private mutating func askForFacts(_ addresses: [MemberAddress]) -> Next {
        var byLoop: [Int: [(participant: UInt32, token: UInt64)]] = [:]
        for (participant, address) in zip(participants, addresses) {
            byLoop[address.loop, default: []].append((participant.participant, address.token))
        }
        guard !byLoop.isEmpty else { return .answer(AdminJSON.participants([], page)) }
        outstanding = byLoop.count
        return .ask(byLoop.sorted { $0.key < $1.key }.map { ($0.key, .facts($0.value)) })
    }

    private mutating func askForReceptions(_ found: AdminStreamPart) -> Next {
        var byLoop: [Int: [UInt32]] = [:]
        for (stream, loop) in zip(found.streams, found.loops) { byLoop[loop, default: []].append(stream.stream) }
        guard !byLoop.isEmpty else { return .answer(AdminJSON.streams([], page)) }
        outstanding = byLoop.count
        return .ask(byLoop.sorted { $0.key < $1.key }.map { ($0.key, .receptions(found.room, $0.value)) })
    }

    private func answer(to last: AdminFinding) -> HTTPAnswer {
        if let single { return single }
        switch last {
        case .rooms: return AdminJSON.rooms(rooms, page)
        case .sessions: return AdminJSON.sessions(sessions, page)
        case .ended: return hasEnded ? HTTPAnswer(.noContent) : AdminGathering.nothing
        case .room, .session, .participants, .streams, .facts, .receptions: return AdminGathering.nothing
        }
    }
}

extension AdminParticipant {
    /// What only the participant's own loop knows.
    mutating func add(_ found: AdminSession) {
        session = found.session
        state = found.state
        device = found.device
        address = found.address
        since = found.since
    }
}
