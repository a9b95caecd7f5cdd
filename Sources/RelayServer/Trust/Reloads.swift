import Glibc
import Reactor
import Synchronization

/// The parts of the configuration that are read from files and replaced whole while the relay runs.
///
/// Each part stands by itself: a bad file keeps what its part had, is told in the log, the metrics and `/readyz`, and is tried again until it is good. Used by
/// the supervisor's thread alone.
struct Reloads {
    /// One part: the files that it is made of, and how it is read and handed to the loops. `load` throws what an operator can understand.
    struct Part {
        let name: ReloadPart
        let files: [String]
        let load: () throws -> Void
        /// Of the files as they were last read well.
        fileprivate var stamps: [[Int64]] = []
        /// The failure that was told last, and of which files: it is tried again and again, and told once.
        fileprivate var told: (fault: String, stamps: [[Int64]])?

        init(_ name: ReloadPart, files: [String], load: @escaping () throws -> Void) {
            self.name = name
            self.files = files
            self.load = load
            stamps = files.map(Part.stamp)
        }

        fileprivate static func stamp(_ path: String) -> [Int64] {
            var status = stat()
            guard unsafe stat(path, &status) == 0 else { return [] }
            return [Int64(status.st_mtim.tv_sec), Int64(status.st_mtim.tv_nsec), Int64(status.st_size), Int64(bitPattern: UInt64(status.st_ino))]
        }
    }

    private var parts: [Part] = []
    private let readiness: DrainState
    private let log: Log
    /// Tells of changes at once; without it they are seen when somebody looks.
    private let watcher: FileWatcher?

    init(readiness: DrainState, log: Log) {
        self.readiness = readiness
        self.log = log
        watcher = try? FileWatcher()
    }

    /// - Parameter part: made before its files are read for the first time, so that a change meanwhile is seen.
    mutating func add(_ part: Part) {
        parts.append(part)
        for file in part.files { watcher?.watch(folderOf: file) }
    }

    /// Readable when a file may have changed; −1 where the system does not tell.
    var descriptor: Int32 { watcher?.descriptor.number ?? -1 }

    /// Waits for the end of a change that has begun: a certificate and its key are two files, and who reads between the two finds a pair that does not fit.
    func settle() {
        guard let watcher, watcher.drain() else { return }
        var descriptor = pollfd(fd: watcher.descriptor.number, events: Int16(POLLIN), revents: 0)
        var waits = 0
        while waits < Reloads.settlesMax, unsafe poll(&descriptor, 1, Reloads.settleMilliseconds) > 0 {
            _ = watcher.drain()
            waits += 1
        }
    }

    private static let settleMilliseconds: Int32 = 20
    private static let settlesMax = 10

    /// Reads anew what has changed since it was last read well; all of it when asked to.
    mutating func run(all: Bool, because cause: String) {
        for place in parts.indices {
            let stamps = parts[place].files.map(Part.stamp)
            guard all || stamps != parts[place].stamps else { continue }
            let name = parts[place].name
            do {
                try parts[place].load()
                // The stamps of before the reading: a change meanwhile is seen next time.
                parts[place].stamps = stamps
                parts[place].told = nil
                readiness.set(name, isStale: false)
                log.info("reloaded", [("part", name.rawValue), ("because", cause)])
            } catch {
                readiness.set(name, isStale: true)
                let fault = "\(error)"
                let isTold = parts[place].told.map { $0.fault == fault && $0.stamps == stamps } ?? false
                parts[place].told = (fault, stamps)
                guard all || !isTold else { continue }
                log.error("reload_failed", [("part", name.rawValue), ("because", cause), ("fault", fault)])
            }
        }
    }
}

/// What can be read anew while the relay runs.
enum ReloadPart: String, CaseIterable, Sendable {
    /// Own certificates and keys, authorities, revocation lists.
    case tls
    /// OCSP responses for the own certificates; read with `tls`, which they do not hold back.
    case ocsp
    case policy
    /// Keys of bearer tokens.
    case tokens
    /// The folder of the web client.
    case web
}
