import RelayBase

/// What the shipped recordings are of: links, and how the sender sends.
struct Recording: Sendable {
    var name: String
    var note: String
    /// Options of the link emulator; end a sends, end b receives.
    var link: [String]
    var congestionControl = "bbr"
    /// The sender leaves out pauses (DTX).
    var hasPauses = false
    /// Bytes may wait in the kernel up to this, then frames wait with the sender and are dropped once older than this, as the relay does for audio.
    var expiry: (bytes: Int, milliseconds: Int64)?
    var seconds = 60
    var payloadBytes = 160

    static let all: [Recording] = [
        Recording(name: "rtt20", note: "RTT 20 ms", link: ["--delay", "10", "--jitter", "2"]),
        Recording(name: "rtt40-loss05", note: "RTT 40 ms, loss 0.5 %", link: ["--delay", "20", "--jitter", "4", "--loss", "0.5"]),
        Recording(
            name: "rtt60-loss1-cubic", note: "RTT 60 ms, loss 1 %, cubic", link: ["--delay", "30", "--jitter", "4", "--loss", "1"],
            congestionControl: "cubic"),
        Recording(name: "rtt100-loss1-dtx", note: "RTT 100 ms, loss 1 %, pauses not sent", link: ["--delay", "50", "--loss", "1"], hasPauses: true),
        Recording(name: "rtt100-loss3", note: "RTT 100 ms, loss 3 %", link: ["--delay", "50", "--jitter", "5", "--loss", "3"]),
        Recording(name: "rtt200-loss2", note: "RTT 200 ms, loss 2 %", link: ["--delay", "100", "--jitter", "5", "--loss", "2"]),
        Recording(
            name: "rtt200-loss1-expiry", note: "RTT 200 ms, loss 1 %, frames expire with the sender after 200 ms",
            link: ["--delay", "100", "--loss", "1"], expiry: (4_096, 200)),
        Recording(name: "jitter-30", note: "RTT 40 ms and 0 to 30 ms of jitter each way, in order", link: ["--delay", "20", "--jitter", "30"]),
        Recording(
            name: "rate-steps", note: "RTT 40 ms, 300 kbit/s with 2 s of 70 kbit/s each 10 s",
            link: ["--delay", "20", "--rate", "300"] + steps { ["\($0):ab.rate=70", "\($0 + 2):ab.rate=300"] }),
        Recording(
            name: "rate-steps-expiry", note: "RTT 60 ms, 300 kbit/s with 3 s of 50 kbit/s each 10 s, frames expire with the sender after 200 ms",
            link: ["--delay", "30", "--rate", "300"] + steps { ["\($0):ab.rate=50", "\($0 + 3):ab.rate=300"] }, expiry: (2_048, 200)),
        Recording(
            name: "wifi", note: "RTT 20 ms, stalls of 30 to 200 ms, about one a second",
            link: ["--delay", "10", "--jitter", "6"] + stalls(1, 0.4...1.6, 30...200)),
        Recording(
            name: "wifi-dtx", note: "RTT 20 ms, stalls of 40 to 300 ms, about one each 2 s, pauses not sent",
            link: ["--delay", "10", "--jitter", "6"] + stalls(2, 1...3, 40...300), hasPauses: true),
        Recording(
            name: "wifi-loss1", note: "RTT 30 ms, loss 1 %, stalls of 40 to 250 ms, about one each 2 s",
            link: ["--delay", "15", "--jitter", "4", "--loss", "1"] + stalls(3, 1...3, 40...250)),
        Recording(
            name: "hand-off", note: "RTT 60 ms, stalls of 0.4 to 0.9 s, about one each 25 s",
            link: ["--delay", "30", "--jitter", "4"] + stalls(4, 20...30, 400...900)),
        Recording(
            name: "stall-2s", note: "RTT 40 ms, a stall of 2 s", link: ["--delay", "20", "--jitter", "4", "--at", "22:stall=1", "--at", "24:stall=0"]),
    ]

    private static func steps(_ changes: (Int) -> [String]) -> [String] {
        [5, 15, 25, 35, 45].flatMap { changes($0).flatMap { ["--at", $0] } }
    }

    /// Stalls of both directions after times that `gaps` bounds, in seconds, as long as `lengths` says, in milliseconds.
    private static func stalls(_ seed: UInt64, _ gaps: ClosedRange<Double>, _ lengths: ClosedRange<Double>) -> [String] {
        var generator = SeededGenerator(seed: seed)
        var options: [String] = []
        var time = 3.0
        while time < 60 {
            let length = Double.random(in: lengths, using: &generator) / 1_000
            options += ["--at", "\(Decimals.fixed(time, 3)):stall=1", "--at", "\(Decimals.fixed(time + length, 3)):stall=0"]
            time += length + Double.random(in: gaps, using: &generator)
        }
        return options
    }
}
