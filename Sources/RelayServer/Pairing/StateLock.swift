import Glibc

/// What keeps a state folder to one relay: an exclusive `flock` on the file `lock` in it, held for as long as this lives. The kernel drops it when the process
/// ends, however that happens. Two relays over one folder would write each other's grants away, and bring revoked ones back to life.
final class StateLock: Sendable {
    static let name = "lock"
    /// A relay that is just ending, or somebody who only looks, is waited for.
    private static let triesMax = 50
    private static let pauseMicroseconds: UInt32 = 20_000
    private static let fileMode: mode_t = 0o600

    private let file: Int32

    /// Blocks for up to a second.
    ///
    /// - Parameter folder: must be there.
    init(folder: String) throws(StateFault) {
        let path = folder + "/" + StateLock.name
        let file = unsafe open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, StateLock.fileMode)
        guard file >= 0 else { throw StateFolder.fault(path, "open") }
        var tries = 0
        while flock(file, LOCK_EX | LOCK_NB) != 0 {
            let code = errno
            tries += 1
            guard code == EWOULDBLOCK || code == EINTR, tries < StateLock.triesMax else {
                let fault =
                    code == EWOULDBLOCK
                    ? StateFault(path: folder, reason: "is in use by another relay; each needs a state folder of its own")
                    : StateFolder.fault(path, "flock")
                close(file)
                throw fault
            }
            usleep(StateLock.pauseMicroseconds)
        }
        self.file = file
    }

    deinit {
        close(file)
    }

    /// Whether a relay holds the folder. Makes no file, and keeps nobody out for longer than the look takes.
    static func isHeld(folder: String) -> Bool {
        let file = unsafe open(folder + "/" + name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        return flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }
}
