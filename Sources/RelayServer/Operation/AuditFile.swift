import FoundationEssentials
import Glibc
package import Reactor
import Synchronization

/// The audit's own file: one JSON object a line, appended by a thread of its own.
///
/// It is made for its owner alone, is never followed through a symbolic link, and must be a regular file that nobody else can write. A record that cannot be
/// written is counted; the file is not given up.
package final class AuditFile: Sendable {
    private static let recordsMax = 8_192
    private static let mode: mode_t = 0o600

    private let path: String
    private let log: Log
    private let mailbox: Mailbox<AuditRecord>
    private let wake: EventFD
    private let thread = Locked<LoopThread?>(nil)
    private let lostRecords = Atomic<UInt64>(0)
    private let wantsReopening = Atomic<Bool>(false)
    private let isStopping = Atomic<Bool>(false)

    /// Opens the file and starts the thread.
    package init(path: String, log: Log) throws(SystemFault) {
        self.path = path
        self.log = log
        wake = try EventFD()
        mailbox = Mailbox(capacity: AuditFile.recordsMax, wake: wake)
        let descriptor = try AuditFile.open(path)
        let started = try LoopThread(name: "segue-audit") { [self] in run(descriptor) }
        thread.withLock { $0 = started }
    }

    var lost: UInt64 { lostRecords.load(ordering: .relaxed) }

    func write(_ record: AuditRecord) {
        if mailbox.post(record) == .full, !record.tellsOfLoss { lostRecords.add(1, ordering: .relaxed) }
    }

    func reopen() {
        wantsReopening.store(true, ordering: .releasing)
        wake.signal()
    }

    func stop() {
        isStopping.store(true, ordering: .releasing)
        wake.signal()
        thread.withLock { thread in
            thread?.join()
            thread = nil
        }
    }

    private static func open(_ path: String, making: Bool = true) throws(SystemFault) -> Int32 {
        let flags = O_WRONLY | O_APPEND | (making ? O_CREAT : 0) | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY
        let descriptor = unsafe Glibc.open(path, flags, mode)
        guard descriptor >= 0 else { throw SystemFault(operation: "open", errno: errno) }
        var status = stat()
        let isOurs = unsafe fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_mode & (S_IWGRP | S_IWOTH) == 0
        guard isOurs else {
            close(descriptor)
            throw SystemFault(operation: "open", errno: EPERM)
        }
        return descriptor
    }

    // MARK: For who only looks

    /// Whether the file could be opened; makes and changes nothing. Blocks on the disk.
    package static func inspect(_ path: String) throws(SystemFault) {
        do throws(SystemFault) {
            close(try open(path, making: false))
        } catch {
            // A file that is not there will be made, where it can be.
            guard error.errno == ENOENT else { throw error }
            let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
            guard unsafe access(folder, W_OK | X_OK) == 0 else { throw SystemFault(operation: "open", errno: errno) }
        }
    }

    /// The fault in an operator's words, where the system's would mislead.
    package static func explain(_ fault: SystemFault) -> String {
        switch fault.errno {
        case ELOOP: "it is a symbolic link, which is not followed"
        case EPERM: "it is no regular file that only its owner can write to"
        case ENXIO, EISDIR: "it is no regular file"
        case ENOENT: "its folder is missing"
        default: "\(fault)"
        }
    }

    // MARK: The thread

    /// Where the thread is.
    private struct Writer {
        var descriptor: Int32
        /// A line was cut off in the middle.
        var isMidLine = false
        var isFailing = false
    }

    private func run(_ descriptor: Int32) {
        var writer = Writer(descriptor: descriptor)
        var records: [AuditRecord] = []
        while true {
            let isStopping = isStopping.load(ordering: .acquiring)
            wake.reset()
            if wantsReopening.exchange(false, ordering: .acquiringAndReleasing) { reopen(&writer) }
            mailbox.drain(into: &records)
            for record in records where !write(AuditFile.line(record), &writer) && !record.tellsOfLoss { lostRecords.add(1, ordering: .relaxed) }
            if isStopping, records.isEmpty { break }
            if !isStopping { wait() }
        }
        close(writer.descriptor)
    }

    private func wait() {
        var descriptor = pollfd(fd: wake.descriptor.number, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&descriptor, 1, 1_000)
    }

    private func reopen(_ writer: inout Writer) {
        do {
            let descriptor = try AuditFile.open(path)
            close(writer.descriptor)
            writer = Writer(descriptor: descriptor)
        } catch {
            log.error("audit_reopen_failed", [("path", path), ("fault", AuditFile.explain(error))])
        }
    }

    /// Answers whether the whole line is there.
    private func write(_ line: String, _ writer: inout Writer) -> Bool {
        let bytes = Array(((writer.isMidLine ? "\n" : "") + line + "\n").utf8)
        var offset = 0
        while offset < bytes.count {
            let written = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.write(writer.descriptor, $0.baseAddress.map { unsafe $0 + offset }, bytes.count - offset)
            }
            if written > 0 {
                offset += written
            } else if errno != EINTR {
                let fault = SystemFault(operation: "write", errno: errno)
                if !writer.isFailing { log.error("audit_write_failed", [("path", path), ("fault", "\(fault)")]) }
                writer.isFailing = true
                writer.isMidLine = writer.isMidLine || offset > 0
                return false
            }
        }
        writer.isMidLine = false
        writer.isFailing = false
        return true
    }

    /// A detail that is called as one of the record's own fields does not hide it.
    static func line(_ record: AuditRecord) -> String {
        var object: [String: String] = [:]
        for (key, value) in record.fields where object[key] == nil { object[key] = value }
        object["time"] = Log.timestamp(record.wallMilliseconds)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(object) else { return "{\"act\":\"unprintable\"}" }
        return String(decoding: data, as: UTF8.self)
    }
}
