import FoundationEssentials
import Glibc
import RelayServer

/// Standard output and standard error, written at once: what is buffered is lost in a crash.
enum Console {
    static var errorIsTerminal: Bool { isatty(STDERR_FILENO) == 1 }
    static var inputIsTerminal: Bool { isatty(STDIN_FILENO) == 1 }

    static func out(_ line: String) {
        put(line + "\n", STDOUT_FILENO)
    }

    static func text(_ text: String) {
        put(text, STDOUT_FILENO)
    }

    static func error(_ line: String) {
        put(line + "\n", STDERR_FILENO)
    }

    /// Without the end of a line: a question.
    static func errorText(_ text: String) {
        put(text, STDERR_FILENO)
    }

    /// One JSON object on one line.
    static func json(_ value: some Encodable) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        guard let data = try? encoder.encode(value) else { preconditionFailure("plain values always encode") }
        out(String(decoding: data, as: UTF8.self))
    }

    /// A peer's text must not draw on the terminal.
    static func plain(_ text: String) -> String {
        Log.plain(text)
    }

    fileprivate static func put(_ text: String, _ descriptor: Int32) {
        let bytes = Array(text.utf8)
        unsafe bytes.withUnsafeBytes { buffer in
            var offset = 0
            while offset < buffer.count {
                let written = unsafe write(descriptor, buffer.baseAddress.map { unsafe $0 + offset }, buffer.count - offset)
                if written > 0 {
                    offset += written
                } else if errno == EAGAIN {
                    var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    _ = unsafe poll(&ready, 1, 1_000)
                } else if errno != EINTR {
                    return
                }
            }
        }
    }
}

/// A line on standard error that is written over, on a terminal only.
struct ProgressLine {
    private let isShown: Bool
    private var length = 0

    init(isWanted: Bool = true) {
        isShown = isWanted && Console.errorIsTerminal
    }

    mutating func show(_ text: String) {
        guard isShown else { return }
        let padding = String(repeating: " ", count: max(0, length - text.count))
        Console.put("\r\(text)\(padding)", STDERR_FILENO)
        length = text.count
    }

    mutating func clear() {
        guard isShown, length > 0 else { return }
        Console.put("\r" + String(repeating: " ", count: length) + "\r", STDERR_FILENO)
        length = 0
    }
}
