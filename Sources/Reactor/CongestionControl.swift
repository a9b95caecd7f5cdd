internal import CLinux
internal import Glibc

/// The kernel's congestion controls by name (tcp(7), TCP_CONGESTION).
package enum CongestionControl {
    private static let path = "/proc/sys/net/ipv4/tcp_available_congestion_control"
    private static let textBytesMax = 4_096

    /// What this network namespace lists; `nil` where that cannot be read. Blocks for a read of /proc: not on a loop.
    package static func available() -> [String]? {
        guard let file = unsafe fopen(path, "re") else { return nil }
        defer { unsafe fclose(file) }
        var bytes = [UInt8](repeating: 0, count: textBytesMax)
        let count = unsafe fread(&bytes, 1, bytes.count, file)
        return names(in: bytes.prefix(count))
    }

    /// The names in a file of that form: separated by spaces, a line feed at the end.
    package static func names(in text: some Collection<UInt8>) -> [String] {
        text.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Why a socket would not take a control of this name; `nil`: it does, or that cannot be told here. A control that is not listed may still be a module that
    /// the kernel loads for whoever may have it so: one that a socket takes is known.
    package static func fault(_ name: String, calls: SystemCalls) -> SystemFault? {
        guard let available = available(), !available.contains(name) else { return nil }
        guard let socket = try? Socket.listen(on: .loopback(port: 0), backlog: 1, reusePort: false, calls: calls) else { return nil }
        defer { calls.close(socket) }
        do throws(SystemFault) {
            try Socket.setCongestionControl(socket, name, calls: calls)
            return nil
        } catch {
            return error
        }
    }
}
