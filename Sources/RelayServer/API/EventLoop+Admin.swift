import HTTPProtocol
import RelayBase
import RelayRooms

/// The admin API: each operation asks the loops that know, or the supervisor.
extension EventLoop {
    /// What a loop says at once; a loop that does not is going away, or is stuck.
    static let gatherMillisecondsMax: UInt64 = 2_000

    static let badPage = HTTPAnswer.problem(
        .badRequest, "'limit' must be a number from 1 to \(AdminPage.limitMax), and 'after' what a list said under 'next'; each once.")

    func listRooms(_ request: APIRequest) -> APIOutcome {
        guard let page = AdminPage(request.query) else { return .answer(EventLoop.badPage) }
        return gather(request, .rooms(page), page)
    }

    func listSessions(_ request: APIRequest) -> APIOutcome {
        guard let page = AdminPage(request.query) else { return .answer(EventLoop.badPage) }
        return gather(request, .sessions(page), page)
    }

    func readSession(_ request: APIRequest) -> APIOutcome {
        gather(request, .session(request.parameters[0]), nil)
    }

    func endSession(_ request: APIRequest) -> APIOutcome {
        gather(request, .endSession(request.parameters[0]), nil)
    }

    /// What is about one room goes to its home.
    func aboutRoom(_ request: APIRequest) -> APIOutcome {
        guard let page = AdminPage(request.query), page.numberAfter != nil || request.operation == .readRoom else {
            return .answer(EventLoop.badPage)
        }
        guard let name = RoomName(request.parameters[0], bytesMax: limits.roomNameBytesMax) else { return .answer(AdminGathering.noRoom) }
        let home = shared.home(of: name)
        switch request.operation {
        case .readRoom: return gather(request, .room(name), nil, at: [home])
        case .listParticipants: return gather(request, .participants(name, page), page, at: [home])
        case .listStreams: return gather(request, .streams(name, page), page, at: [home])
        case .endRoom: return gather(request, .endRoom(name), nil, at: [home])
        default:
            guard request.parameters.count > 1, let number = UInt32(request.parameters[1]) else { return .answer(AdminGathering.nothing) }
            return gather(request, .removeParticipant(name, ParticipantID(number)), nil, at: [home])
        }
    }

    func command(_ command: SupervisorCommand) -> APIOutcome {
        guard shared.commands.post(command) else {
            return .answer(.problem(.serviceUnavailable, "Too much is asked for already.", fields: [HTTPField("retry-after", "1")]))
        }
        return .answer(HTTPAnswer(.accepted))
    }

    // MARK: Gathering

    /// - Parameter loops: `nil`: all.
    private func gather(_ request: APIRequest, _ query: AdminQuery, _ page: AdminPage?, at loops: [Int]? = nil) -> APIOutcome {
        guard let exchange = exchanges[Handle(packed: request.ticket.token)] else { return .later }
        let loops = loops ?? Array(0..<shared.loops)
        exchange.gathering = AdminGathering(page: page, asked: loops.count)
        setTimer(exchange, EventLoop.gatherMillisecondsMax)
        for loop in loops { post(.adminQuery(query, from: request.ticket), to: loop) }
        return .later
    }

    /// Another loop's question, or this one's own.
    func answerAdmin(_ query: AdminQuery, _ ticket: ResponseTicket) {
        post(.adminFinding(token: ticket.token, find(query)), to: ticket.loop)
    }

    func found(_ token: UInt64, _ finding: AdminFinding) {
        guard let exchange = exchanges[Handle(packed: token)], let next = exchange.gathering?.add(finding) else { return }
        switch next {
        case .wait: break
        case .ask(let questions):
            let ticket = ResponseTicket(loop: index, token: token)
            for (loop, query) in questions { post(.adminQuery(query, from: ticket), to: loop) }
        case .answer(let answer): answered(token, answer)
        }
    }
}
