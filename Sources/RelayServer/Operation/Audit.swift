import Reactor
import RelayBase
import Synchronization
import TLSTransport

/// One thing that somebody did with power, or was refused.
struct AuditRecord: Sendable {
    let wallMilliseconds: UInt64
    let fields: [(String, String)]
    /// It says how many others are missing, and is not missed itself.
    var tellsOfLoss = false
}

/// Tells who did what with an administrator's or a host's power, and what was refused to whom. Never says a secret.
///
/// Records go to a file of their own, or to the log. What administrators did is kept as long as there is room at all. What others did and what was refused,
/// which anybody can cause as much of as they like, is kept up to rates: one for refusals, one for acts, and of the acts one for each actor, so that nobody
/// crowds out another's. What is not kept is counted, and the count is told.
final class Audit: Sendable {
    enum Outcome: Sendable {
        case done
        /// With the refusal's stable code.
        case refused(String)
    }

    static let refusalsPerSecondMax = 1_000

    private let log: Log
    private let file: AuditFile?
    private let refusals = Locked(RequestBudget(perSecond: Audit.refusalsPerSecondMax, now: .zero))
    private let acts = Locked(ActBudget(now: .zero))
    private let lostRecords = Atomic<UInt64>(0)
    private let told = Locked(UInt64(0))

    /// - Parameter file: `nil`: records go to the log.
    init(log: Log, file: AuditFile? = nil) {
        self.log = log
        self.file = file
    }

    /// Records that were not kept.
    var lost: UInt64 { lostRecords.load(ordering: .relaxed) &+ (file?.lost ?? 0) }

    /// From any thread; it never waits.
    ///
    /// - Parameters:
    ///   - act: what was tried, in words of the protocol: `join`, `pair.enter`, `DELETE /v1/rooms/{room}`.
    ///   - actor: the identity's name; empty when there is none.
    ///   - isAdministrator: what it did is kept, whatever others do.
    func record(
        _ act: String, by actor: String, isAdministrator: Bool = false, from address: String, _ outcome: Outcome, _ details: [(String, String)] = []
    ) {
        var fields = [("act", act), ("actor", actor), ("address", address)]
        switch outcome {
        case .done:
            guard isAdministrator || takesAct(actor) else {
                lostRecords.add(1, ordering: .relaxed)
                return
            }
            fields.append(("outcome", "done"))
        case .refused(let code):
            guard takesRefusal() else {
                lostRecords.add(1, ordering: .relaxed)
                return
            }
            fields += [("outcome", "refused"), ("code", code)]
        }
        fields += details
        guard let file else {
            if !log.info("audit", fields) { lostRecords.add(1, ordering: .relaxed) }
            return
        }
        file.write(AuditRecord(wallMilliseconds: WallClock.now(), fields: fields))
    }

    /// Tells how many records were not kept since it was last told; called from time to time.
    func tellLoss() {
        let lost = lost
        let count = told.withLock { told in
            defer { told = max(told, lost) }
            return lost > told ? lost - told : 0
        }
        guard count > 0 else { return }
        log.warning("audit_records_lost", [("count", "\(count)")])
        file?.write(AuditRecord(wallMilliseconds: WallClock.now(), fields: [("act", "audit.lost"), ("count", "\(count)")], tellsOfLoss: true))
    }

    private func takesRefusal() -> Bool {
        let now = MonotonicClock.now()
        return refusals.withLock { $0.take(byteCount: 0, now: now) }
    }

    private func takesAct(_ actor: String) -> Bool {
        let now = MonotonicClock.now()
        return acts.withLock { $0.take(actor, now: now) }
    }

    /// Opens the file anew, which a rotation has moved away.
    func reopen() { file?.reopen() }

    /// Writes what is left.
    func stop() {
        tellLoss()
        file?.stop()
    }
}
