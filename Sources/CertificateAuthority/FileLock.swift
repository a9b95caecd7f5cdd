internal import Glibc

/// An exclusive advisory lock (`flock`) on a file of its own. It holds between processes and between threads alike, since each lock opens the
/// file anew, and the kernel drops it when its holder dies.
struct FileLock: ~Copyable {
    private let file: FileDescriptor

    /// Waits for at most `timeout`; a holder does a few milliseconds of work.
    init(path: String, timeout: Duration = .seconds(30)) throws(CertificateAuthorityFault) {
        let file = try FileDescriptor(opening: path, flags: O_RDWR | O_CREAT | O_NOFOLLOW, mode: Files.secretMode)
        let clock = ContinuousClock()
        let deadline = clock.now + timeout
        while flock(file.number, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR else { throw Files.fault("flock", path) }
            guard clock.now < deadline else { throw .lockTimeout(path: path) }
            usleep(2_000)
        }
        self.file = file
    }

    /// Says where the lock ends; leaving its scope by an error drops it as well.
    consuming func release() {}
}
