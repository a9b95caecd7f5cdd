import Glibc
import MediaProtocol
import RelayBase

/// Every frame that came to a session, for whoever wants to know why a figure is what it is.
enum Trace {
    /// Writes `NAME.csv` to the folder of `--trace`, if there is one: milliseconds since `begin`.
    static func keep(_ options: RealTimeOptions, _ name: String, since begin: MonotonicInstant, _ receptions: [Reception]) throws {
        guard let folder = options.trace else { return }
        let path = "\(folder)/\(name).csv"
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw ScenarioFault("\(path) cannot be written") }
        defer { close(descriptor) }
        func milliseconds(_ instant: MonotonicInstant) -> String {
            Text.fixed((Double(instant.nanoseconds) - Double(begin.nanoseconds)) / 1e6, 2)
        }
        var text = "sent,received,latency,kind,stream,layer,key,sequence,bytes\n"
        for frame in receptions {
            text += "\(milliseconds(frame.sent)),\(milliseconds(frame.received)),\(Text.fixed(Double(frame.latency) / 1e6, 2)),\(frame.kind),\(frame.stream),"
            text += "\(frame.layer.spatial),\(frame.isKey ? 1 : 0),\(frame.sequence),\(frame.byteCount)\n"
        }
        let bytes = Array(text.utf8)
        guard unsafe write(descriptor, bytes, bytes.count) == bytes.count else { throw ScenarioFault("\(path) cannot be written") }
    }
}
