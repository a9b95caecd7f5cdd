import Glibc
import MediaProtocol
import RelayBase

/// Every frame that came to a session, for whoever wants to know why a figure is what it is.
enum Trace {
    /// Writes `NAME.csv` to the folder of `--trace`, if there is one: milliseconds since `begin`.
    static func keep(_ options: RealTimeOptions, _ name: String, since begin: MonotonicInstant, _ receptions: [Reception]) throws {
        guard options.trace != nil else { return }
        var text = "sent,received,latency,kind,stream,layer,key,sequence,bytes\n"
        for frame in receptions {
            text +=
                "\(milliseconds(frame.sent, since: begin)),\(milliseconds(frame.received, since: begin)),\(Text.fixed(Double(frame.latency) / 1e6, 2)),"
            text += "\(frame.kind),\(frame.stream),\(frame.layer.spatial),\(frame.isKey ? 1 : 0),\(frame.sequence),\(frame.byteCount)\n"
        }
        try write(options, name, text)
    }

    /// The same for round trips.
    static func keep(
        _ options: RealTimeOptions, _ name: String, since begin: MonotonicInstant,
        _ roundTrips: [(asked: MonotonicInstant, answered: MonotonicInstant)]
    ) throws {
        guard options.trace != nil else { return }
        var text = "asked,took\n"
        for trip in roundTrips {
            text += "\(milliseconds(trip.asked, since: begin)),\(milliseconds(trip.answered, since: trip.asked))\n"
        }
        try write(options, name, text)
    }

    private static func milliseconds(_ instant: MonotonicInstant, since begin: MonotonicInstant) -> String {
        Text.fixed((Double(instant.nanoseconds) - Double(begin.nanoseconds)) / 1e6, 2)
    }

    private static func write(_ options: RealTimeOptions, _ name: String, _ text: String) throws {
        guard let folder = options.trace else { return }
        let path = "\(folder)/\(name).csv"
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw ScenarioFault("\(path) cannot be written") }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        guard unsafe Glibc.write(descriptor, bytes, bytes.count) == bytes.count else { throw ScenarioFault("\(path) cannot be written") }
    }
}
