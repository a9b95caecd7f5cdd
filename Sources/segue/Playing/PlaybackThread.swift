import Glibc
import JitterBuffer
import Reactor
import RelayBase
import Synchronization

/// Plays on a thread of its own, so that neither decoding nor the disk ever holds up a session.
///
/// Its time is that of arrivals: the tick of an instant sees what had arrived by then and nothing later, however late the thread itself is run. So what is
/// written depends on when frames came, never on when this machine found the time to decode them.
final class PlaybackThread: Sendable {
    enum Job: Sendable {
        case open(key: Int, PlayedDescription)
        case frame(key: Int, [UInt8])
        case end(key: Int)
        case restart
        case configure(JitterProfile, isMeasurement: Bool)
        case stop
    }

    private struct Entry: Sendable {
        let at: MonotonicInstant
        let job: Job
    }

    struct News: Sendable {
        var statistics: [Int: PlayedStatistics]
        /// Streams that are not played, and why, since the news before.
        var problems: [Int: String]
    }

    struct Result: Sendable {
        var summary: PlaybackSummary
        /// The last.
        var news: News
    }

    /// How far the ticks stay behind the clock: what arrives is handed over within that.
    private static let holdbackNanoseconds: UInt64 = 20_000_000
    private static let newsTicks: UInt64 = 50
    private static let jobsMax = 1 << 20
    private static let waitingBytesMax = 64 << 20
    private static let newsMax = 64

    private let start: MonotonicInstant
    private let plan: PlaybackPlan
    private let wake: EventFD
    private let jobs: Mailbox<Entry>
    private let news: Mailbox<News>
    private let results: Mailbox<Result>
    private let waitingBytes = Atomic<Int>(0)

    /// Starts the thread, which the caller joins after ``stop(now:)``.
    ///
    /// - Throws: `CommandFailure` when the file cannot be made, `SystemFault`.
    static func start(_ plan: PlaybackPlan, now: MonotonicInstant) throws -> (playback: PlaybackThread, thread: LoopThread) {
        let playback = try PlaybackThread(plan, now)
        // Made here, so that a path that cannot be is told before anything is joined.
        if let path = plan.path { _ = try WaveFile(path: path, sampleRate: Player.sampleRate, channels: plan.channels) }
        return (playback, try LoopThread(name: "segue-play") { playback.run() })
    }

    private init(_ plan: PlaybackPlan, _ start: MonotonicInstant) throws(SystemFault) {
        self.plan = plan
        self.start = start
        wake = try EventFD()
        jobs = Mailbox(capacity: Self.jobsMax, wake: wake)
        news = Mailbox(capacity: Self.newsMax, wake: try EventFD())
        results = Mailbox(capacity: 1, wake: try EventFD())
    }

    // MARK: From the client's thread, in order of time

    func post(_ job: Job, now: MonotonicInstant) {
        _ = jobs.post(Entry(at: now, job: job))
    }

    /// False when the thread is too far behind: the frame is not played.
    func take(_ key: Int, _ frame: RawSpan, now: MonotonicInstant) -> Bool {
        guard waitingBytes.load(ordering: .relaxed) + frame.byteCount <= Self.waitingBytesMax else { return false }
        let bytes = unsafe frame.withUnsafeBytes { unsafe Array($0) }
        guard jobs.post(Entry(at: now, job: .frame(key: key, bytes))) == .posted else { return false }
        waitingBytes.wrappingAdd(bytes.count, ordering: .relaxed)
        return true
    }

    func stop(now: MonotonicInstant) {
        while jobs.post(Entry(at: now, job: .stop)) == .full { usleep(10_000) }
    }

    /// The newest statistics since this was asked last, by the streams' keys.
    func takeNews() -> News? {
        var taken: [News] = []
        news.drain(into: &taken)
        guard var newest = taken.last else { return nil }
        for older in taken.dropLast() { newest.problems.merge(older.problems) { newer, _ in newer } }
        return newest
    }

    /// Once the thread has ended.
    func takeResult() -> Result? {
        var taken: [Result] = []
        results.drain(into: &taken)
        return taken.first
    }

    // MARK: On the thread

    private func run() {
        let player = Player(plan, start: start)
        var problem: String?
        let problems: [Int: String]
        if let path = plan.path {
            do throws(CommandFailure) {
                var file = try WaveFile(path: path, sampleRate: Player.sampleRate, channels: plan.channels)
                problems = play(player) { file.append($0) }
                file.flush()
                problem = file.problem
            } catch {
                problem = error.message
                problems = play(player) { _ in }
            }
        } else {
            problems = play(player) { _ in }
        }
        var summary = player.summary
        summary.problem = problem
        _ = results.post(Result(summary: summary, news: News(statistics: player.statistics, problems: problems)))
    }

    /// - Returns: why streams were not played, as far as that was not told.
    private func play(_ player: Player, _ take: ([Float]) -> Void) -> [Int: String] {
        var waiting: [Entry] = []
        var next = 0
        var batch: [Entry] = []
        var problems: [Int: String] = [:]
        var stopsAt = MonotonicInstant.distantFuture
        var tick = start.advanced(byNanoseconds: Player.tickNanoseconds)
        while tick <= stopsAt {
            let due = tick.advanced(byNanoseconds: Self.holdbackNanoseconds)
            waitUntil(due)
            wake.reset()
            jobs.drain(into: &batch)
            if next == waiting.count {
                waiting.removeAll(keepingCapacity: true)
                next = 0
            }
            waiting.append(contentsOf: batch)
            let now = MonotonicClock.now()
            while tick <= stopsAt, tick.advanced(byNanoseconds: Self.holdbackNanoseconds) <= now {
                while next < waiting.count, waiting[next].at <= tick {
                    if case .stop = waiting[next].job { stopsAt = waiting[next].at } else { perform(waiting[next], player, &problems) }
                    next += 1
                }
                player.pull(now: tick, take)
                tick = tick.advanced(byNanoseconds: Player.tickNanoseconds)
                if player.ticks % Self.newsTicks == 0 { tell(player, &problems) }
            }
        }
        return problems
    }

    private func perform(_ entry: Entry, _ player: Player, _ problems: inout [Int: String]) {
        switch entry.job {
        case .open(let key, let description): problems[key] = player.open(key, description)
        case .frame(let key, let bytes):
            waitingBytes.wrappingSubtract(bytes.count, ordering: .relaxed)
            player.insert(key, unsafe bytes.span.bytes, now: entry.at)
        case .end(let key): player.end(key)
        case .restart: player.restart()
        case .configure(let profile, let isMeasurement): player.configure(profile, isMeasurement: isMeasurement)
        case .stop: break
        }
    }

    private func tell(_ player: Player, _ problems: inout [Int: String]) {
        if news.post(News(statistics: player.statistics, problems: problems)) == .posted { problems.removeAll() }
    }

    /// What is posted meanwhile does not matter before that, but for the end.
    private func waitUntil(_ instant: MonotonicInstant) {
        let now = MonotonicClock.now()
        guard now < instant else { return }
        let nanoseconds = instant.nanoseconds(since: now)
        var time = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
        _ = unsafe nanosleep(&time, nil)
    }
}
