import Glibc
import Reactor
import RelayRooms

/// What pairing does off the loops: writing the grants down, and signing many pairs at once.
///
/// A thread with a bounded box. Of several ledgers that wait to be written only the newest is: each is whole.
final class PairWorker: Sendable {
    enum Job: Sendable {
        /// Signs pairs for the answer to a request, which is then looked at again.
        case sign([PairView], now: Int64, for: PairAsk)
    }

    private struct State {
        var entries: [PairKeys: PairLedger.Entry]?
        var version: UInt64 = 0
        var isStopping = false
    }

    private let path: String?
    private let signer: PairSigner
    private let replies: Mailbox<LoopMessage>
    private let log: Log
    private let readiness: DrainState
    private let jobs: Mailbox<Job>
    private let wake: EventFD
    private let state = Locked(State())
    private let thread = Locked<LoopThread?>(nil)

    private static let jobsMax = 1_024
    private static let retryMilliseconds: Int32 = 1_000

    /// - Parameters:
    ///   - path: the file that grants are kept in; `nil`: they end with the process.
    ///   - replies: of the loop that pairing lives on.
    init(path: String?, signer: PairSigner, log: Log, readiness: DrainState, replies: Mailbox<LoopMessage>) throws(SystemFault) {
        self.path = path
        self.signer = signer
        self.log = log
        self.readiness = readiness
        self.replies = replies
        wake = try EventFD()
        jobs = Mailbox(capacity: PairWorker.jobsMax, wake: wake)
        let started = try LoopThread(name: "segue-pairs") { [self] in run() }
        thread.withLock { $0 = started }
    }

    var isPersistent: Bool { path != nil }

    /// Asks for the ledger to be written; ``PairMail/stored(_:)`` with this version or a later one says that it is.
    func store(_ entries: [PairKeys: PairLedger.Entry], version: UInt64) {
        state.withLock { state in
            state.entries = entries
            state.version = version
        }
        wake.signal()
    }

    /// False when too much waits.
    func perform(_ job: Job) -> Bool {
        jobs.post(job) == .posted
    }

    /// Writes what is left and ends the thread.
    func stop() {
        state.withLock { $0.isStopping = true }
        wake.signal()
        thread.withLock { thread in
            thread?.join()
            thread = nil
        }
    }

    /// Waits for a full box: the loop empties it every turn, unless it has ended.
    private func reply(_ mail: PairMail) {
        var tries = 0
        while replies.post(.pairing(mail)) == .full, tries < PairWorker.repliesTriesMax, !state.withLock({ $0.isStopping }) {
            tries += 1
            usleep(1_000)
        }
    }

    private static let repliesTriesMax = 5_000

    private func run() {
        var mail: [Job] = []
        var hasFailed = false
        while true {
            let isStopping = state.withLock { $0.isStopping }
            wake.reset()
            mail.removeAll(keepingCapacity: true)
            jobs.drain(into: &mail)
            hasFailed = !write(hasFailed: hasFailed)
            for job in mail { work(on: job) }
            if isStopping { return }
            if mail.isEmpty || hasFailed { wait(hasFailed ? PairWorker.retryMilliseconds : -1) }
        }
    }

    private func wait(_ milliseconds: Int32) {
        var descriptor = pollfd(fd: wake.descriptor.number, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&descriptor, 1, milliseconds)
    }

    /// Writes the newest ledger, if one waits. A disk that fails is told of and tried again; whoever waits for the disk hears at once that it has failed.
    private func write(hasFailed: Bool) -> Bool {
        let waiting = state.withLock { state in
            defer { state.entries = nil }
            return state.entries.map { ($0, state.version) }
        }
        guard let (entries, version) = waiting else { return true }
        guard let path else {
            reply(.stored(version, isOnDisk: true))
            return true
        }
        do throws(StateFault) {
            try GrantFile.write(entries, to: path)
            readiness.setGrantsAreUnsaved(false)
            reply(.stored(version, isOnDisk: true))
            if hasFailed { log.info("grants_stored_again", [("path", path)]) }
            return true
        } catch {
            if !hasFailed { log.error("grants_not_stored", [("fault", "\(error)")]) }
            readiness.setGrantsAreUnsaved(true)
            reply(.stored(version, isOnDisk: false))
            state.withLock { state in
                if state.entries == nil { state.entries = entries }
            }
            return false
        }
    }

    private func work(on job: Job) {
        switch job {
        case .sign(let views, let now, let ask):
            let signed = views.compactMap { view in try? signer.sign(view, now: now) }
            reply(.signed(signed, for: ask))
        }
    }
}
