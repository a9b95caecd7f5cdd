import FoundationEssentials
import Glibc
package import Reactor
import RelayBase
import Signalling

/// One thing worth telling an operator.
package struct LogRecord: Sendable {
    package enum Level: String, Sendable {
        case info
        case warning
        case error
    }

    let wallMilliseconds: UInt64
    let level: Level
    let event: String
    let fields: [(String, String)]
}

/// The structured log: one line a record on standard error, for people on a terminal and as JSON otherwise.
///
/// Loops hand records over through a bounded mailbox; a thread of its own formats and writes them, so that a slow terminal stalls nobody. Records that do not
/// fit are counted and the count is told.
package final class Log: Sendable {
    package enum Format: Sendable {
        case human
        case json
    }

    private let mailbox: Mailbox<LogRecord>
    private let wake: EventFD
    private let format: Format
    private let thread = Locked<LoopThread?>(nil)
    private let state = Locked((lost: UInt64(0), isStopping: false))

    private static let recordsMax = 8_192

    /// Starts the writing thread.
    package init(format: Format) throws(SystemFault) {
        self.format = format
        wake = try EventFD()
        mailbox = Mailbox(capacity: Log.recordsMax, wake: wake)
        let started = try LoopThread(name: "segue-log") { [self] in run() }
        thread.withLock { $0 = started }
    }

    /// JSON unless standard error is a terminal.
    package static var detectedFormat: Format { isatty(STDERR_FILENO) == 1 ? .human : .json }

    /// Answers whether the record was taken.
    @discardableResult
    package func info(_ event: String, _ fields: [(String, String)] = []) -> Bool { write(.info, event, fields) }
    package func warning(_ event: String, _ fields: [(String, String)] = []) { write(.warning, event, fields) }
    package func error(_ event: String, _ fields: [(String, String)] = []) { write(.error, event, fields) }

    @discardableResult
    private func write(_ level: LogRecord.Level, _ event: String, _ fields: [(String, String)]) -> Bool {
        let record = LogRecord(wallMilliseconds: WallClock.now(), level: level, event: event, fields: fields)
        guard mailbox.post(record) == .full else { return true }
        state.withLock { $0.lost &+= 1 }
        return false
    }

    /// Writes what is left and ends the thread.
    package func stop() {
        state.withLock { $0.isStopping = true }
        wake.signal()
        thread.withLock { thread in
            thread?.join()
            thread = nil
        }
    }

    private func run() {
        var records: [LogRecord] = []
        while true {
            let isStopping = state.withLock { $0.isStopping }
            wake.reset()
            records.removeAll(keepingCapacity: true)
            mailbox.drain(into: &records)
            for record in records { Log.put(format == .json ? Log.json(record) : Log.human(record)) }
            let lost = state.withLock { state in
                defer { state.lost = 0 }
                return state.lost
            }
            if lost > 0 {
                let record = LogRecord(wallMilliseconds: WallClock.now(), level: .warning, event: "log_records_lost", fields: [("count", "\(lost)")])
                Log.put(format == .json ? Log.json(record) : Log.human(record))
            }
            if isStopping, records.isEmpty { return }
            if !isStopping { wait() }
        }
    }

    private func wait() {
        var descriptor = pollfd(fd: wake.descriptor.number, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&descriptor, 1, 1_000)
    }

    /// `write(2)` at once: what is buffered is lost in a crash.
    private static func put(_ line: String) {
        var bytes = Array(line.utf8)
        bytes.append(UInt8(ascii: "\n"))
        unsafe bytes.withUnsafeBytes { buffer in
            var offset = 0
            while offset < buffer.count {
                let written = unsafe Glibc.write(STDERR_FILENO, buffer.baseAddress.map { unsafe $0 + offset }, buffer.count - offset)
                if written > 0 { offset += written } else if errno != EINTR { return }
            }
        }
    }

    private static func human(_ record: LogRecord) -> String {
        let fields = record.fields.map { "\($0.0)=\(sanitised($0.1))" }.joined(separator: " ")
        return "\(timestamp(record.wallMilliseconds)) \(record.level.rawValue.uppercased()) \(record.event) \(fields)"
    }

    private static func json(_ record: LogRecord) -> String {
        var object: [String: String] = ["time": timestamp(record.wallMilliseconds), "level": record.level.rawValue, "event": record.event]
        for (key, value) in record.fields { object[key] = value }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(object) else { return "{\"event\":\"unprintable_log_record\"}" }
        return String(decoding: data, as: UTF8.self)
    }

    private static func sanitised(_ text: String) -> String {
        let plain = Log.plain(text)
        return plain.contains(" ") ? "\"\(plain)\"" : plain
    }

    /// A peer's text must not draw on a person's terminal.
    package static func plain(_ text: String) -> String {
        var plain = ""
        for scalar in text.unicodeScalars { plain.unicodeScalars.append(isHarmless(scalar) ? scalar : "\u{FFFD}") }
        return plain
    }

    /// Neither a control character nor one that turns the direction of what follows.
    private static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }

    static func timestamp(_ milliseconds: UInt64) -> String {
        Date(timeIntervalSince1970: Double(milliseconds) / 1_000).formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
