import Glibc
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
        fileprivate var stamps: [[Int64]] = []

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

    init(readiness: DrainState, log: Log) {
        self.readiness = readiness
        self.log = log
    }

    mutating func add(_ part: Part) {
        parts.append(part)
    }

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
                readiness.set(name, isStale: false)
                log.info("reloaded", [("part", name.rawValue), ("because", cause)])
            } catch {
                readiness.set(name, isStale: true)
                log.error("reload_failed", [("part", name.rawValue), ("because", cause), ("fault", "\(error)")])
            }
        }
    }
}

/// What can be read anew while the relay runs.
enum ReloadPart: String, CaseIterable, Sendable {
    /// Own certificates and keys, authorities, revocation lists.
    case tls
    case policy
    /// Keys of bearer tokens.
    case tokens
}
