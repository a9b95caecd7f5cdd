import BenchmarkSupport
import Glibc
import Reactor
import RelayBase
import RelayClient
import TLSTransport

/// Mutual handshakes per CPU-second: of the relay, accepting and closing the connections included, and of the TLS library alone, in turns.
struct HandshakeBenchmark {
    private let options: BenchmarkOptions

    init(_ options: BenchmarkOptions) {
        self.options = options
    }

    /// Per CPU-second, by run.
    private struct Rates {
        var library: [Double] = []
        var accepting: [Double] = []
        var first: [Double] = []
        var again: [Double] = []
        var resumed: [Double] = []
    }

    func run() throws {
        var rates = Rates()
        for _ in 0..<options.runs { try measure(&rates) }
        let both = Samples.median(rates.library)
        let alone = Samples.median(rates.accepting)
        let first = Samples.median(rates.first)
        func row(_ name: String, _ rate: Double) -> [String] {
            [name, Text.thousands(rate), Text.fixed(rate / both, 2), Text.fixed(rate / alone, 2), Text.fixed(rate / first, 2)]
        }
        Text.out("\nMutual handshakes per CPU-second, TLS 1.3, P-256, medians of \(options.runs) runs of \(options.handshakes) in turns")
        Text.out(
            Text.table(
                ["", "per CPU-second", "÷ library", "÷ its accepting end", "÷ first"],
                [
                    row("the library alone, in memory: both ends", both), row("its accepting end", alone),
                    row("relay: clients that it has not seen yet", first), row("relay: the same clients again", Samples.median(rates.again)),
                    row("relay: the same clients, resumed", Samples.median(rates.resumed)),
                ]))
        guard options.asserts else { return }
        try expect(first / both >= 0.9, "full handshakes are at least 0.9 of the library's")
        try expect(Samples.median(rates.resumed) / first >= 3, "a resumed handshake is at least 3 times as fast as a full one")
    }

    private func expect(_ holds: Bool, _ what: String) throws(BenchmarkFault) {
        guard holds else { throw BenchmarkFault("does not hold: \(what)") }
    }

    /// One run: a relay of its own, so that it has seen nobody.
    private func measure(_ rates: inout Rates) throws {
        let relay = try RelayProcess(options, counting: false)
        defer { relay.stop() }
        let state = options.folder + "/state"
        let certificates = try ClientCertificates(state: state, folder: options.folder + "/handshakes")
        let pairs = try (0..<options.handshakes).map { number throws(BenchmarkFault) in try certificates.keyPair(number) }
        let contexts = try pairs.map { pair in
            try ClientCredentials(authorityFile: state + "/ca.pem", keyPair: pair).context(http: .http1)
        }
        let clients = HandshakeClients(port: relay.port)
        // What comes once, the first use of each function included.
        try clients.run(Array(repeating: contexts[0], count: 20), resumes: false)
        let library = try LibraryHandshakes(state: state, clients: pairs)
        let alone = try library.run()
        rates.library.append(Double(alone.handshakes) / alone.seconds)
        rates.accepting.append(Double(alone.handshakes) / alone.acceptingSeconds)
        rates.first.append(try rate(relay) { try clients.run(contexts, resumes: false) })
        rates.again.append(try rate(relay) { try clients.run(contexts, resumes: false) })
        rates.resumed.append(try rate(relay) { try clients.run(contexts, resumes: true) })
    }

    private func rate(_ relay: RelayProcess, _ body: () throws -> Int) throws -> Double {
        let begun = try relay.processorSeconds()
        let count = try body()
        // The last connections' ends.
        usleep(50_000)
        return Double(count) / (try relay.processorSeconds() - begun)
    }
}
