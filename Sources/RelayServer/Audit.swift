/// Tells who did what with an administrator's or a host's power, and what was refused to whom. Never says a secret.
final class Audit: Sendable {
    enum Outcome: Sendable {
        case done
        /// With the refusal's stable code.
        case refused(String)
    }

    private let log: Log

    init(log: Log) {
        self.log = log
    }

    /// - Parameters:
    ///   - act: what was tried, in words of the protocol: `join`, `pair.enter`, `DELETE /v1/rooms/{room}`.
    ///   - actor: the identity's name; empty when there is none.
    func record(_ act: String, by actor: String, from address: String, _ outcome: Outcome, _ details: [(String, String)] = []) {
        var fields = [("act", act), ("actor", actor), ("address", address)]
        switch outcome {
        case .done: fields.append(("outcome", "done"))
        case .refused(let code): fields += [("outcome", "refused"), ("code", code)]
        }
        log.info("audit", fields + details)
    }
}
