import RelayRooms
import Signalling

/// `segue room`: what a host does, from the command line: it comes into the room as host, acts, and goes.
enum RoomCommand {
    static var command: Command {
        Command(group: spec, [show, admit, deny, mute, unmute, remove, promote, lock, unlock, end])
    }

    private static let spec = CommandSpec(
        name: "room", summary: "act as the host of a room: let people in, mute, remove, promote, lock, end",
        text: [
            "Each command comes into the room as host, which the relay's policy must allow, acts, and goes again; the others see it come and go.",
            "WHO is a number, as 'segue room show' has it, or an identity: its name, the last part of it, or the key's fingerprint. With several devices of "
                + "one identity in the room only the number, or the fingerprint, says which.",
            "A room that cannot be entered, since it is full, can be ended by an administrator: DELETE /v1/rooms/ROOM.",
        ],
        examples: [
            .init("segue room show ward", "Who is in the room, and who waits to be let in."), .init("segue room admit ward ann", "Let ann in."),
        ])

    private static let whoMax = 16
    private static let roomOperand = OperandSpec(name: "ROOM", help: "The room's name.", minimum: 1, maximum: 1)
    private static let whoOperand = OperandSpec(
        name: "ROOM WHO", help: "The room's name, then whom it is about, one or several.", minimum: 2, maximum: 1 + whoMax)

    // MARK: Looking

    private static let show = Command(
        CommandSpec(
            name: "show", summary: "list who is in a room, and who waits in its lobby",
            options: [.flag("--json", "As JSON.")] + ClientConnect.options, operand: roomOperand,
            examples: [.init("segue room show demo", "As operator of the development mode.")])
    ) { arguments in
        let talk = try RoomTalk(arguments)
        if arguments.has("--json") {
            Console.json(talk.report)
        } else {
            Console.text(talk.table)
        }
        return try talk.finish()
    }

    // MARK: About somebody

    private static let admit = about(
        "admit", .lobby, "let somebody in from the lobby", said: "let in", .init("segue room admit ward ann", "Let ann in.")
    ) { number, _ in .admit(.init(participant: number)) }

    private static let deny = about(
        "deny", .lobby, "send somebody away from the lobby", said: "sent away", .init("segue room deny ward 7", "Not this one.")
    ) { number, _ in .deny(.init(participant: number)) }

    private static let remove = about(
        "remove", .room, "take somebody out of the room", said: "taken out",
        .init("segue room remove ward ann", "Ann may come again; a lock, a lobby or the policy keeps her out.")
    ) { number, _ in .remove(.init(participant: number)) }

    private static let kindOption = OptionSpec.option(
        "--kind", "KIND", "These streams only; else all.", choices: [StreamKind.audio, .video, .data].map(\.rawValue), repeatable: true)

    private static let mute = about(
        "mute", .room, "drop what somebody publishes", said: "muted", .init("segue room mute ward ann --kind audio", "Ann's video goes on."),
        [kindOption]
    ) { number, arguments in .mute(.init(participant: number, kinds: kinds(arguments), muted: true)) }

    private static let unmute = about(
        "unmute", .room, "let somebody be heard again", said: "heard again", .init("segue room unmute ward ann", "Everything of hers."), [kindOption]
    ) { number, arguments in .mute(.init(participant: number, kinds: kinds(arguments), muted: false)) }

    private static let toOption = OptionSpec.option("--to", "ROLE", "The role to give.", choices: Role.allCases.map(\.rawValue))

    private static let promote = about(
        "promote", .room, "give somebody another role, above or below its own", said: "given the role",
        .init("segue room promote ward ann --to speaker", "Ann may publish now."), [toOption]
    ) { number, arguments in
        guard let role = Role(rawValue: try arguments.required("--to")) else { throw UsageFault.missingOption("--to") }
        return .promote(.init(participant: number, role: role))
    }

    private static func kinds(_ arguments: Arguments) -> [StreamKind]? {
        let kinds = arguments.strings("--kind").compactMap(StreamKind.init(rawValue:))
        return kinds.isEmpty ? nil : kinds
    }

    private static func about(
        _ name: String, _ place: RoomTalk.Place, _ summary: String, said: String, _ example: CommandSpec.Example, _ options: [OptionSpec] = [],
        _ request: @escaping @Sendable (UInt32, Arguments) throws -> ClientRequest
    ) -> Command {
        Command(
            CommandSpec(name: name, summary: summary, options: options + ClientConnect.options, operand: whoOperand, examples: [example])
        ) { arguments in
            // What is missing on the command line is told before anything is done.
            _ = try request(0, arguments)
            let talk = try RoomTalk(arguments)
            for participant in try arguments.operands.dropFirst().map({ try talk.find($0, place) }) {
                _ = try talk.conversation.request(try request(participant.participant, arguments))
                Console.out("\(said): \(RoomTalk.name(of: participant)) (\(participant.participant))")
            }
            return try talk.finish()
        }
    }

    // MARK: About the room

    private static let lock = Command(
        CommandSpec(
            name: "lock", summary: "keep everybody out but hosts, the lobby too",
            text: ["The lock lasts as long as the room: as long as somebody is in it, or waits."],
            options: ClientConnect.options, operand: roomOperand, examples: [.init("segue room lock ward", "Whoever is in it stays.")])
    ) { try setLock(true, $0) }

    private static let unlock = Command(
        CommandSpec(
            name: "unlock", summary: "open a locked room again", options: ClientConnect.options, operand: roomOperand,
            examples: [.init("segue room unlock ward", "Whoever the policy allows may come.")])
    ) { try setLock(false, $0) }

    private static func setLock(_ isLocked: Bool, _ arguments: Arguments) throws -> ExitCode {
        let talk = try RoomTalk(arguments)
        _ = try talk.conversation.request(.lock(.init(locked: isLocked)))
        Console.out("\(Console.plain(talk.room)) is \(isLocked ? "locked" : "open")")
        if isLocked, talk.others.isEmpty, talk.waiting.isEmpty { Console.error("nobody is in it: the room, and its lock, end with this command") }
        return try talk.finish()
    }

    private static let end = Command(
        CommandSpec(
            name: "end", summary: "end a room for everybody, its lobby included",
            text: ["Whoever the policy allows may come again at once, into a new room of the name."],
            options: ClientConnect.options, operand: roomOperand, examples: [.init("segue room end ward", "Everybody is out.")])
    ) { arguments in
        let talk = try RoomTalk(arguments)
        _ = try talk.conversation.request(.end)
        Console.out("\(Console.plain(talk.room)) has ended; \(talk.others.count) were in it, \(talk.waiting.count) waited")
        try talk.conversation.close()
        return .ok
    }
}
