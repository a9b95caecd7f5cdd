import Reactor

/// What the supervisor is asked to do by administrators, as signals do it.
enum SupervisorCommand: Sendable {
    case drain
    case cancelDrain
    case reload
}

/// The supervisor's mailbox. Few fit: each command does the whole work of those before it.
final class SupervisorCommands: Sendable {
    private static let commandsMax = 64

    let wake: EventFD
    private let mailbox: Mailbox<SupervisorCommand>

    init() throws(SystemFault) {
        wake = try EventFD()
        mailbox = Mailbox(capacity: SupervisorCommands.commandsMax, wake: wake)
    }

    /// From any thread; false when it was not taken.
    func post(_ command: SupervisorCommand) -> Bool {
        mailbox.post(command) == .posted
    }

    /// Everything asked for since the last call. By the supervisor.
    func take() -> [SupervisorCommand] {
        wake.reset()
        var commands: [SupervisorCommand] = []
        mailbox.drain(into: &commands)
        return commands
    }
}
