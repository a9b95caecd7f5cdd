import CertificateAuthority
import Glibc
import Reactor
import RelayBase

/// The certificate authority at work for the relay: on a thread of its own, since every operation waits for the disk, one after the other.
///
/// Loops hand requests over through a bounded mailbox, and answers come back by the function that was given with the request, which posts them to a loop.
final class EnrolmentWorker: Sendable {
    typealias Answer = @Sendable (EnrolmentOutcome) -> Void

    private struct Job: Sendable {
        let request: EnrolmentRequest
        let posted: MonotonicInstant
        let answer: Answer
    }

    /// What the thread holds: not the worker itself, whose end is the thread's.
    private final class Desk: Sendable {
        let authority: CertificateAuthority
        let policy: RenewalPolicy
        let log: Log
        let wake: EventFD
        let mailbox: Mailbox<Job>
        let isClosing = Locked(false)

        init(authority: CertificateAuthority, policy: RenewalPolicy, log: Log) throws(SystemFault) {
            self.authority = authority
            self.policy = policy
            self.log = log
            wake = try EventFD()
            mailbox = Mailbox(capacity: EnrolmentWorker.jobsMax, wake: wake)
        }
    }

    /// Jobs that wait; a job takes some milliseconds.
    static let jobsMax = 64
    /// A client waits for ten seconds. What could not be told to it any more is not begun: it would spend a token on a certificate that nobody gets.
    static let waitMillisecondsMax: UInt64 = 4_000
    /// The same for what keeps another process busy with the authority.
    static let lockTimeout = Duration.seconds(4)

    private let desk: Desk
    private let budget: Locked<EnrolmentBudget>

    /// Starts the thread. The authority has been opened by whoever made it.
    init(_ authority: CertificateAuthority, configuration: EnrolmentConfiguration, log: Log) throws(SystemFault) {
        let desk = try Desk(authority: authority, policy: RenewalPolicy(lifePercent: configuration.renewalLifePercent), log: log)
        self.desk = desk
        budget = Locked(EnrolmentBudget(perMinute: configuration.attemptsPerMinute))
        _ = try LoopThread(name: "segue-authority") { EnrolmentWorker.run(desk) }
    }

    deinit {
        desk.isClosing.withLock { $0 = true }
        desk.wake.signal()
    }

    /// Hands a device's request over, if its address has not asked too often.
    ///
    /// - Parameter answer: called once, at once on this thread when the request is not taken, else later on the worker's.
    func submit(_ request: EnrolmentRequest, from address: AddressKey, now: MonotonicInstant, answer: @escaping Answer) {
        if let seconds = limit(address, now: now) { answer(.limited(retryAfterSeconds: seconds)) } else { submit(request, answer: answer) }
    }

    /// Hands a request over that nobody counts: an administrator's.
    func submit(_ request: EnrolmentRequest, answer: @escaping Answer) {
        let job = Job(request: request, posted: MonotonicClock.now(), answer: answer)
        if desk.mailbox.post(job) == .full { answer(.busy) }
    }

    /// Spends one request of an address; answers after how many seconds it may try again, if it may not now.
    func limit(_ address: AddressKey, now: MonotonicInstant) -> Int? {
        budget.withLock { $0.spend(address, now: now) }
    }

    private static func run(_ desk: Desk) {
        var jobs: [Job] = []
        while true {
            let isClosing = desk.isClosing.withLock { $0 }
            desk.wake.reset()
            jobs.removeAll(keepingCapacity: true)
            desk.mailbox.drain(into: &jobs)
            for job in jobs {
                let waited = MonotonicClock.now().milliseconds(since: job.posted)
                job.answer(waited > waitMillisecondsMax ? .busy : perform(job.request, desk))
            }
            guard jobs.isEmpty else { continue }
            if isClosing { return }
            var descriptor = pollfd(fd: desk.wake.descriptor.number, events: Int16(POLLIN), revents: 0)
            _ = unsafe poll(&descriptor, 1, 1_000)
        }
    }

    private static func perform(_ request: EnrolmentRequest, _ desk: Desk) -> EnrolmentOutcome {
        let now = UnixTime.current()
        do throws(CertificateAuthorityFault) {
            switch request {
            case .enrol(let secret, let pem):
                return try issued(try desk.authority.enrol(token: secret, request: pem, now: now), desk)
            case .renew(let presented, let pem):
                return try issued(try desk.authority.renew(presenting: presented, request: pem, policy: desk.policy, now: now), desk)
            case .createToken(let order):
                let (token, secret) = try desk.authority.createEnrolmentToken(
                    names: order.names, label: order.label, validity: order.validity, certificateValidity: order.certificateValidity, now: now)
                return .token(token, secret)
            case .revoke(let selector, let reason):
                return .revoked(try desk.authority.revoke(selector, reason: reason, now: now))
            }
        } catch {
            if EnrolmentProblem.fault(error).isOurs { desk.log.error("authority_failed", [("fault", "\(error)")]) }
            return .refused(error)
        }
    }

    private static func issued(_ issued: IssuedCertificate, _ desk: Desk) throws(CertificateAuthorityFault) -> EnrolmentOutcome {
        let bundle = try desk.authority.bundle(issued)
        return .issued(issued.entry, certificate: bundle.certificate, chain: bundle.chain)
    }
}
