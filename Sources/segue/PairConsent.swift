import Glibc
import RelayBase
import RelayClient
import Signalling

/// `segue pair request` and `segue pair accept`: one asks, the other agrees.
enum PairConsent {
    static let request = Command(
        CommandSpec(
            name: "request", summary: "ask another client for a pair, and wait for its answer",
            text: [
                "The peer must be connected, and has two minutes to answer. Where the relay's policy pairs the two, there is nothing to wait for."
            ],
            options: [.option("--fingerprint", "HEX", "Which of the peer's keys, where it is connected with several.")] + PairCommand.options,
            operand: OperandSpec(name: "PEER", help: "The peer's identity: the name in its certificate.", minimum: 1, maximum: 1),
            examples: [.init("segue pair request urn:segue:client:bob", "As alice, while bob runs 'segue pair accept'.")])
    ) { arguments in
        guard let peer = arguments.operands.first else { throw UsageFault.missingOperand("PEER") }
        let talk = try PairTalk(arguments, defaultName: "alice")
        let answer = try talk.request(.pairRequest(.init(peer: peer, fingerprint: arguments.string("--fingerprint"))))
        if let pair = answer.pair { return try talk.finish(pair) }
        guard let request = answer.request, let expires = answer.expires else { throw PairTalk.nonsense }
        Console.error("asked \(Console.plain(peer)); waiting for the answer")
        let made = try talk.wait(untilUnixMilliseconds: expires, or: "there was no answer") { message -> RelayMessage.PairMade? in
            switch message {
            case .pairMade(let made) where made.request == request: return made
            case .pairDeclined(let declined) where declined == request:
                throw CommandFailure(code: .failure, message: "\(Console.plain(peer)) has declined")
            case .pairWithdrawn(let withdrawn) where withdrawn.request == request:
                throw CommandFailure(code: .failure, message: "the request is open no more: \(withdrawn.reason.rawValue)")
            default: return nil
            }
        }
        return try talk.finish(made.pair)
    }

    static let accept = Command(
        CommandSpec(
            name: "accept", summary: "wait until somebody asks for a pair, and accept",
            text: ["Without --from it asks on the terminal about everybody who comes. It ends with the first pair."],
            options: [
                .option("--from", "PEER", "Accept whoever is this identity, and nobody else."),
                .option("--fingerprint", "HEX", "Accept this key of --from only."),
                .option("--for", "SECONDS", "Wait so long at most."),
            ] + PairCommand.options,
            examples: [.init("segue pair accept --from urn:segue:client:alice", "As bob.")])
    ) { arguments in
        let from = arguments.string("--from")
        let key = arguments.string("--fingerprint")?.lowercased()
        let seconds = try arguments.positive("--for", max: 86_400)
        guard from != nil || Console.inputIsTerminal else {
            throw UsageFault.conflict("--from: whom to accept must be said where nobody can be asked")
        }
        let talk = try PairTalk(arguments, defaultName: "bob")
        // Who asked before is told of by the list, who asks from now on by an event.
        let open = try talk.request(.pairList).requests ?? []
        let deadline = seconds.flatMap { seconds in talk.conversation.welcome.map { $0.serverTime + seconds * 1_000 } }
        Console.error("waiting for somebody to ask")
        var waiting = open.filter { $0.direction == .incoming }
        while true {
            while !waiting.isEmpty {
                let invitation = waiting.removeFirst()
                if let key, invitation.identity.fingerprint != key { continue }
                if let pair = try answer(invitation, from: from, talk) { return try talk.finish(pair) }
            }
            waiting.append(
                try talk.wait(untilUnixMilliseconds: deadline, or: "nobody has asked") { message in
                    if case .pairRequested(let invitation) = message { invitation } else { nil }
                })
        }
    }

    /// Accepts, declines, or leaves alone what is not for us to answer; the pair when there is one.
    private static func answer(_ invitation: RelayMessage.PairInvitation, from: String?, _ talk: PairTalk) throws -> RelayMessage.PairInfo? {
        let name = invitation.identity.name
        if let from {
            guard name == from else { return nil }
        } else {
            Console.errorText(
                "\(Console.plain(name)) (fingerprint \(Console.plain(invitation.identity.fingerprint ?? "none"))) asks for a pair. Accept? [y/N] ")
            guard try agrees(talk) else {
                try? talk.decline(invitation.request)
                return nil
            }
        }
        return try talk.request(.pairAccept(.init(request: invitation.request))).pair
    }

    /// What somebody types on the terminal, while the session is kept alive.
    private static func agrees(_ talk: PairTalk) throws -> Bool {
        var typed: [UInt8] = []
        while true {
            guard !talk.conversation.driver.isInterrupted else { throw CommandFailure(code: .failure, message: "interrupted") }
            var ready = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&ready, 1, 0) > 0 else {
                try talk.conversation.turn(until: talk.conversation.driver.loop.now.advanced(byMilliseconds: 100))
                continue
            }
            var byte: UInt8 = 0
            guard unsafe read(STDIN_FILENO, &byte, 1) == 1 else { return false }
            if byte == UInt8(ascii: "\n") { return ["y", "yes"].contains(String(decoding: typed, as: UTF8.self).lowercased()) }
            if typed.count < 16 { typed.append(byte) }
        }
    }
}

extension PairTalk {
    func decline(_ id: String) throws {
        _ = try request(.pairDecline(.init(request: id)))
    }
}
