import Glibc
import MediaFiles
import MediaProtocol
import Reactor
import Synchronization

/// Saves streams on a thread of its own, so that the disk never holds up a session.
///
/// What waits for the disk is bounded in bytes; a frame beyond is not saved, and counted.
final class RecordingThread: Sendable {
    enum Job: Sendable {
        case open(key: Int, folder: String, participant: String, stream: UInt32, MediaProtocol.StreamDescription)
        case frame(key: Int, [UInt8])
        case stop
    }

    /// What became of one stream.
    struct Result: Sendable {
        var key: Int
        var framesPath = ""
        var playablePaths: [String] = []
        var framesSaved = 0
        var problem: String?
    }

    private static let waitingBytesMax = 256 << 20
    private static let jobsMax = 1 << 20

    private let wake: EventFD
    private let jobs: Mailbox<Job>
    private let results: Mailbox<Result>
    private let waitingBytes = Atomic<Int>(0)

    /// Starts the thread, which the caller joins after ``stop()``.
    static func start() throws(SystemFault) -> (recording: RecordingThread, thread: LoopThread) {
        let recording = try RecordingThread()
        return (recording, try LoopThread(name: "segue-record") { recording.run() })
    }

    private init() throws(SystemFault) {
        wake = try EventFD()
        jobs = Mailbox(capacity: Self.jobsMax, wake: wake)
        results = Mailbox(capacity: Self.jobsMax, wake: try EventFD())
    }

    func open(key: Int, folder: String, participant: String, stream: UInt32, _ description: MediaProtocol.StreamDescription) -> Bool {
        jobs.post(.open(key: key, folder: folder, participant: participant, stream: stream, description)) == .posted
    }

    /// False when the disk is too far behind: the frame is not saved.
    func save(key: Int, _ frame: RawSpan) -> Bool {
        let bytes = unsafe frame.withUnsafeBytes { unsafe Array($0) }
        guard waitingBytes.load(ordering: .relaxed) + bytes.count <= Self.waitingBytesMax else { return false }
        guard jobs.post(.frame(key: key, bytes)) == .posted else { return false }
        waitingBytes.wrappingAdd(bytes.count, ordering: .relaxed)
        return true
    }

    /// Has everything written out and ends the thread.
    func stop() {
        while jobs.post(.stop) == .full { usleep(10_000) }
    }

    /// What became of every stream; complete once the thread has ended.
    func takeResults() -> [Result] {
        var taken: [Result] = []
        results.drain(into: &taken)
        return taken
    }

    // MARK: On the thread

    private final class Recording {
        var writer: RecordedStreamWriter?
        var result: Result

        init(_ result: Result) {
            self.result = result
        }
    }

    private func run() {
        var recordings: [Int: Recording] = [:]
        var batch: [Job] = []
        while true {
            var ready = pollfd(fd: wake.descriptor.number, events: Int16(POLLIN), revents: 0)
            _ = unsafe poll(&ready, 1, 1_000)
            wake.reset()
            batch.removeAll(keepingCapacity: true)
            jobs.drain(into: &batch)
            for job in batch {
                switch job {
                case .open(let key, let folder, let participant, let stream, let description):
                    recordings[key] = Self.open(key, folder, participant, stream, description)
                case .frame(let key, let bytes):
                    waitingBytes.wrappingSubtract(bytes.count, ordering: .relaxed)
                    if let recording = recordings[key] { Self.append(bytes, to: recording) }
                case .stop:
                    for recording in recordings.values { _ = results.post(Self.finish(recording)) }
                    return
                }
            }
        }
    }

    private static func open(
        _ key: Int, _ folder: String, _ participant: String, _ stream: UInt32, _ description: MediaProtocol.StreamDescription
    ) -> Recording {
        let recording = Recording(Result(key: key))
        do {
            let writer = try RecordedStreamWriter(directory: folder, participant: participant, stream: StreamID(stream), description: description)
            recording.result.framesPath = writer.framesPath
            recording.writer = consume writer
        } catch {
            recording.result.problem = "\(error)"
        }
        return recording
    }

    private static func append(_ bytes: [UInt8], to recording: Recording) {
        do {
            try recording.writer?.append(unsafe bytes.span.bytes)
        } catch {
            // The first fault tells the most.
            recording.result.problem = recording.result.problem ?? "\(error)"
        }
    }

    private static func finish(_ recording: Recording) -> Result {
        do {
            try recording.writer?.finish()
        } catch {
            recording.result.problem = recording.result.problem ?? "\(error)"
        }
        recording.result.framesSaved = recording.writer?.framesWritten ?? 0
        recording.result.playablePaths = recording.writer?.playablePaths ?? []
        recording.result.problem = recording.result.problem ?? recording.writer?.playableProblem
        return recording.result
    }
}
