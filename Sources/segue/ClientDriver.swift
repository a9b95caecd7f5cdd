import Glibc
import Reactor
import RelayBase
import RelayClient
import RelayRooms
import Signalling

/// Runs sessions for a command: turns the loop, hears Ctrl-C, waits for answers.
final class ClientDriver {
    let loop: ClientLoop
    /// SIGINT or SIGTERM came: the command is to end in order. A second one ends the process.
    private(set) var isInterrupted = false
    private let signals: SignalReceiver

    init() throws {
        try SignalReceiver.block([SIGINT, SIGTERM])
        signals = try SignalReceiver([SIGINT, SIGTERM])
        loop = try ClientLoop()
        try loop.watch(signals.descriptor)
    }

    /// One turn: waits until something happens, at most until `deadline`, and hands every event over.
    func turn(until deadline: MonotonicInstant = .distantFuture, _ handle: (ClientSession, ClientEvent) throws -> Void) throws {
        try loop.poll(until: deadline)
        while let signal = try signals.next(calls: .linux) {
            if isInterrupted { exit(128 + signal) }
            isInterrupted = true
        }
        while let (session, event) = loop.nextEvent() { try handle(session, event) }
    }
}

/// One session that a command waits on, step by step.
final class ClientConversation {
    let driver: ClientDriver
    private let resumable: ResumableSession
    /// What the relay has said when the session went on over another connection, for the command to look at.
    var resumptions: [RelayMessage.ResumedSession] = []
    /// The connection was lost, for the command to tell.
    var losses: [ClientFault] = []
    private(set) var isOpen = false
    private(set) var welcome: RelayMessage.Welcome?
    private var answers: [UInt64: RelayMessage.Answer] = [:]
    private var refusals: [UInt64: Refusal] = [:]
    /// What the relay told of by itself, for the command to look at.
    var news: [RelayMessage] = []
    private(set) var end: ClientEvent?

    /// Between time exchanges, for those who stay.
    static let timeExchangeMilliseconds: UInt64 = 5_000

    var session: ClientSession { resumable.session }

    /// - Parameter resumes: comes back when the connection is lost.
    init(_ driver: ClientDriver, _ connect: ClientConnect, exchangesTime: Bool = false, resumes: Bool = false) throws {
        self.driver = driver
        var options = connect.template
        if exchangesTime { options.timeExchangeMilliseconds = ClientConversation.timeExchangeMilliseconds }
        do {
            resumable = try ResumableSession(driver.loop, options, connect.context, isEnabled: resumes)
        } catch {
            throw error.failure(wasOpen: false)
        }
    }

    /// One turn; throws when the session has ended.
    func turn(until deadline: MonotonicInstant = .distantFuture) throws {
        try driver.turn(until: min(deadline, resumable.nextDeadline), take)
        if let event = resumable.turn(now: MonotonicClock.now()) { take(event) }
        if let end { throw failure(end) }
    }

    private func take(_ session: ClientSession, _ event: ClientEvent) {
        if let event = resumable.take(session, event) { take(event) }
        while let event = resumable.next() { take(event) }
    }

    private func take(_ event: ResumableSession.Event) {
        switch event {
        case .session(let event): take(event)
        case .lost(let fault): losses.append(fault)
        case .resumed(let state): resumptions.append(state)
        }
    }

    private func take(_ event: ClientEvent) {
        switch event {
        case .opened: isOpen = true
        case .welcome(let welcome): self.welcome = welcome
        case .answer(let id, let answer): answers[id] = answer
        case .refused(let id, let refusal): if let id { refusals[id] = refusal }
        case .news(let message): news.append(message)
        case .frame, .writable: break
        case .closed, .failed: end = event
        }
    }

    private func failure(_ event: ClientEvent) -> CommandFailure {
        switch event {
        case .failed(let fault): fault.failure(wasOpen: isOpen)
        case .closed(_, let reason): ClientConversation.closed(event.closeCode ?? 0, reason)
        case .opened, .welcome, .answer, .refused, .news, .frame, .writable: preconditionFailure("no last event")
        }
    }

    static func closed(_ code: UInt16, _ reason: String) -> CommandFailure {
        CommandFailure(code: .relay, message: "the relay closed the session: \(sentence(reason) ?? "\(code) \(Console.plain(reason))")")
    }

    /// Reasons of the protocol that are a word, said in full.
    private static func sentence(_ reason: String) -> String? {
        switch reason {
        case "admin": "an administrator has ended it"
        case "certificate_revoked": "this client's certificate is revoked"
        case "certificate_expired": "this client's certificate has ended"
        case "token_revoked": "the token is revoked, or its key is not known any more"
        case "token_expired": "the token has ended"
        default: nil
        }
    }

    /// Joins, and where the room has a lobby waits to be let in: the same answer either way.
    func join(_ connect: ClientConnect, room: String, isWaiting: () -> Void) throws -> RelayMessage.RoomEntry {
        let answer = try request(connect.join(room))
        if answer.state != .waiting {
            return RelayMessage.RoomEntry(
                room: room, participant: answer.participant ?? 0, role: answer.role ?? .speaker, locked: answer.locked ?? false,
                participants: answer.participants, streams: answer.streams ?? [])
        }
        isWaiting()
        while true {
            while let place = news.firstIndex(where: \.isEndOfWaiting) {
                switch news.remove(at: place) {
                case .roomAdmitted(let entry): return entry
                case .roomRemoved(let removal): throw CommandFailure(removal)
                default: break
                }
            }
            guard !driver.isInterrupted else { throw CommandFailure(code: .failure, message: "interrupted in the lobby") }
            try turn()
        }
    }

    /// Waits for the relay's welcome.
    func open() throws {
        while welcome == nil {
            // Nothing but the hello has been asked yet.
            if let refusal = refusals.values.first { throw ClientConversation.refused("hello", refusal) }
            guard !driver.isInterrupted else { throw CommandFailure(code: .failure, message: "interrupted before the session was open") }
            try turn()
        }
    }

    /// Asks, and waits for the answer.
    func request(_ request: ClientRequest) throws -> RelayMessage.Answer {
        while resumable.isLost { try turn() }
        let id = session.send(request)
        let lossesBefore = losses.count
        while true {
            if let answer = answers.removeValue(forKey: id) { return answer }
            if let refusal = refusals.removeValue(forKey: id) { throw ClientConversation.refused(request.type, refusal) }
            try turn()
            // Nobody knows whether it was done.
            if losses.count > lossesBefore, let fault = losses.last { throw fault.failure(wasOpen: true) }
        }
    }

    static func refused(_ request: String, _ refusal: Refusal) -> CommandFailure {
        CommandFailure(
            code: .relay, message: "the relay refused '\(request)': \(Console.plain(refusal.message)) (\(Console.plain(refusal.code)))")
    }

    /// Closes in order; gives up after a few seconds.
    func close() throws {
        resumable.close()
        let deadline = MonotonicClock.now().advanced(byMilliseconds: 5_000)
        while end == nil, !resumable.hasEnded, MonotonicClock.now() < deadline { try driver.turn(until: deadline, take) }
    }
}

extension RelayMessage {
    /// Let in from the lobby, or not.
    fileprivate var isEndOfWaiting: Bool {
        switch self {
        case .roomAdmitted, .roomRemoved: true
        default: false
        }
    }
}
