/// What the process tells its caller.
enum ExitCode: Int32, Sendable, CaseIterable {
    case ok = 0
    case failure = 1
    case usage = 2
    case configuration = 3
    case connection = 4
    case relay = 5

    var meaning: String {
        switch self {
        case .ok: "done"
        case .failure: "something failed: a file, the disk, the certificate authority, what a script expects"
        case .usage: "the command line is wrong"
        case .configuration: "the configuration or the environment is not fit"
        case .connection: "the relay could not be reached, or TLS was refused"
        case .relay: "the relay refused a request, or closed the session"
        }
    }
}

/// Why a command ends early: the code, and a sentence for standard error.
struct CommandFailure: Error, Equatable {
    let code: ExitCode
    let message: String
}
