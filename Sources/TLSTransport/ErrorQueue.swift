internal import COpenSSL

/// The TLS library's per-thread queue of errors. It is empty whenever no call of this module is under way, so that nothing is blamed on the wrong peer.
enum ErrorQueue {
    static func clear() {
        // Peeking is cheap; clearing walks all sixteen entries.
        if ERR_peek_error() != 0 { ERR_clear_error() }
    }

    /// Takes everything out, oldest first, as packed error codes.
    static func drain() -> [UInt] {
        var codes: [UInt] = []
        while true {
            let code = ERR_get_error()
            guard code != 0 else { return codes }
            codes.append(code)
        }
    }

    /// Takes everything out as one line of text.
    static func drainText() -> String {
        let texts = drain().map(text(of:))
        return texts.isEmpty ? "no detail given" : texts.joined(separator: "; ")
    }

    static func text(of code: UInt) -> String {
        guard let reason = unsafe ERR_reason_error_string(code) else { return "error \(code)" }
        return unsafe String(cString: reason)
    }
}
